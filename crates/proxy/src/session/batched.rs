//! Going out together with statements of other sessions, over one connection (see the batches of
//! `upstream`): which statements may, and what is to be done so that it never shows.

use legs::entry::BookEntry;
use legs::facts::executions::send_once_more;
use legs::flight::Flight;
use legs::hidden::Refused;
use legs::idle::make_idle;
use legs::io::Io;
use legs::leg::Leg;
use legs::part::Part;
use reply::withhold::Withhold;
use runtime::worker::Worker;
use session::ran::Ran;
use tokio::time::Instant;
use wire::reply::{End, Event, Outcome};

use crate::counts::Counter;
use crate::session::segments::At;
use crate::state::{Mark, Pin};

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

/// A statement that was sent together with others has left something to ask about, which is
/// gone: it is sent once more, alone. The connection belongs to the others.
pub(super) fn say_alone(entry: &BookEntry, io: &mut Io, leg: &mut Leg, command: Vec<u8>) {
    entry.worker.counts.note(Counter::OnceMore);
    leg.state.last.ran = Ran::default();
    if let Some(link) = leg.links.connection_mut() {
        link.state_mut().pins.note(Mark::EndAll(Pin::Warnings));
        // At MariaDB warnings outlive statements without tables; these belong to no session.
        link.own_warnings = true;
    }
    if leg.links.is_promised() {
        make_idle(entry, io, leg);
    }
    send_once_more(&entry.control, io, &mut leg.flight, command);
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

/// Whether the statement that runs was sent together with others.
pub(super) fn is_together(flight: &Flight) -> bool {
    flight.batched.as_ref().is_some_and(|batched| batched.reply.is_on())
}
