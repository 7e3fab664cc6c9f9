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
use runtime::decided::{Decided, Next};
use runtime::limits::{BEHIND_SETUP_MAX, CAUSAL_DROP_MIN};
use runtime::prepared::Prepared;
use session::causal::question::Reply;
use tokio::time::{Duration, Instant};
use upstream::{ask_in_front, drain_reply};
use wire::command::{Kind, opens_cursor, statement_id};
use wire::frame::MessageScanner;

use crate::awaited::{Awaited, Known};
use crate::causal_question::limit_of_answer;
use crate::close::close_here;
use crate::entry::BookEntry;
use crate::facts::asking::{NoAnswer, give_up_unanswered, over_connection};
use crate::facts::causal::{awaited, known, note_answer, question_for};
use crate::facts::commands::may_ask_ahead;
use crate::facts::leases::{clean_up_behind, lose_backend};
use crate::facts::records::note_internal;
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
        decided.next = Next::SetUp;
        let hostgroup = decided.hostgroup();
        match self.see_ahead(entry, kind, decided).await {
            Ok(()) if decided.hostgroup() == hostgroup => Ok(()),
            Ok(()) | Err(Stop::Elsewhere) => Err(Stop::Redirected),
            Err(stop) => Err(stop),
        }
    }

    /// The same; the command may go to another hostgroup then.
    async fn see_ahead(&mut self, entry: &BookEntry, kind: Kind, decided: &mut Decided) -> Result<(), Stop> {
        let Some(awaited) = awaited(&entry.worker, &self.state, &self.links, decided) else { return Ok(()) };
        if known(&entry.worker, &self.state, &self.links, &awaited) == Known::Has {
            return Ok(());
        }
        let (begun, wait) = (Instant::now(), entry.worker.settings().causal.wait);
        let mut answer = None;
        if may_ask_ahead(&entry.worker, self, kind, decided) {
            answer = Some(self.send_with_question(entry, kind, &awaited, decided).await?);
        }
        if let Some(yes) = answer.filter(|answer| *answer != Reply::Lacks) {
            return self.follow_answer(entry, yes, &awaited, decided).await;
        }
        self.close_unsent(entry, kind, decided).await?;
        self.end_if_killed(entry)?;
        let left = wait.saturating_sub(begun.elapsed());
        let answer = match answer {
            Some(no) if left.is_zero() => no,
            _ => self.ask_reader(entry, &awaited, left, decided).await?,
        };
        self.follow_answer(entry, answer, &awaited, decided).await?;
        if answer != Reply::Lacks && kind == Kind::StmtExecute {
            self.bring_statement(entry, kind, decided).await?;
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
            Some(id) => close_here(entry, &mut self.state, &mut self.links, id).await,
            None => Ok(()),
        }
    }

    /// Sends the command in the backlog behind the question whether its reader has what it must
    /// see. After a yes, the connection is one whose command was sent.
    async fn send_with_question(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        awaited: &Awaited,
        decided: &mut Decided,
    ) -> Result<Reply, Stop> {
        let Some(question) = question_for(&self.state, &self.links, awaited, Duration::ZERO) else {
            return Ok(Reply::Lacks);
        };
        let wait = entry.worker.settings().causal.wait;
        let limit = limit_of_answer(&entry.worker, wait);
        let capabilities = self.state.identity.capabilities;
        let command = match &decided.patch {
            Some(patch) => patch.applied(&self.flight.front),
            None => self.flight.front.clone(),
        };
        let stops = self.state.gtids.is_some();
        let behind = (&command[..], kind.answer(), stops);
        let begun = Instant::now();
        let asked = over_connection(entry, self, limit, async |worker, link| {
            ask_in_front(worker, link, capabilities, &question.query, behind).await
        });
        let answer = match asked.await? {
            Ok(reply) => {
                note_internal(&entry.worker, &mut self.state, &mut self.links, &reply);
                note_answer(&entry.worker, &self.state, &self.links, awaited, &question, &reply)
            }
            Err(why) => {
                let error = give_up_unanswered(entry, self, why)?;
                if self.flight.internal_lost {
                    return Err(self.set_up_failed(error, decided));
                }
                return Ok(Reply::Lacks);
            }
        };
        if answer == Reply::Lacks {
            let left = wait.min(limit).saturating_sub(begun.elapsed());
            drop_read(entry, self, left.max(CAUSAL_DROP_MIN)).await?;
        }
        Ok(answer)
    }
}

/// Reads and drops the reply to the command that was sent. If that takes longer than this, or
/// the reply is large, the connection is given up. What still runs there is killed.
async fn drop_read(entry: &BookEntry, leg: &mut Leg, limit: Duration) -> Result<(), Ending> {
    let dropped = over_connection(entry, leg, limit, async |worker, link| {
        drain_reply(worker, link).await.ok_or("its reply cannot be dropped")
    });
    let Err(why) = dropped.await? else { return Ok(()) };
    if matches!(why, NoAnswer::Late) {
        clean_up_behind(entry, &leg.state, &mut leg.links);
    }
    lose_backend(entry, &mut leg.state, &mut leg.links);
    Ok(())
}

impl Flight {
    /// Whether the client has sent one whole command, which is short and all that its server needs.
    pub(crate) fn is_one_command(&self, state: &SessionState, kind: Kind) -> bool {
        let front = self.payload();
        let is_complete = match kind {
            Kind::Query => true,
            Kind::StmtExecute => {
                let prepared = state.prepared.as_ref().zip(statement_id(front));
                let has_parts = prepared.and_then(|(all, id)| all.get(id)).is_some_and(Prepared::has_parts);
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
