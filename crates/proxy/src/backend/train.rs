//! Statements of several sessions that go out together, over one connection.
//!
//! Where many sessions wait in line for few connections, the server would be idle at each of these between two statements: until its answer has
//! come to the proxy, and the next statement to it. And both sides would wake up, read and write once for each statement. So whoever gets a
//! connection takes along what others wait to send that would get it behind him: all of it goes out in one write, the server does one
//! statement after the other, and the connection is handed on with what was read of the answers to come. Who gets it next has
//! sent already, and goes on with reading.
//!
//! That must never show. Only plain reads travel, outside of transactions, of sessions that would have nothing said before them,
//! and only what has been done in no time whenever it came lately ([`Punctual`](super::punctual::Punctual)): nobody is to wait for somebody else's long
//! statement. What a statement leaves at its connection to be asked about is gone when the next one runs; so one that ends with an error or a warning
//! is not told to its client, but sent once more, alone. Whoever waits in one that stands still, or loses the connection, looks for another
//! one: a read may be done twice.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use route::Caller;

use wire::command::STATEMENT_ID;
use wire::frame::HEADER_LEN;

use super::connection::Connection;
use super::handed::Slot;
use super::kept::Left;
use super::statements::{Execution, Statements};
use crate::state::Settings;

/// A statement that may go out with others, and what its connection has to be like.
#[derive(Debug)]
pub(crate) struct Traveller {
    /// The packets of its command.
    pub(crate) command: Rc<[u8]>,
    /// The prepared statement that it executes, if it does: the number of that depends on the connection.
    pub(crate) execution: Option<Rc<Execution>>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) settings: Rc<Settings>,
    /// Its client has reset its connection.
    pub(crate) was_reset: bool,
}

/// One that waits for its turn in a train.
#[derive(Debug)]
pub(super) struct Rider {
    /// Where its session gets the connection.
    pub(super) slot: Rc<Slot>,
    /// The packets of his command.
    pub(super) command: Rc<[u8]>,
    /// The number of the prepared statement in it, if it executes one, and what that has to be.
    pub(super) statement: Option<(u32, Rc<Execution>)>,
}

/// Those behind the session that has a connection.
#[derive(Debug)]
pub(crate) struct Train {
    riders: VecDeque<Rider>,
    /// Their commands were sent.
    has_left: bool,
    /// The command of the session that has the connection, or gets it next, was sent by the one before.
    is_awaited: bool,
    /// The prepared statement that it executes, if it does.
    executed: Option<u32>,
    progress: Rc<Progress>,
}

/// How far a train has come, for who sees to it that nobody waits in one that stands still.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How many of those in it have had their turn.
    served: Cell<usize>,
    /// How many had when it was looked at last.
    seen: Cell<usize>,
    slots: Box<[Rc<Slot>]>,
}

impl Progress {
    /// Whether the train is on its way, and has come farther than at the look before. Those in one that stands still are told.
    pub(super) fn goes_on(self: &Rc<Self>) -> bool {
        // Nobody else has it: the train is over.
        if Rc::strong_count(self) == 1 {
            return false;
        }
        let served = self.served.get();
        let has_moved = self.seen.replace(served) != served;
        if !has_moved {
            self.slots.iter().for_each(|slot| slot.miss());
        }
        has_moved
    }
}

/// Who gets a connection next.
#[derive(Debug)]
pub(super) enum Next {
    /// This one.
    Rider(Rc<Slot>),
    /// Somebody who has gone meanwhile: nobody wants the answer to his statement.
    Nobody,
    /// There is no one any more.
    Terminus,
}

impl Traveller {
    /// Whether a connection on which this is left is as it would have it.
    pub(super) fn fits(&self, left: &Left) -> bool {
        left.is_as(&self.caller, &self.settings, self.was_reset)
    }

    /// What is sent for `slot` over this connection; nothing if that does not have the statement.
    pub(super) fn rides_on(&self, link: &Connection, slot: &Rc<Slot>) -> Option<Rider> {
        let slot = Rc::clone(slot);
        let Some(execution) = &self.execution else {
            return Some(Rider { slot, command: Rc::clone(&self.command), statement: None });
        };
        let id = link.statements().find(execution, !link.is_mariadb())?;
        let mut command = self.command.to_vec();
        command.get_mut(HEADER_LEN..)?.get_mut(STATEMENT_ID)?.copy_from_slice(&id.to_le_bytes());
        Some(Rider { slot, command: command.into(), statement: Some((id, Rc::clone(execution))) })
    }
}

impl Train {
    /// These get a connection behind the one who is given it.
    pub(super) fn new(riders: VecDeque<Rider>) -> Self {
        let slots = riders.iter().map(|rider| Rc::clone(&rider.slot)).collect();
        let progress = Rc::new(Progress { slots, ..Progress::default() });
        Self { riders, has_left: false, is_awaited: false, executed: None, progress }
    }

    /// For who looks after it.
    pub(super) fn progress(&self) -> Rc<Progress> {
        Rc::clone(&self.progress)
    }

    /// Puts the commands of all who still wait behind `command`, to be sent with it; nothing if nobody waits. Whoever has counted on a prepared
    /// statement that is not there any more, or is not as it was because of `command`, looks for another connection.
    pub(super) fn depart(
        &mut self,
        command: &[u8],
        statements: &Statements,
        remembers_types: bool,
    ) -> Option<Vec<u8>> {
        self.riders.retain(|Rider { slot, statement, .. }| {
            let is_there =
                |(id, execution): &(u32, Rc<Execution>)| statements.has(*id, execution, remembers_types);
            if !statement.as_ref().is_none_or(is_there) {
                slot.miss();
            }
            !slot.is_gone()
        });
        self.has_left = !self.riders.is_empty();
        let commands = self.riders.iter().map(|rider| &*rider.command);
        self.has_left.then(|| std::iter::once(command).chain(commands).collect::<Vec<_>>().concat())
    }

    /// Whether answers come behind the one to the session that has the connection.
    pub(crate) fn has_more(&self) -> bool {
        self.has_left && !self.riders.is_empty()
    }

    /// Whether the command of whoever has the connection, or gets it next, was sent.
    pub(crate) const fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// The prepared statement that this command executes, if it does.
    pub(super) const fn executed(&self) -> Option<u32> {
        self.executed
    }

    /// The session whose command was sent has the connection: it goes on with reading.
    pub(crate) const fn board(&mut self) {
        self.is_awaited = false;
    }

    /// Who gets the connection next.
    pub(super) fn next(&mut self) -> Next {
        while let Some(Rider { slot, statement, .. }) = self.riders.pop_front() {
            self.progress.served.set(self.progress.served.get() + 1);
            self.executed = statement.map(|(id, _)| id);
            if !slot.is_gone() {
                self.is_awaited = self.has_left;
                return Next::Rider(slot);
            }
            if self.has_left {
                self.is_awaited = true;
                return Next::Nobody;
            }
        }
        Next::Terminus
    }
}

impl Drop for Train {
    /// The connection is gone: whoever has waited for it looks for another one.
    fn drop(&mut self) {
        for rider in &self.riders {
            rider.slot.miss();
        }
    }
}
