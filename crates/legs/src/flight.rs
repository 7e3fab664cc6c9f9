//! What a session holds while a command runs, and only then.
//!
//! A command that needs nothing but being forwarded has no flight. The others get an [`InFlight`]
//! from the worker when the first of its fields is written; it goes back, replaced as a whole, when
//! the command is over. So no field outlives its command, and an idle session has none of them.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::rc::Rc;

use observe::running::Paused;
use reply::Taps;
use reply::listing::Absent;
use runtime::decided::Decided;
use runtime::fresh::Wanted;
use runtime::limits::FLIGHTS_KEPT_MAX;
use session::change::Change;
use session::limit::Place;
use session::statement::Own;
use sql::StatementKind;
use tokio::time::Instant;
use upstream::{Ahead, InLine};
use wire::frame::front;

use crate::hidden::{Batched, Refused};
use crate::upload::Upload;

/// The state of a command from when it is read until the client has its reply.
#[derive(Debug)]
pub struct InFlight {
    /// The bytes that begin with the command, while it waits for its turn or a connection is set up
    /// for it.
    pub front: Vec<u8>,
    /// What was decided about the command in the backlog.
    pub decided: Option<Decided>,
    /// The command in the backlog, if it was sent before and goes on: it was counted then.
    pub paused: Option<Paused>,
    /// What a rule says about logging the command in the backlog.
    pub(crate) log: Option<bool>,
    /// The hash of its digest, for logs, should it be answered here; 0 is that of none.
    pub(crate) digest: Option<NonZeroU64>,
    /// What statement it is, if that is known, should it be answered here.
    pub(crate) statement: Option<StatementKind>,
    /// What may be sent in front of it, at the connection that is looked for, without waiting for a
    /// reply.
    pub ahead: Ahead,
    /// What it has to see there, if that matters for where it goes.
    pub wanted: Option<Box<Wanted>>,
    /// It wants a connection that no other session has had.
    pub(crate) wants_new: bool,
    /// When it is to be killed, if a rule or a hint says so.
    pub deadline: Option<Instant>,
    /// The rest of it, which is still to be sent.
    pub upload: Option<Box<Upload>>,
    /// Its server may ask the client for a file.
    pub may_ask_for_file: bool,
    /// Its place in line for a connection, if it waits for one.
    pub in_line: Option<Box<InLine>>,
    /// Its part in a batch, if it may be sent with statements of other sessions.
    pub batched: Option<Batched>,
    /// The sessions that a list of threads shows besides the server's.
    pub absent: Option<Box<Absent>>,
    /// What it changes if it succeeds.
    pub proposed: Option<Box<Change>>,
    /// The taps of its reply that few commands have.
    pub taps: Taps,
    /// Its reply, if the client does not get it because the command may be sent again.
    pub refused: Option<Box<Refused>>,
    /// What the server has against a setting that was sent in front of it, and that it had taken
    /// before.
    pub refusal: Option<upstream::Refused>,
    /// How often it was sent again because its server was lost.
    pub tries: u16,
    /// How often it may be, if a rule or a hint says so.
    pub retries: Option<u32>,
    /// How often it was prepared anew because its server has asked for that.
    pub renewals: u8,
    /// How long it may be sent again after it was refused.
    pub again_until: Option<Instant>,
    /// The connection was lost in the middle of an internal query, and nothing with it: the command
    /// may be carried out elsewhere.
    pub(crate) internal_lost: bool,
    /// Its places under limits.
    pub places: Option<Box<[Place]>>,
}

/// What a session without a flight has.
const NONE: &InFlight = &InFlight::NEW;

impl InFlight {
    const NEW: Self = Self {
        front: Vec::new(),
        decided: None,
        paused: None,
        log: None,
        digest: None,
        statement: None,
        ahead: Ahead::Nothing,
        wanted: None,
        wants_new: false,
        deadline: None,
        upload: None,
        may_ask_for_file: false,
        in_line: None,
        batched: None,
        absent: None,
        proposed: None,
        taps: Taps::NONE,
        refused: None,
        refusal: None,
        tries: 0,
        retries: None,
        renewals: 0,
        again_until: None,
        internal_lost: false,
        places: None,
    };

    /// Whether the command changes something for those behind it.
    pub fn is_changing(&self) -> bool {
        !self.proposed.as_ref().is_none_or(|change| change.is_quiet())
    }

    /// The payload of the command for which a connection is set up, as far as it is there.
    pub(crate) fn payload(&self) -> &[u8] {
        front(&self.front)
    }

    /// What was decided about the command is carried out.
    pub fn begin_attempt(&mut self, decided: &Decided) {
        (self.log, self.digest, self.statement) = (decided.log(), decided.digest, decided.plan.statement());
        self.taps.set_columns(None);
    }

    /// Nothing is known of what was sent: the command is lost, or is sent once more.
    pub fn forget_sent(&mut self) {
        (self.proposed, self.taps) = (None, Taps::NONE);
    }

    /// The command does not take the way that was begun for it. What was decided and kept for it is
    /// none of the next one's.
    pub fn leave_way(&mut self) {
        (self.decided, self.paused, self.absent) = (None, None, None);
    }

    /// Whether nothing is left to be done for the command.
    const fn is_over(&self) -> bool {
        self.decided.is_none() && self.paused.is_none() && self.absent.is_none() && self.front.is_empty()
    }
}

/// A session's flight, if it has one. Fields of a missing one are read as those of a new one.
#[derive(Debug)]
pub struct Flight {
    current: Option<Box<InFlight>>,
    /// Where flights come from.
    free: Rc<Flights>,
}

impl Deref for Flight {
    type Target = InFlight;

    #[inline]
    fn deref(&self) -> &InFlight {
        self.current.as_deref().unwrap_or(NONE)
    }
}

impl Flight {
    /// None yet.
    pub(crate) const fn new(free: Rc<Flights>) -> Self {
        Self { current: None, free }
    }

    /// The flight, to be changed; it begins if there is none.
    pub fn begin(&mut self) -> &mut InFlight {
        self.current.get_or_insert_with(|| self.free.take())
    }

    /// The flight, to be changed, if there is one.
    #[inline]
    pub fn as_mut(&mut self) -> Option<&mut InFlight> {
        self.current.as_deref_mut()
    }

    /// What was to be done for the command is done, and it waits no more. That is the end of the
    /// flight, unless the command goes on.
    #[inline]
    pub fn end_try(&mut self) {
        let Some(flight) = &mut self.current else { return };
        flight.in_line = None;
        if let Some(mut flight) = self.current.take_if(|flight| flight.is_over()) {
            flight.taps.end_writes();
            self.free.put(flight);
        }
    }

    /// Whether the sessions are known that such a statement needs: it is forwarded like any other.
    pub(crate) fn needs_no_more(&self, own: Own) -> bool {
        matches!(own, Own::Processes { .. }) && self.absent.is_some()
    }
}

/// Flights of a worker that no session has, all of them new.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are lent, and a flight is not moved")]
pub struct Flights(RefCell<Vec<Box<InFlight>>>);

impl Flights {
    fn take(&self) -> Box<InFlight> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Box::new(InFlight::NEW))
    }

    fn put(&self, mut flight: Box<InFlight>) {
        *flight = InFlight::NEW;
        let mut free = self.0.borrow_mut();
        if free.len() < FLIGHTS_KEPT_MAX {
            free.push(flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a flight writes as many bytes.
    #[test]
    fn a_flight_stays_small() {
        let bytes = size_of::<InFlight>();
        assert!(bytes <= 456, "it has {bytes} bytes");
    }
}
