//! The question whether a reader has writes, sent in one write with the read: a reader that has
//! them costs no round trip.
//!
//! A server answers in order. After a yes the reply to the read is the client's. After a no it is
//! dropped, and the command goes on as in [`causal`](crate::causal): the reader is waited for, and
//! then the writer does the read.
//!
//! A dropped reply may tell of types and columns what the session does not hear. So the prepared
//! statement is closed at the reader unless its execution is the client's there.

use front::ending::Ending;
use runtime::decided::Decided;
use runtime::limits::{BEHIND_SETUP_MAX, CAUSAL_DROP_MIN};
use runtime::prepared::Prepared;
use session::causal::question::Reply;
use tokio::time::{Duration, Instant};
use upstream::drain_reply;
use wire::command::{Kind, opens_cursor, statement_id};
use wire::frame::MessageScanner;

use crate::causal_question::limit_of_answer;
use crate::close::close_here;
use crate::entry::BookEntry;
use crate::facts::asking::{NoAnswer, over_connection};
use crate::facts::causal::awaited;
use crate::facts::commands::may_ask_ahead;
use crate::facts::leases::{clean_up_behind, lose_backend};
use crate::flight::Flight;
use crate::leg::Leg;
use crate::state::SessionState;
use crate::stop::Stop;

impl Leg {
    /// Has the server of the connection in use, or the writer, show what the command in the backlog
    /// must see. The connection is set up for the command, which is sent with the question.
    pub(crate) async fn ask_ahead(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let hostgroup = decided.hostgroup();
        match self.send_or_wait(entry, kind, decided).await {
            Ok(()) if decided.hostgroup() == hostgroup => Ok(()),
            Ok(()) | Err(Stop::Elsewhere) => Err(Stop::Redirected),
            Err(stop) => Err(stop),
        }
    }

    /// Sends the command with the question. A reader that lacks the writes, or may not get both, is
    /// waited for. If it has them then, an execution has its statement brought there again.
    async fn send_or_wait(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let Some(awaited) = awaited(&entry.worker, self, decided) else { return Ok(()) };
        let (begun, wait) = (Instant::now(), entry.worker.settings().causal.wait);
        let goes_along = may_ask_ahead(&entry.worker, self, kind, decided);
        let mut answer = Reply::Lacks;
        if goes_along {
            let command = match &decided.patch {
                Some(patch) => patch.applied(&self.flight.front),
                None => self.flight.front.clone(),
            };
            let behind = Some((&command[..], kind.answer(), self.state.gtids.is_some()));
            answer = self.ask_reader(entry, &awaited, Duration::ZERO, behind, decided).await?;
            if answer != Reply::Lacks {
                return self.follow_answer(entry, answer, &awaited, decided).await;
            }
            if self.links.is_awaited() {
                let left = wait.min(limit_of_answer(&entry.worker, wait)).saturating_sub(begun.elapsed());
                drop_read(entry, self, left.max(CAUSAL_DROP_MIN)).await?;
            }
        }
        self.close_unsent(entry, kind, decided).await?;
        self.end_if_killed(entry)?;
        let left = wait.saturating_sub(begun.elapsed());
        if !(goes_along && left.is_zero()) {
            answer = self.ask_reader(entry, &awaited, left, None, decided).await?;
        }
        self.follow_answer(entry, answer, &awaited, decided).await?;
        if answer != Reply::Lacks && kind == Kind::StmtExecute {
            self.bring_statement(entry, decided).await?;
        }
        Ok(())
    }

    /// The execution in the backlog is not for the reader for which it was set up: its statement is
    /// closed there.
    async fn close_unsent(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Ending> {
        if kind != Kind::StmtExecute {
            return Ok(());
        }
        decided.patch = None;
        self.flight.begin().taps.set_columns(None);
        match statement_id(self.flight.payload()) {
            Some(id) => close_here(entry, self, id).await,
            None => Ok(()),
        }
    }
}

/// Reads and drops the reply to the command that was sent. If that takes longer than this, or
/// the reply is large, the connection is given up. What still runs there is killed.
async fn drop_read(entry: &BookEntry, leg: &mut Leg, limit: Duration) -> Result<(), Ending> {
    let dropped = over_connection(entry, leg, limit, async |worker, link| {
        drain_reply(worker, link).await.ok_or("its reply cannot be dropped")
    });
    match dropped.await {
        Ok(_) => return Ok(()),
        Err(NoAnswer::Over(ending)) => return Err(ending),
        Err(NoAnswer::Late) => clean_up_behind(entry, leg),
        Err(NoAnswer::Lost(_)) => {}
    }
    lose_backend(entry, leg);
    Ok(())
}

impl Flight {
    /// Whether the client has sent one whole command, which is short and all that its server needs.
    pub(crate) fn is_one_command(&self, state: &SessionState, kind: Kind) -> bool {
        let front = self.payload();
        let is_complete = match kind {
            Kind::Query => true,
            Kind::StmtExecute => {
                let prepared = statement_id(front).and_then(|id| state.statement(id));
                let has_parts = prepared.is_some_and(Prepared::has_parts);
                !opens_cursor(front) && !has_parts
            }
            _ => false,
        };
        let backlog = &self.front;
        let ends_it =
            || MessageScanner::new(0).scan(backlog).is_ok_and(|scan| scan.done && scan.len == backlog.len());
        is_complete && backlog.len() <= BEHIND_SETUP_MAX && ends_it()
    }
}
