//! A tunnel: bytes are copied in both directions, and nothing is looked at.

use std::num::NonZeroU32;
use std::task::{Context, Poll};

use net::relay::Parked;
use net::sock::Sock;
use net::throttle::Throttle;
use tokio::time::Instant;

use crate::QUIT;
use crate::limits::FILLS_PER_TURN;

/// What is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// Anything: it is not known whose turn it is.
    Stream,
    /// Commands and their answers: when the server has spoken last, it is the client's turn, which
    /// may not wait for ever with it.
    Commands,
}

/// How it has ended.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// The client has left, while the server was there, without a byte to it.
    pub was_silent: bool,
    /// Of commands: the client has spoken last, so that the server may be at work for it.
    pub owes: bool,
    /// The last thing that the client has sent is the command that ends a connection.
    pub said_goodbye: bool,
}

/// Both directions between a client and its server.
#[derive(Debug)]
pub struct Tunnel {
    up: Direction,
    down: Direction,
    copied: Copied,
    was_silent: bool,
    owes: bool,
}

impl Tunnel {
    /// Begins with bytes that the client has sent already.
    pub fn new(first: Vec<u8>, copied: Copied) -> Self {
        let has_spoken = !first.is_empty();
        let up = Direction { moved: has_spoken, parked: Parked::from(first), ..Direction::default() };
        let down = Direction::default();
        Self { up, down, copied, was_silent: false, owes: has_spoken }
    }

    /// Copies what there is, at most `rate` bytes in a second to the client; leaves wakers wherever
    /// it has to wait. Ready when both sides have ended, or one that the other needs. When commands
    /// or replies were copied, `turn` is told whether it is the client's turn.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
        client: &mut Sock,
        server: &mut Sock,
        rate: Option<NonZeroU32>,
        turn: impl FnOnce(bool),
    ) -> Poll<()> {
        let Self { up, down, copied, was_silent, owes } = self;
        let are_commands = *copied == Copied::Commands;
        let asked = up.poll(cx, scratch, client, server, None);
        let answered = down.poll(cx, scratch, server, client, rate);
        if are_commands && (asked || answered) {
            *owes = !answered;
            turn(answered);
        }
        *was_silent |= matches!(up.flow, Flow::Ended | Flow::Lost) && !up.moved && down.flow == Flow::Open;
        match (up.flow, down.flow) {
            // No side is left to hear anything, or there is nothing more to say. (A server that
            // does not read any more may still have something.) A client of commands that ends does
            // not listen either.
            (Flow::Lost, _)
            | (_, Flow::Refused)
            | (Flow::Ended | Flow::Refused, Flow::Ended | Flow::Lost) => Poll::Ready(()),
            (Flow::Ended, _) if are_commands => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// Copies what the server says, until the client has spoken, or one of them has ended.
    pub fn poll_first_word(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
        client: &mut Sock,
        server: &mut Sock,
    ) -> Poll<()> {
        let down = &mut self.down;
        down.poll(cx, scratch, server, client, None);
        if down.flow != Flow::Open {
            return Poll::Ready(());
        }
        let spoken = client.poll_input(cx).map(drop);
        // What is not with the client yet would be lost with the tunnel.
        if down.parked.is_sent(client) { spoken } else { Poll::Pending }
    }

    /// How it has ended.
    pub fn end(&self) -> End {
        let owes = self.copied == Copied::Commands && self.owes;
        End { was_silent: self.was_silent, owes, said_goodbye: self.up.ends_with_goodbye }
    }
}

/// One direction of a tunnel.
#[derive(Debug, Default)]
struct Direction {
    parked: Parked,
    flow: Flow,
    /// Whether there was a byte.
    moved: bool,
    /// Whether the last bytes that came are a goodbye.
    ends_with_goodbye: bool,
    throttle: Throttle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Flow {
    /// Bytes may come.
    #[default]
    Open,
    /// The sender has ended, and the receiver has all of it.
    Ended,
    /// The receiver takes no more.
    Refused,
    /// The sender has broken off.
    Lost,
}

impl Direction {
    /// Copies what there is, at most so many bytes in a second; leaves wakers wherever it has to
    /// wait. Whether there was something.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
        from: &mut Sock,
        to: &mut Sock,
        rate: Option<NonZeroU32>,
    ) -> bool {
        let mut moved = false;
        for _ in 0..FILLS_PER_TURN {
            if self.flow != Flow::Open {
                return moved;
            }
            match self.parked.poll_flush(cx, to) {
                Poll::Pending => return moved,
                Poll::Ready(Err(_)) => self.flow = Flow::Refused,
                Poll::Ready(Ok(())) if rate.is_some() && self.throttle.poll_ready(cx).is_pending() => {
                    return moved;
                }
                Poll::Ready(Ok(())) => match from.poll_read(cx, scratch) {
                    Poll::Pending => return moved,
                    Poll::Ready(Err(_)) => self.flow = Flow::Lost,
                    Poll::Ready(Ok(0)) => {
                        self.flow = if to.shutdown_write().is_ok() { Flow::Ended } else { Flow::Refused };
                    }
                    Poll::Ready(Ok(n)) => {
                        (self.moved, moved) = (true, true);
                        let bytes = scratch.get(..n).unwrap_or_default();
                        self.ends_with_goodbye = bytes.ends_with(&QUIT);
                        if let Some(rate) = rate {
                            self.throttle.note(Instant::now(), n, rate);
                        }
                        if self.parked.send(cx, to, bytes).is_err() {
                            self.flow = Flow::Refused;
                        }
                    }
                },
            }
        }
        // There may be more: let others run first, then come back.
        cx.waker().wake_by_ref();
        moved
    }
}
