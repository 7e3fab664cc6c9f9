//! Statements that look like injected SQL: the end of the sessions that send them.
//!
//! They are found with where they go ([`Routing::judge`](runtime::routing::Routing::judge)), and
//! counted and logged in [`screened`](legs::facts::screened).

use legs::backlog::skip_command;
use legs::facts::endings::told;
use legs::facts::shown::begin_own;
use wire::command::Kind;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;

impl Cx<'_> {
    /// Tells the client why the statement in the backlog is not sent, and that the session is over.
    pub(crate) async fn refuse_injected(&mut self, kind: Kind, error: &ClientError) -> Result<(), Ending> {
        begin_own(self.entry, self.io, &mut self.leg.state, &mut self.leg.flight, kind);
        let seq = skip_command(self.entry, self.io, self.leg).await?;
        self.entry.answered_here(&self.leg.links, error.code());
        Err(told(self.entry, &self.leg.state, error, seq))
    }
}
