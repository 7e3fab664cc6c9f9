//! From the backend to the client: the bytes of an answer, up to its end.

use std::borrow::Cow;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use legs::entry::BookEntry;
use legs::facts::endings::{pause_or_end, told_if};
use legs::facts::leases::{break_off, was_reset};
use legs::facts::orders::{note_own_limit, obey};
use legs::facts::places::{go_on, has_transaction};
use legs::facts::replies::poll_flush_client;
use legs::io::Io;
use legs::leg::Leg;
use legs::links::Links;
use legs::state::Past;
use legs::state::settle::Settled;
use runtime::control::Signal;
use runtime::invariant::{in_use_mut, no_connection};
use tokio::time::Instant;
use upstream::limits::FILLS_PER_TURN;
use upstream::{Crossed, Progress};
use wire::reply::Event;

use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::cx::Cx;
use crate::session::file::relay_file;
use crate::session::lost::outlive;
use crate::session::segments::{At, Wrong, settle};
use crate::session::stage::local::kill::note_shots;
use crate::sock::garbled;

impl Cx<'_> {
    /// Relays the reply to the command that runs, which begins with sequence id `seq`, and the
    /// replies to all commands that were sent behind it.
    pub(super) async fn relay_answers(&mut self, seq: u8) -> Result<(), Ending> {
        if let Some(deadline) = self.leg.flight.as_mut().and_then(|flight| flight.deadline.take()) {
            return Box::pin(self.relay_until(deadline, seq)).await;
        }
        self.entry.control.turns.begin();
        self.relay_answer(seq).await?;
        while go_on(&self.entry.control, self.leg) {
            // A client that is slow with the next answer may be in a transaction by now.
            let is_open = has_transaction(self.leg);
            self.entry.control.note_transaction(self.entry.worker.now(), is_open);
            self.relay_answer(1).await?;
        }
        if let Some(backend) = &self.leg.links.in_use {
            backend.connection().check_invariants();
            debug_assert!(backend.connection().is_free(), "c01: a reply without a reader is owed");
        }
        self.entry.control.end_statement();
        note_shots(&self.entry.control, self.leg.links.state_mut(), self.leg.state.last.ran.end);
        pause_or_end(self.entry, &self.leg.links, &self.leg.flight);
        if self.leg.state.take_retold() {
            self.leg.links.release_error(&mut self.leg.state);
        }
        Ok(())
    }

    /// Relays the reply to a command; it begins with sequence id `seq`. Replies behind it that came
    /// in the same read are relayed as well.
    async fn relay_answer(&mut self, seq: u8) -> Result<(), Ending> {
        self.leg.state.begin_answer();
        if let Some(backend) = self.leg.links.in_use.as_mut().filter(|_| seq != 1) {
            backend.connection_mut().pipeline.start_at(seq);
        }
        let outcome = loop {
            let asks_for_file = match poll_fn(|cx| self.poll_answer(cx)).await {
                Err(Ending::ServerLost(gone)) => {
                    return Box::pin(outlive(self.entry, self.io, self.leg, gone, seq)).await;
                }
                event => match event? {
                    Event::Done(outcome) => break outcome,
                    event => event == Event::LocalInfile,
                },
            };
            if asks_for_file {
                Box::pin(relay_file(self.entry, self.io, self.leg)).await?;
            } else {
                // A large answer: let other sessions run.
                tokio::task::yield_now().await;
            }
        };
        poll_fn(|cx| {
            // One reference in the future of a client, not one for each part.
            let this = &mut *self;
            obey(this.entry, this.leg, true)?;
            poll_flush_client(this.entry, this.io, cx)
        })
        .await?;
        self.leg.state.trace(|trace| trace.answered(Instant::now().into_std()));
        let link = self.leg.links.connection_mut();
        let changes = self.leg.flight.is_changing();
        let Settled { is_reset, closes } = settle(&mut self.leg.state, &mut self.leg.flight, outcome, link);
        if changes {
            note_own_limit(self.entry, self.leg);
        }
        if self.leg.state.past.contains(Past::ENDS_WAITING) {
            self.leg.state.past.remove(Past::ENDS_WAITING);
            self.leg.links.end_waiting();
        }
        if is_reset {
            was_reset(self.entry, self.leg, closes);
        }
        if self.leg.state.past.contains(Past::RELEASED) {
            // As the server does, which says no more than OK.
            return Err(Ending::Silent);
        }
        Ok(())
    }

    /// Forwards what there is of an answer. `More` means that there is more at once.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, Ending>> {
        obey(self.entry, self.leg, true)?;
        if self.entry.control.recalled.get() {
            break_off(self.entry, self.leg)?;
        }
        for _ in 0..FILLS_PER_TURN {
            // Back-pressure: as long as the client does not read, nothing is read for it.
            ready!(poll_client_ready(self.entry, self.io, cx))?;
            let backend = in_use_mut(&mut self.leg.links.in_use)?;
            let link = backend.connection_mut();
            let mut scratch = self.entry.worker.net.scratch.borrow_mut();
            let batched = self.leg.flight.as_mut().and_then(|flight| flight.batched.as_mut());
            let withhold = batched.map(|batched| &mut batched.reply);
            let room = withhold.as_ref().map_or(scratch.len(), |reply| reply.room(scratch.len()));
            let buffer = scratch.get_mut(..room).unwrap_or_default();
            let n = match link.poll_read(cx, buffer) {
                Poll::Ready(Ok(n)) if n > 0 => n,
                // While nothing comes is the time to look at the client.
                other => {
                    drop(scratch);
                    // Closing the backend ends the statement's output.
                    self.io.poll_gone(cx)?;
                    return other.map(|end| Err(lost(self.entry, self.leg, end.err())));
                }
            };
            self.leg.state.trace(|trace| trace.answers(Instant::now().into_std()));
            let read = scratch.get(..n).unwrap_or_default();
            let read = match withhold {
                None => Some(Cow::Borrowed(read)),
                Some(withhold) => withhold.gather(link.pipeline.next_reply(), read),
            };
            let Some(read) = read else { continue };
            let mut at = At {
                backend,
                state: &mut self.leg.state,
                flight: &mut self.leg.flight,
                pipelined: &mut self.leg.links.pipelined,
            };
            match at.pass((self.entry, self.io), cx, &read) {
                Ok(None) => {}
                Ok(Some(event)) => return Poll::Ready(Ok(event)),
                Err(wrong) => {
                    return Poll::Ready(Err(broken_off_by(self.entry, self.leg, wrong)));
                }
            }
        }
        Poll::Ready(Ok(Event::More))
    }
}

