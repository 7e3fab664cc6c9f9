//! Replies that a connection still owes: to setup commands, to internal queries, and to the
//! sessions of a batch.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use net::sock::Input;
use session::state::typed::Typed;
use wire::reply::{Prepared, ReplyScanner};
use wire::{Capabilities, StatusFlags};

use super::{Connection, Known};
use crate::batch::{Batch, Next};
use crate::ledger::Entry;
use crate::pipeline::{Expected, Owner};
use crate::setup::{Refused, Setup};
use crate::statements::Execution;

impl Connection {
    /// The server owes this reply to a command that is about to be sent.
    pub fn expect(&mut self, expected: Expected, capabilities: Capabilities) {
        debug_assert!(self.may_add(), "one count of frames goes through commands and replies");
        self.pipeline.expect(expected, capabilities);
    }

    /// Whether the server owes a reply.
    pub(crate) fn owes(&self) -> bool {
        self.pipeline.owner().is_some()
    }

    /// Whether a command may be sent behind one that was not answered: not over the compressed
    /// protocol, where one count of frames goes through commands and replies.
    pub const fn may_pipeline(&self) -> bool {
        !self.sock.is_compressed()
    }

    /// Whether a command may be sent now.
    pub(crate) fn may_add(&self) -> bool {
        self.may_pipeline() || !self.owes()
    }

    /// Whether something in front of the last packet of the reply that was read last has told of
    /// warnings.
    pub fn warned(&self) -> bool {
        self.pipeline.last_reply().is_some_and(ReplyScanner::warned)
    }

    /// Sends this in front of the next command.
    pub fn set_setup(&mut self, setup: Option<Box<Setup>>) {
        self.known.setup = setup;
    }

    /// Whether commands are sent in front of the next one, or were and are not all answered.
    pub fn has_setup(&self) -> bool {
        self.known.setup.is_some()
    }

    /// The packets to be sent in front of the next command. Their replies are owed from now on.
    pub fn take_setup(&mut self) -> Option<Vec<u8>> {
        self.known.setup.as_mut()?.take_packets(&mut self.pipeline)
    }

    /// Reads the replies to setup commands that `input` begins with, and returns how many bytes
    /// they are. At the end of the last one also the connection's status, if they have told it.
    pub fn read_setup(&mut self, input: &[u8]) -> Result<(usize, Option<StatusFlags>), Refused> {
        let Some(setup) = &mut self.known.setup else { return Ok((0, None)) };
        if !setup.is_sent() {
            return Ok((0, None));
        }
        let mut rest = input;
        while let Some(Owner::Setup(purpose)) = self.pipeline.owner() {
            if rest.is_empty() {
                return Ok((input.len(), None));
            }
            let segment = self.pipeline.cut(rest).map_err(|_| Refused(Vec::new()))?;
            rest = rest.get(segment.bytes.len()..).unwrap_or_default();
            self.own_warnings |= setup.read(purpose, segment.bytes, segment.event, &mut self.last_id)?;
        }
        let status = setup.status();
        self.known.setup = None;
        Ok((input.len() - rest.len(), status))
    }

    /// These sessions get it behind the one that is given it now.
    pub(crate) fn set_batch(&mut self, batch: Batch) {
        debug_assert!(self.known.batch.is_none(), "it is promised already");
        self.known.batch = Some(Box::new(batch));
    }

    /// No session gets it behind the one that has it.
    pub fn drop_batch(&mut self) {
        self.known.batch = None;
    }

    /// `command` with those of the batch, to be sent in its place; nothing if there is no batch.
    pub fn send_batch(&mut self, command: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
        let remembers_types = !self.is_mariadb();
        let Known { batch, statements, .. } = &mut self.known;
        let (packets, replies) = batch.as_mut()?.send(command, statements, remembers_types)?;
        replies.for_each(|expected| self.pipeline.expect(expected, capabilities));
        Some(packets)
    }

    /// Whether other sessions have sent commands over it already, behind that of the session that
    /// has it.
    pub fn is_promised(&self) -> bool {
        self.pipeline.has_members()
    }

    /// The session that gets it next.
    pub(crate) fn next_member(&mut self) -> Next {
        let next = self.known.batch.as_mut().map_or(Next::End, |batch| batch.next(&mut self.pipeline));
        if matches!(next, Next::End) {
            self.known.batch = None;
        }
        next
    }

    /// Whether the command of the session that has just got it, or gets it next, was sent.
    pub fn is_awaited(&self) -> bool {
        matches!(self.pipeline.owner(), Some(Owner::Sent { .. } | Owner::Unowned))
    }

    /// Gives a statement that another session has left to the one that has the connection and this
    /// entry, if it does for an execution. Where that was sent already, it is the statement in it.
    pub fn take_statement(
        &mut self,
        execution: &Execution<&Typed>,
        entry: Option<&Rc<Entry>>,
    ) -> Option<Prepared> {
        let sent_as = match self.pipeline.owner() {
            Some(Owner::Sent { statement }) => Some(statement?),
            _ => None,
        };
        self.known.statements.take(execution, entry, sent_as)
    }

    /// Keeps what was read behind a reply, if it belongs to a command that was sent already: of
    /// another session, or behind an internal query. False if there are bytes that no command asked
    /// for.
    pub fn read_ahead(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        debug_assert!(self.known.read_ahead.is_empty(), "it is read before the socket");
        let is_owed = self.is_promised() || self.is_awaited();
        if is_owed {
            self.known.read_ahead.end().extend_from_slice(bytes);
        }
        is_owed
    }

    /// C02: whether another session may get it. See `Pipeline::is_free`.
    pub fn is_free(&self) -> bool {
        self.pipeline.is_free() && self.known.setup.is_none()
    }

    /// Whether no reply is owed, and nothing was read ahead.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.owes() && self.is_free() && self.known.read_ahead.is_empty()
    }

    /// Checks what holds when no byte is being read, in debug builds.
    pub fn check_invariants(&self) {
        self.pipeline.check_invariants(self.known.read_ahead.rest().len());
    }

    /// See `Sock::poll_read`. What was read ahead comes first.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.known.read_ahead.is_empty() {
            self.sock.poll_read(cx, buffer)
        } else {
            Poll::Ready(Ok(self.known.read_ahead.read(buffer)))
        }
    }

    /// See `Sock::poll_input`. The reply to a command that was sent already is no input.
    pub fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        if self.is_awaited() {
            Poll::Pending
        } else if self.known.read_ahead.is_empty() {
            self.sock.poll_input(cx)
        } else {
            Poll::Ready(Input::Bytes)
        }
    }

    /// See `Sock::input`. The reply to a command that was sent already is no input.
    pub fn input(&mut self) -> Option<Input> {
        if self.is_awaited() {
            None
        } else if self.known.read_ahead.is_empty() {
            self.sock.input()
        } else {
            Some(Input::Bytes)
        }
    }
}
