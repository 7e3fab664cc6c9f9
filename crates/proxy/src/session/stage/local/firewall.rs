//! The firewall at work: statements that the proxy answers itself. Executions, and what is counted
//! and logged, are in [`screened`](legs::facts::screened).
//!
//! All others are judged with where they go ([`Routing::judge`](runtime::routing::Routing::judge)).

use command::Command;
use legs::facts::screened::note_ruling;
use legs::reply::refuse_here;
use route::{Route, Ruling};
use runtime::decided::Reply;
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::cx::Cx;
use crate::session::facts::routing::{decide_prepared, judge};

impl Cx<'_> {
    /// Has the firewall judge the statement in the backlog, or the execution of one, which is
    /// whole, and which the proxy deals with itself. True if the client was told that it may not
    /// send it.
    pub(crate) async fn refuse_own(&mut self, kind: Kind) -> Result<bool, Ending> {
        let is_judged = matches!(kind, Kind::Query | Kind::StmtExecute);
        if !is_judged || self.entry.worker.routing.borrow().routes().firewall.is_none() {
            return Ok(false);
        }
        let command = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let Some(copied) = command.map(|command| command.copied()) else { return Ok(false) };
        let command = copied.command();
        let decided = match kind {
            Kind::Query => judge(self.entry, self.leg, (command.text(), true), None, false),
            _ => decide_prepared(self.entry, self.leg, command),
        };
        note_ruling(&self.entry.worker, &self.leg.state, command, &decided);
        if let Route::Local(reply) = &decided.route
            && let Reply::Error(error) = &**reply
            && decided.screened.ruling == Ruling::Refused
        {
            return refuse_here(self.entry, self.io, self.leg, kind, error).await.map(|()| true);
        }
        Ok(false)
    }
}
