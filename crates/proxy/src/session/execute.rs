//! Commands for prepared statements: where they go, and under which number.

use command::Command;
use wire::command::Kind;

use super::links::Links;
use super::state::SessionState;
use session::places::Came;
use upstream::Kept;

impl Links {
    /// Whether the backend in use knows the statement by the number that the client does, and its
    /// types.
    pub(super) fn is_known_here(&self, kept: &Kept, state: &SessionState, command: Command<'_>) -> bool {
        let Some(id) = command.statement() else { return true };
        let Some(prepared) = state.prepared.as_ref().and_then(|all| all.get(id)) else {
            return self.left_as(state, id).is_empty();
        };
        let link = self.state();
        let Some(place) = prepared.at(link).filter(|place| place.statement.id == id) else { return false };
        let is_usual = || place.came != Came::ForOnce && !prepared.has_other_columns_at(link);
        prepared.unsent.is_empty()
            && match command.kind {
                Kind::StmtClose => !self.is_elsewhere(kept, prepared.serial),
                Kind::StmtExecute => is_usual() && prepared.has_types_at(link),
                Kind::SendLongData => place.came != Came::Reused,
                _ => true,
            }
    }
}
