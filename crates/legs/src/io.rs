//! The client's end of a session: its socket, and bytes on their way from and to it.

use std::cell::RefCell;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::task::{Context, Poll, ready};

use command::{Command, splice};
use front::ending::Ending;
use net::relay::Parked;
use net::sock::Input;
use net::throttle::Throttle;
use wire::Capabilities;
use wire::frame::{front, whole_front};

use crate::client::Client;

/// What a session has as long as its client is connected.
#[derive(Debug)]
pub struct Io {
    /// The client's end.
    pub client: Client,
    /// Bytes that the client has sent and that were not looked at: commands that came before the
    /// reply to the one before them, or the beginning of one.
    pub backlog: Vec<u8>,
    /// Bytes that the client has not taken yet.
    unsent: Parked,
    /// Whether the client was seen to have sent more while a reply was on its way. It is not looked
    /// for again until the reply is over.
    pub has_more: bool,
    /// What is in the backlog has come behind a file. It is no part of the command that runs.
    pub is_behind_file: bool,
    /// One command is run for the client, as a part of another one.
    pub is_for_once: bool,
    /// How often the client was refused as another user.
    pub refused_changes: u8,
    /// What the client has got too fast, where that is limited.
    pub throttle: Option<Box<Throttle>>,
}

impl Io {
    /// The client, of which these bytes were read before.
    pub fn new(client: Client, backlog: Vec<u8>) -> Self {
        Self {
            client,
            backlog,
            unsent: Parked::default(),
            has_more: false,
            is_behind_file: false,
            is_for_once: false,
            refused_changes: 0,
            throttle: None,
        }
    }

    /// A client for which this command, a packet, is run as a part of another one.
    pub fn for_once(client: Client, packet: Vec<u8>) -> Self {
        Self { is_for_once: true, ..Self::new(client, packet) }
    }

    /// Whether the command is over that was run for the client as a part of another one.
    pub const fn is_over_once(&self) -> bool {
        self.is_for_once && (self.backlog.is_empty() || self.is_behind_file)
    }

    /// Reads more into the backlog. A client that has left is the error `UnexpectedEof`.
    pub fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &RefCell<Box<[u8]>>,
    ) -> Poll<Result<(), Error>> {
        let mut scratch = scratch.borrow_mut();
        let n = ready!(self.client.poll_read(cx, &mut scratch))?;
        let input = scratch.get(..n).filter(|input| !input.is_empty());
        self.backlog.extend_from_slice(input.ok_or(ErrorKind::UnexpectedEof)?);
        Poll::Ready(Ok(()))
    }

    /// Notices a client that leaves while its statement runs.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.has_more {
            return Ok(());
        }
        let input = self.client.poll_input(cx);
        self.has_more = input == Poll::Ready(Input::Bytes);
        if input == Poll::Ready(Input::End) { Err(Ending::ClientLeft) } else { Ok(()) }
    }

    /// Ready when the client may get more bytes.
    #[cold]
    pub fn poll_throttle(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        if self.throttle.as_mut().is_none_or(|throttle| throttle.poll_ready(cx).is_ready()) {
            return Poll::Ready(Ok(()));
        }
        self.poll_gone(cx)?;
        Poll::Pending
    }

    /// Sends bytes to the client. What it does not take is kept.
    #[inline]
    pub fn send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<(), Error> {
        self.unsent.send(cx, &mut self.client, bytes)
    }

    /// Whether the client has taken all that was sent.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.unsent.is_sent(&self.client)
    }

    /// Takes out what the client has not taken yet.
    pub fn take_unsent(&mut self) -> Vec<u8> {
        self.unsent.take()
    }

    /// Writes what the client has not taken yet.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.unsent.poll_flush(cx, &mut self.client)
    }

    /// The payload of the command that the backlog begins with, as far as it is there.
    pub fn front(&self) -> &[u8] {
        front(&self.backlog)
    }

    /// The same if all of it is there, in one packet.
    pub fn whole_front(&self) -> Option<&[u8]> {
        whole_front(&self.backlog)
    }

    /// The command that the backlog begins with, of a client that can do this; nothing if there is
    /// no such command.
    pub fn command(&self, caps: Capabilities) -> Option<Command<'_>> {
        Command::first(&self.backlog, caps)
    }

    /// Puts `with` in the place of a part of the front's payload that is there. False if the front
    /// is too large for that.
    pub fn splice_front(&mut self, part: Range<usize>, with: &[u8]) -> bool {
        splice(&mut self.backlog, part, with)
    }
}
