//! Error 1615: a server wants a statement to be prepared again, because what it is about has
//! changed too often, or does not fit into its caches. It has executed nothing. The proxy prepares
//! it once more over the same connection, and executes it there. For who counts and watches
//! statements it is one all that time.

use legs::entry::BookEntry;
use legs::facts::asking::NoReply;
use legs::facts::executions::send_once_more;
use legs::facts::orders::killed_here;
use legs::facts::replies::{reply_error, write_to_client};
use legs::io::Io;
use legs::leg::Leg;
use legs::prepare::{NotPrepared, prepare_again};
use runtime::counted::answered;
use runtime::decided::Decided;
use runtime::limits::RENEWALS_MAX;
use wire::command::{Kind, statement_id};
use wire::frame::HEADER_LEN;
use wire::reply::{End, Outcome};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;

/// `ER_NEED_REPREPARE`.
const NEED_REPREPARE: u16 = 1615;

/// Whether this is what a server has answered to the execution of a prepared statement.
pub(super) const fn needs_renewal(outcome: Outcome, runs: Option<Kind>) -> bool {
    matches!(outcome.end, End::Err { code: NEED_REPREPARE }) && matches!(runs, Some(Kind::StmtExecute))
}

impl Cx<'_> {
    /// Prepares the statement of `command` once more, so that it is executed next; if it cannot be,
    /// or was too often, the client gets the server's `answer`, which is this `outcome`.
    pub(super) async fn renew(
        &mut self,
        command: Option<Vec<u8>>,
        answer: &[u8],
        outcome: Outcome,
    ) -> Result<(), Ending> {
        self.leg.flight.begin().renewals += 1;
        let payload = command.as_deref().and_then(|command| command.get(HEADER_LEN..));
        // One that cannot be prepared here is the server's as it is: the next execution may work.
        let modes = self.leg.state.modes();
        let state = &self.leg.state;
        let can_be = |id: &u32| state.statement(*id).is_some_and(|one| one.is_preparable_in(modes));
        let statement = payload
            .and_then(statement_id)
            .filter(|_| self.leg.flight.renewals <= RENEWALS_MAX)
            .filter(can_be);
        let (Some(command), Some(statement)) = (command, statement) else {
            return pass_on(self.entry, self.io, self.leg, answer, outcome).await;
        };
        match prepare_again(self.entry, self.leg, statement).await {
            Ok(_) if killed_here(&self.entry.control, self.leg.state.identity.capabilities, true)? => {
                refuse_running(self.entry, self.io, self.leg, &ClientError::Interrupted).await
            }
            Ok(_) => {
                send_once_more(&self.entry.control, self.io, &mut self.leg.flight, command);
                let decided = Decided::plainly_to(self.leg.state.here).after_its_turn();
                let prepared = self.leg.state.statement(statement);
                self.leg.flight.begin().decided =
                    prepared.map(|prepared| decided.prepared_as(&prepared.what));
                Ok(())
            }
            Err(NotPrepared::NoReply(NoReply::Over(ending))) => Err(ending),
            Err(NotPrepared::NoReply(NoReply::Lost(error))) => {
                refuse_running(self.entry, self.io, self.leg, &error).await
            }
            Err(NotPrepared::Refused(_) | NotPrepared::Changed | NotPrepared::Cannot) => {
                pass_on(self.entry, self.io, self.leg, answer, outcome).await
            }
        }
    }
}

/// The client gets what the server has said of the statement that runs, which is over.
pub(super) async fn pass_on(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    answer: &[u8],
    outcome: Outcome,
) -> Result<(), Ending> {
    answered(&entry.worker, &entry.control, outcome, Some(answer));
    entry.end_running(&leg.links);
    write_to_client(entry, io, &mut leg.state, answer).await
}

/// The client gets this error instead.
pub(super) async fn refuse_running(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    error: &ClientError,
) -> Result<(), Ending> {
    entry.answered_here(&leg.links, error.code());
    reply_error(entry, io, &mut leg.state, 1, error).await
}
