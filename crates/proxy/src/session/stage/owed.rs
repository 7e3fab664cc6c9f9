//! What the client is owed: the error of a transaction that was lost between two commands. It is
//! told with the next command that has to do with it.

use command::{Command, is_about_transactions};
use legs::backlog::complete_front;
use legs::reply::refuse_here;
use legs::state::SessionState;
use sql::{Condition, StatementKind};
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::cx::Cx;

/// Whether the transaction is lost that a command of this kind has to do with.
pub(crate) const fn is_due(state: &SessionState, kind: Kind) -> bool {
    state.transaction.rolled_back.is_some() && is_about_transactions(kind)
}

impl Cx<'_> {
    /// Tells the client, with the command in the backlog, that its transaction is lost. False if
    /// that is not due, or the command wants the transaction to be over anyway.
    pub(crate) async fn tell_owed(&mut self, kind: Kind) -> Result<bool, Ending> {
        if !is_due(&self.leg.state, kind) {
            return Ok(false);
        }
        if matches!(kind, Kind::Query | Kind::StmtExecute) {
            complete_front(self.entry, self.io, self.leg).await?;
        }
        let command = self.io.command(self.leg.state.identity.capabilities);
        let is_over = command.is_some_and(|command| rolls_back(&self.leg.state, command));
        let error = self.leg.state.transaction.rolled_back.take();
        let Some(error) = error.filter(|_| !is_over) else { return Ok(false) };
        refuse_here(self.entry, self.io, self.leg, kind, &error).await?;
        Ok(true)
    }
}

/// Whether a command ends the transaction without keeping what it has done.
fn rolls_back(state: &SessionState, command: Command<'_>) -> bool {
    let is_executed = |text| Condition::of(text).is_none_or(|(_, condition)| condition.holds_everywhere());
    let statement = match command.kind {
        Kind::Quit | Kind::ChangeUser | Kind::ResetConnection => return true,
        Kind::Query => {
            let text = command.is_whole().then(|| command.text());
            text.filter(|text| is_executed(text)).map(StatementKind::of)
        }
        Kind::StmtExecute => state.named(command).and_then(|prepared| prepared.what.plan.statement()),
        _ => None,
    };
    statement == Some(StatementKind::Rollback)
}