/// The session or its connection ends because of what a server says.
#[cold]
fn broken_off_by(entry: &BookEntry, leg: &Leg, wrong: Wrong) -> Ending {
    match wrong {
        Wrong::Setup => lost(entry, leg, None),
        Wrong::Nonsense(error, before) => nonsense(entry, leg, &error, before),
        Wrong::File(before) => file_not_expected(entry, leg, before),
        Wrong::TooMuch(bytes) => too_much(&leg.links, bytes),
        Wrong::ClientLeft => Ending::ClientLeft,
    }
}

/// The backend is gone in the middle of its answer, or what it says is not the protocol.
fn lost(entry: &BookEntry, leg: &Leg, error: Option<std::io::Error>) -> Ending {
    let Some(backend) = &leg.links.in_use else { return no_connection() };
    let reply = backend.connection().pipeline.progress();
    let is_garbled = error.is_some_and(|error| garbled(&error).is_some());
    if !is_garbled && !reply.is_begun && entry.control.signal() != Signal::Kill {
        let gone = if leg.flight.refusal.is_some() { Gone::Refused } else { Gone::Closed };
        return Ending::ServerLost(gone);
    }
    entry.worker.counts.note(Counter::ServersAborted);
    let error = if entry.control.signal() == Signal::Kill {
        ClientError::ConnectionKilled
    } else {
        ClientError::server_lost(backend.server().endpoint())
    };
    told_if(entry, &leg.state, reply, &error)
}

/// Ready when the client has taken what it got, and may get more.
#[inline]
fn poll_client_ready(entry: &BookEntry, io: &mut Io, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
    ready!(poll_flush_client(entry, io, cx))?;
    if entry.worker.front.rate_to_client().is_some() { io.poll_throttle(cx) } else { Poll::Ready(Ok(())) }
}

/// What the backend says makes no sense; the client is at this place in its answer.
fn nonsense(entry: &BookEntry, leg: &Leg, error: &Crossed, client: Progress) -> Ending {
    let Some(backend) = &leg.links.in_use else { return no_connection() };
    let server = backend.server().endpoint();
    tracing::error!(%server, %error, "a server's answer makes no sense; the session ends");
    told_if(entry, &leg.state, client, &ClientError::server_lost(server))
}

/// The backend wants a file of a statement that loads none. The client gets nothing of what was
/// read with that: there the error belongs.
fn file_not_expected(entry: &BookEntry, leg: &Leg, client: Progress) -> Ending {
    let Some(backend) = &leg.links.in_use else { return no_connection() };
    let server = backend.server().endpoint();
    tracing::error!(%server, "a server asked for a file on a statement that loads none; the session ends");
    told_if(entry, &leg.state, client, &ClientError::file_not_expected(server))
}

/// There is this much behind the last answer.
fn too_much(links: &Links, bytes: usize) -> Ending {
    if let Some(backend) = &links.in_use {
        let server = backend.server().endpoint();
        tracing::error!(%server, bytes, "a server sent more than its answer; the session ends");
    }
    Ending::Silent
}
