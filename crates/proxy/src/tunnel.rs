//! Layer 4: bytes are copied in both directions and nothing is looked at.
//!
//! Listeners with `protocol = "tcp"` work this way; so do sessions of users with
//! `fast_forward = 1`, and others once a command never ends (a binary log dump). It is also the
//! floor that the benchmark measures everything else against.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::task::{Context, Poll};

use config::Listener;
use tokio::time::{Instant, timeout};

use crate::backend::{AcquireError, Backend, Full, QUIT, Target, Times, Whom, acquire, connect};
use crate::control::{Control, Signal};
use crate::door::Door;
use crate::limits::FILLS_PER_TURN;
use crate::relay::Parked;
use crate::sock::Sock;
use crate::throttle::Throttle;
use crate::worker::Worker;
use wire::Peer;

/// Connects a client of a layer-4 listener to a server and copies until either side closes. False
/// if the client has left without a word to the server; `None` if it got none.
pub(crate) async fn serve(
    worker: &Rc<Worker>,
    control: &Control,
    mut client: Sock,
    peer: Peer,
    listener: &Listener,
) -> Option<bool> {
    let (hostgroup, instead) = Door::new(listener).way(&worker.routing.borrow().routes().pairs);
    let times = Times::at(listener, &worker.settings().variables);
    let whom = Whom { times: Some(&times), ..Whom::default() };
    let open = async |target: &Target| Ok(connect(&worker.upstream, &target.endpoint, peer).await?.into());
    let acquiring = async {
        control.about.set_hostgroup(hostgroup);
        let full = if instead.is_some() { Full::Elsewhere } else { Full::TryAgain };
        let found = acquire(&worker.upstream, hostgroup, full, whom, None, &open).await;
        let (Err(AcquireError::Proxy(_)), Some(instead)) = (&found, instead) else { return found };
        control.about.set_hostgroup(instead);
        acquire(&worker.upstream, instead, Full::TryAgain, whom, None, &open).await
    };
    let mut backend = match control.until(Signal::Drain, acquiring).await {
        Ok(Ok(found)) => found.backend,
        Ok(Err(AcquireError::Proxy(error))) => {
            tracing::warn!(%peer, error = %error.logged(), "a layer-4 client got no server");
            return None;
        }
        Ok(Err(AcquireError::Server(_))) | Err(_) => return None,
    };
    control.about.set_backend(Some(&backend));
    if let Some(limit) = listener.connect_timeout_client {
        let spoken = timeout(limit, first_word(worker, &mut client, &mut backend));
        match control.until(Signal::Stop, spoken).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Some(false),
            Err(_) => return Some(true),
        }
    }
    let end = resume(worker, control, &mut client, &mut backend, Vec::new(), Copied::Stream).await;
    Some(!end.was_silent)
}

/// Copies what the server says until the client has spoken, or one of them has ended.
async fn first_word(worker: &Worker, client: &mut Sock, backend: &mut Backend) {
    let mut down = Direction::default();
    poll_fn(|cx| {
        let mut scratch = worker.net.scratch.borrow_mut();
        down.poll(cx, &mut scratch, backend.connection_mut(), client, None);
        if down.flow != Flow::Open {
            return Poll::Ready(());
        }
        let spoken = client.poll_input(cx).map(drop);
        // What is not with the client yet would be lost with the direction.
        if down.parked.is_sent(client) { spoken } else { Poll::Pending }
    })
    .await;
}

/// What is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Anything: nobody knows whose turn it is.
    Stream,
    /// Commands and their answers: when the server has spoken last, it is the client's turn, which
    /// may not wait for ever with it.
    Commands,
}

/// How it has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// The client has left, while the server was there, without a byte to it.
    pub(crate) was_silent: bool,
    /// Of commands: the client has spoken last, so that the server may be at work for it.
    pub(crate) owes: bool,
    /// The last thing that the client has sent is the command that ends a connection.
    pub(crate) said_goodbye: bool,
}

/// Copies until there is nobody left to copy to, or the worker says stop, beginning with bytes that
/// the client has sent already.
pub(crate) async fn resume(
    worker: &Worker,
    control: &Control,
    client: &mut Sock,
    backend: &mut Backend,
    first: Vec<u8>,
    copied: Copied,
) -> End {
    control.set_tunnel(None);
    let has_spoken = !first.is_empty();
    let mut up = Direction { moved: has_spoken, parked: Parked::from(first), ..Direction::default() };
    let mut down = Direction::default();
    let (mut was_silent, mut owes) = (false, has_spoken);
    let are_commands = copied == Copied::Commands;
    let both = poll_fn(|cx| {
        let mut scratch = worker.net.scratch.borrow_mut();
        let asked = up.poll(cx, &mut scratch, client, backend.connection_mut(), None);
        let rate = worker.rate_to_client();
        let answered = down.poll(cx, &mut scratch, backend.connection_mut(), client, rate);
        if are_commands && (asked || answered) {
            owes = !answered;
            control.set_tunnel(answered.then(|| worker.now()));
        }
        was_silent |= matches!(up.flow, Flow::Ended | Flow::Lost) && !up.moved && down.flow == Flow::Open;
        match (up.flow, down.flow) {
            // Nobody is left to hear anything, or there is nothing more to say. (A server that does
            // not read any more may still have something.) A client of commands that ends does not
            // listen either.
            (Flow::Lost, _)
            | (_, Flow::Refused)
            | (Flow::Ended | Flow::Refused, Flow::Ended | Flow::Lost) => Poll::Ready(()),
            (Flow::Ended, _) if are_commands => Poll::Ready(()),
            _ => Poll::Pending,
        }
    });
    // A signal means that the time is up: there is nothing to say at layer 4.
    let _ = control.until(Signal::Stop, both).await;
    End { was_silent, owes: are_commands && owes, said_goodbye: up.ends_with_goodbye }
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
