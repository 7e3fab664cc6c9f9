//! Batches: commands of several sessions that are sent in one write, over one connection.
//!
//! Where many sessions wait in line for few connections, a server would be idle between two
//! statements: until its reply has come to the proxy, and the next statement to it. And both sides
//! would wake up, read and write once for each statement. So the session that gets a connection
//! takes along what the sessions behind it wait to send. All of it goes out in one write, the
//! server does one statement after the other, and the replies are entries of the connection's
//! queue. The connection is handed on with what was read of them. The session that gets it next has
//! sent its command already, and goes on with reading.
//!
//! Clients must not notice. Only plain reads are batched, outside of transactions, of sessions that
//! need no setup, and only statements that were fast lately
//! ([`BatchHistory`](super::batch_history::BatchHistory)): no session is to wait for the long
//! statement of another one. What a statement leaves at its connection to be asked about is gone
//! when the next one runs. So a reply with an error or a warning is not relayed: its statement is
//! sent once more, alone. A session that waits in a batch which stands still, or loses the
//! connection, looks for another one: a read may be done twice.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use route::Caller;
use session::state::Settings;
use wire::command::STATEMENT_ID;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use crate::connection::Connection;
use crate::handed::Slot;
use crate::idle_state::Left;
use crate::pipeline::{Expected, Owner, Pipeline};
use crate::statements::{Execution, Statements};

/// A statement that may be sent in a batch, and what its connection has to be like.
#[derive(Debug)]
pub struct Candidate {
    /// The packets of its command.
    pub command: Rc<[u8]>,
    /// The prepared statement that it executes, if it does: the number of that depends on the
    /// connection.
    pub execution: Option<Rc<Execution>>,
    /// The user and the schema of the session.
    pub caller: Arc<Caller>,
    /// The settings of the session.
    pub settings: Rc<Settings>,
    /// Its client has reset its connection.
    pub was_reset: bool,
}

/// A session that waits for its turn in a batch.
#[derive(Debug)]
pub(crate) struct Member {
    /// Where its session gets the connection.
    pub(crate) slot: Rc<Slot>,
    /// The packets of its command.
    pub(crate) command: Rc<[u8]>,
    /// The number of the prepared statement in it, if it executes one, and what that has to be.
    pub(crate) statement: Option<(u32, Rc<Execution>)>,
}

/// The sessions behind the one that has a connection.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Once their commands were sent, the connection's queue has a reply for each, in this order.
    members: VecDeque<Member>,
    progress: Rc<Progress>,
}

/// How far a batch has come: no session is to wait in one that stands still.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How many of those in it have had their turn.
    served: Cell<usize>,
    /// How many had when it was looked at last.
    seen: Cell<usize>,
    slots: Box<[Rc<Slot>]>,
}

impl Progress {
    /// Whether the batch has come farther than at the look before. The members of one that stands
    /// still are told.
    pub(crate) fn goes_on(self: &Rc<Self>) -> bool {
        // There is no other reference: the batch is over.
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

/// The session that gets a connection next.
#[derive(Debug)]
pub(crate) enum Next {
    /// This member.
    Member(Rc<Slot>),
    /// One that is gone: the reply to its command is read and dropped.
    Gone,
    /// There is none any more.
    End,
}

impl Candidate {
    /// Whether a connection on which this is left is as it would have it.
    pub(crate) fn fits(&self, left: &Left) -> bool {
        left.is_as(&self.caller, &self.settings, self.was_reset)
    }

    /// What is sent for `slot` over this connection; nothing if that does not have the statement.
    pub(crate) fn on(&self, link: &Connection, slot: &Rc<Slot>) -> Option<Member> {
        let slot = Rc::clone(slot);
        let Some(execution) = &self.execution else {
            return Some(Member { slot, command: Rc::clone(&self.command), statement: None });
        };
        let id = link.statements().find(execution, !link.is_mariadb(), None)?;
        let mut command = self.command.to_vec();
        command.get_mut(HEADER_LEN..)?.get_mut(STATEMENT_ID)?.copy_from_slice(&id.to_le_bytes());
        Some(Member { slot, command: command.into(), statement: Some((id, Rc::clone(execution))) })
    }
}

impl Batch {
    /// These sessions get a connection behind the one that is given it.
    pub(crate) fn new(members: VecDeque<Member>) -> Self {
        let slots = members.iter().map(|member| Rc::clone(&member.slot)).collect();
        let progress = Rc::new(Progress { slots, ..Progress::default() });
        Self { members, progress }
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> Rc<Progress> {
        Rc::clone(&self.progress)
    }

    /// The commands of all members that still wait behind `command`, to be sent with it, and the
    /// replies that are owed then; nothing if no member waits. A member whose prepared statement is
    /// gone, or is not as it was because of `command`, looks for another connection.
    pub(crate) fn send(
        &mut self,
        command: &[u8],
        statements: &Statements,
        remembers_types: bool,
    ) -> Option<(Vec<u8>, impl Iterator<Item = Expected>)> {
        self.members.retain(|Member { slot, statement, .. }| {
            let is_there = |(id, execution): &(u32, Rc<Execution>)| {
                statements.find(execution, remembers_types, Some(*id)).is_some()
            };
            if !statement.as_ref().is_none_or(is_there) {
                slot.miss();
            }
            !slot.is_gone()
        });
        let is_any = !self.members.is_empty();
        is_any.then(|| {
            let commands = self.members.iter().map(|member| &*member.command);
            let packets = std::iter::once(command).chain(commands).collect::<Vec<_>>().concat();
            let owner =
                |member: &Member| Owner::Member { statement: member.statement.as_ref().map(|(id, _)| *id) };
            (packets, self.members.iter().map(move |member| Expected::new(Answer::Result, owner(member))))
        })
    }

    /// The session that gets the connection next. If its command was sent, its reply is in
    /// `pipeline`.
    pub(crate) fn next(&mut self, pipeline: &mut Pipeline) -> Next {
        while let Some(Member { slot, .. }) = self.members.pop_front() {
            self.progress.served.set(self.progress.served.get() + 1);
            let is_gone = slot.is_gone();
            let is_sent = pipeline.hand_over(is_gone);
            if !is_gone {
                return Next::Member(slot);
            }
            if is_sent {
                return Next::Gone;
            }
        }
        Next::End
    }
}

impl Drop for Batch {
    /// The connection is gone: its members look for other ones.
    fn drop(&mut self) {
        for member in &self.members {
            member.slot.miss();
        }
    }
}
