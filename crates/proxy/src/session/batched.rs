//! Going out together with statements of other sessions, over one connection (see the batches of
//! `upstream`): which statements may, and what is to be done so that it never shows.

use std::rc::Rc;

use command::Command;
use sql::StatementKind;
use sql::shape::Effects;
use tokio::time::Instant;
use wire::StatusFlags;
use wire::command::Kind;
use wire::frame::MessageScanner;
use wire::reply::{End, Event, Outcome};

use super::Session;
use super::facts::executions::send_once_more;
use super::flight::Flight;
use super::hidden::{Batched, Refused};
use super::route::NEEDS_LAST_ID;
use super::segments::{At, Part};
use super::state::SessionState;
use crate::counts::Counter;
use crate::limits::BATCHED_BYTES_MAX;
use crate::state::{Mark, Pin};
use crate::worker::Worker;
use reply::withhold::Withhold;
use session::ran::Ran;
use upstream::Candidate;

/// Effects of statements that are not sent together with others, though they may be executed twice.
const STAYS_ALONE: Effects = NEEDS_LAST_ID.union(Effects::COUNTS_ROWS);

/// What servers say of a statement that took too long, or was killed: `ER_QUERY_INTERRUPTED`,
/// MariaDB's `ER_STATEMENT_TIMEOUT`, MySQL's `ER_QUERY_TIMEOUT`. The interruption was intended, so
/// the statement is not sent once more.
const INTERRUPTED: [u16; 3] = [1317, 1969, 3024];

/// Whether an answer that ends like this is that of a statement that was interrupted.
fn is_interrupted(outcome: Outcome) -> bool {
    matches!(outcome.end, End::Err { code } if INTERRUPTED.contains(&code))
}

/// Whether there is something in an answer that its client may ask about.
const fn is_marred(outcome: Outcome, warned: bool) -> bool {
    warned
        || matches!(
            outcome.end,
            End::Err { .. } | End::Ok { warnings: 1.., .. } | End::Eof { warnings: 1.., .. }
        )
}

impl At<'_> {
    /// Whether an answer that ends like this is not told to the client: its statement was sent
    /// together with others, and is sent once more, alone.
    pub(super) fn is_untold(&self, outcome: Outcome) -> bool {
        let is_together = self.flight.batched.as_ref().is_some_and(|batched| batched.reply.is_on());
        is_together && is_marred(outcome, self.backend.connection().warned()) && !is_interrupted(outcome)
    }

    /// The statement to be sent once more, if `part` is the whole of such an answer.
    pub(super) fn marred(&mut self, part: &Part<'_>) -> Option<Box<Refused>> {
        let Event::Done(outcome) = part.event else { return None };
        if !part.is_whole || !self.is_untold(outcome) {
            return None;
        }
        let batched = self.flight.as_mut()?.batched.as_mut()?;
        batched.is_marred = true;
        Some(Box::new(Refused::alone(batched.command.as_deref()?.to_vec(), outcome)))
    }
}

impl Session {
    /// The command that `input` begins with, which was decided about and waits for a connection, if
    /// it may go out together with others.
    pub(super) fn batchable(&mut self, input: &[u8]) -> Option<Candidate> {
        if self.worker.settings().upstream.statements_together < 2 {
            return None;
        }
        let state = &self.state;
        let decided = self.flight.decided.as_ref().filter(|decided| {
            decided.plan.kind == StatementKind::Select
                && decided.is_plain_read()
                && !decided.plan.effects.intersects(STAYS_ALONE)
                && decided.change.is_none()
                && decided.orders.is_none()
        })?;
        let digest = decided.digest()?;
        let is_usual = self.state.status.contains(StatusFlags::AUTOCOMMIT)
            && !self.state.status.contains(StatusFlags::IN_TRANSACTION)
            && self.links.away.is_admitted
            && self.links.is_unpinned()
            && state.gtids.is_none()
            && !self.flight.taps.compares()
            && self.worker.rate_to_client().is_none();
        let command = Command::first(input, self.state.identity.capabilities)?;
        if !matches!(command.kind, Kind::Query | Kind::StmtExecute) {
            return None;
        }
        let is_one = || {
            MessageScanner::new(0).scan(input).is_ok_and(|scanned| scanned.done && scanned.len == input.len())
        };
        if !is_usual || input.len() > BATCHED_BYTES_MAX || !is_one() {
            return None;
        }
        let batchable =
            self.worker.upstream.history.is_known(digest).then(|| candidate(&self.state, command)).flatten();
        let command = batchable.as_ref().map(|batchable| match batchable.execution {
            None => Rc::clone(&batchable.command),
            // Sent once more, it is for whatever connection has it then.
            Some(_) => input.into(),
        });
        self.flight.begin().batched =
            Some(Batched { digest, command, begun: None, reply: Withhold::default(), is_marred: false });
        batchable
    }

    /// A statement that was sent together with others has left something to ask about, which is
    /// gone: it is sent once more, alone. The connection belongs to the others.
    pub(super) fn say_alone(&mut self, command: Vec<u8>) {
        self.worker.counts.note(Counter::OnceMore);
        self.state.last.ran = Ran::default();
        if let Some(link) = self.links.connection_mut() {
            link.state_mut().pins.note(Mark::EndAll(Pin::Warnings));
            // At MariaDB warnings outlive statements without tables; these belong to no session.
            link.set_own_warnings(true);
        }
        if self.links.is_promised() {
            self.make_idle();
        }
        send_once_more(&self.control, &mut self.io, &mut self.flight, command);
    }

    /// Those to whom the connection in use is promised do not get it, nor can the session keep it
    /// if they have sent something over it: they look for other ones.
    pub(super) fn break_promise(&mut self) {
        if self.links.is_promised() {
            self.lose_backend();
        } else if let Some(link) = self.links.connection_mut() {
            link.drop_batch();
        }
    }

    /// The connection was taken over with a command that was sent already, and now something else
    /// has to be done first.
    pub(super) fn leave_batch(&mut self) {
        if self.links.is_awaited() {
            if let Some(flight) = self.flight.as_mut() {
                flight.batched = None;
            }
            self.lose_backend();
        }
    }
}

/// What the session would send.
fn candidate(state: &SessionState, command: Command<'_>) -> Option<Candidate> {
    if command.kind == Kind::Query {
        return Some(state.candidate(command.packet().into(), None));
    }
    let (packet, execution) = state.execution(command)?;
    Some(state.candidate(packet, Some(Rc::new(execution))))
}

/// The command is sent, or was with those of others.
pub(super) fn note_command_sent(worker: &Worker, flight: &mut Flight, is_together: bool) {
    if let Some(batched) = flight.as_mut().and_then(|flight| flight.batched.as_mut()) {
        if is_together {
            worker.counts.note(Counter::Together);
        }
        (batched.begun, batched.reply) = (Some(Instant::now()), Withhold::new(is_together));
    }
}

impl Flight {
    /// Whether the statement that runs was sent together with others.
    pub(super) fn is_together(&self) -> bool {
        self.batched.as_ref().is_some_and(|batched| batched.reply.is_on())
    }
}
