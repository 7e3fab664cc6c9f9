//! Commands for prepared statements: where they go, and under which number.

use command::Command;
use wire::command::{Kind, LAST_STATEMENT};
use wire::reply::Answer;

use super::Session;
use super::decided::Decided;
use super::facts::causal::is_bound_to;
use super::links::Links;
use super::state::SessionState;
use super::state::prepared::{Prepared, Preparing};
use crate::error::ClientError;
use crate::session::facts::places::asked;
use session::places::Came;
use upstream::Kept;

impl Session {
    /// Decides where a command for a prepared statement goes.
    pub(super) fn decide_prepared(&mut self, command: Command<'_>) -> Decided {
        let kind = command.kind;
        let prepared =
            self.state.prepared.as_ref().zip(command.statement()).and_then(|(all, id)| all.get(id));
        let Some(prepared) = prepared else { return self.decide_unknown(command) };
        let session = self.links.session(&self.state);
        let stays = prepared.is_at_home() || command.opens_cursor();
        // It begins no transaction where it is.
        let leaves = session.transaction.map_or(!session.autocommit, |hostgroup| hostgroup != prepared.home);
        let moves = prepared.what.moves && kind == Kind::StmtExecute && (!stays || leaves);
        // Elsewhere it would be prepared as another statement.
        let means_the_same = prepared.what.modes == self.state.modes();
        let mut decided = match prepared.what.text.as_deref().filter(|_| moves && means_the_same) {
            Some(text) => {
                let asked = asked(command, prepared.params());
                self.judge((text, true), asked, true)
            }
            None if moves => self.decide_with_meaning(prepared, command),
            // Its answer tells a status: that of the transaction is the client's.
            None if kind == Kind::StmtReset => {
                Decided::plainly_to(session.transaction.unwrap_or(prepared.home))
            }
            // Without autocommit its execution begins a transaction, which is not a reader's.
            None if kind == Kind::SendLongData && prepared.what.moves && leaves && !stays => {
                Decided::plainly_to(session.transaction.unwrap_or(self.state.account.hostgroup()))
            }
            None => Decided::plainly_to(prepared.home),
        };
        if let Some(error) = lacks_parameters(command, prepared.params()) {
            decided.refuse(ClientError::malformed(error));
        }
        self.execute_as(kind, &prepared.what, decided)
    }

    /// The same decision about a command for a statement that is, or is being, prepared as `what`.
    fn execute_as(&self, kind: Kind, what: &Preparing, decided: Decided) -> Decided {
        let decided =
            self.entry.worker.screen_execution(&self.state, kind, Some(what), decided.prepared_as(what));
        match what.text.as_deref() {
            Some(text) if kind == Kind::StmtExecute || kind == Kind::StmtBulkExecute => {
                self.look_behind(decided, text, true)
            }
            _ => decided,
        }
    }

    /// The same for a statement that cannot be prepared elsewhere now as what it was. A transaction
    /// is at one server, and so are locked tables: if the statement is not there, the client has to
    /// prepare it again. What a rule or a lock answers holds here, too.
    fn decide_with_meaning(&self, prepared: &Prepared, command: Command<'_>) -> Decided {
        let session = self.links.session(&self.state);
        let mut judged = Decided::plainly_to(session.transaction.unwrap_or(prepared.home));
        if let (None, Some(text)) = (session.transaction, prepared.what.text.as_deref()) {
            let asked = asked(command, prepared.params());
            judged = self.judge((text, true), asked, true).never_cached();
        }
        let Some(wanted) = judged.target() else { return judged };
        let has_it = || {
            let kept = &self.entry.worker.upstream.kept;
            self.links.look_at(kept, wanted, |link| prepared.at(link).is_some())
        };
        let is_there = wanted == prepared.home || has_it();
        let hostgroup = if is_there { wanted } else { prepared.home };
        // What it must see it must see there, too.
        let mut decided = Decided::plainly_to(hostgroup).with_orders_of(&mut judged);
        let is_bound = session.transaction.is_some()
            || !session.autocommit
            || is_bound_to(&self.state, &self.links, wanted);
        if is_bound && !is_there {
            decided.refuse(ClientError::NeedReprepare);
        }
        decided
    }

    /// The same for a statement that is not known, or not yet. The server says that it does not
    /// know it; but what it takes for the one that was prepared last is not that of a client whose
    /// last one was refused here, or of a session that has had the connection before.
    fn decide_unknown(&self, command: Command<'_>) -> Decided {
        let (kind, named) = (command.kind, command.statement());
        let session = self.links.session(&self.state);
        let anywhere = if self.links.in_use.is_some() { Some(self.state.here) } else { None };
        let hostgroup = session.transaction.or(anywhere).unwrap_or(self.state.account.hostgroup());
        let mut decided = Decided::plainly_to(hostgroup);
        let known = self.state.prepared.as_ref().zip(named);
        let is_last = named == Some(LAST_STATEMENT);
        let (links, kept) = (&self.links, &self.entry.worker.upstream.kept);
        if let Some((all, id)) = known.filter(|_| !is_last)
            && links.look_at(kept, hostgroup, |link| all.client_id_of(id, link)).is_some()
        {
            // The server calls another statement of the session so.
            decided.refuse(ClientError::UnknownStatement { id });
            return decided;
        }
        let awaited = known.and_then(|(all, id)| all.executed(id));
        // To MySQL it is a number like others.
        let means_last = is_last && kind.answer() != Answer::None;
        if let Some(what) = awaited {
            return self.execute_as(kind, what, decided);
        }
        if means_last && self.entry.worker.shared.upstream.servers.may_be_mariadb() {
            decided.refuse(ClientError::NoLastStatement(kind));
        }
        if matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
            // It may be one that is being prepared.
            decided.plan = decided.plan.in_doubt();
        }
        self.entry.worker.screen_execution(&self.state, kind, None, decided)
    }
}

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

/// What an execution of the statement that was prepared last lacks, if its parameters are not
/// there. The server gets such a statement by its own number, under which `MariaDB` would take
/// missing bytes for NULL.
fn lacks_parameters(command: Command<'_>, prepared: u16) -> Option<wire::WireError> {
    if prepared == 0 || command.statement() != Some(LAST_STATEMENT) {
        return None;
    }
    command.wrong_params(prepared)
}
