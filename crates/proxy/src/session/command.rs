//! From the client to the backend: finding where commands end, and sending them on.

use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use command::{Command, is_visible};
use legs::backlog::check_size;
use legs::entry::BookEntry;
use legs::facts::commands::is_own;
use legs::facts::endings::{interrupted, unreadable};
use legs::facts::leases::{leave_batch, look_at_server, poll_idle_backend};
use legs::facts::orders::{leave_all_servers_off, leave_servers_off, obey};
use legs::facts::places::lack;
use legs::facts::records::{begin_sent, measure, mirror, note_traced};
use legs::facts::sharing::{stay_with_others, take_back};
use legs::flight::Flight;
use legs::idle::make_idle;
use legs::io::Io;
use legs::leg::Leg;
use legs::links::Links;
use legs::measure::also_logged;
use legs::phase::Phase;
use legs::pipelined::Step;
use legs::state::SessionState;
use legs::upload::Upload;
use observe::running::{Measured, Paused};
use runtime::decided::Decided;
use runtime::invariant::{broken, in_use_mut};
use runtime::worker::Worker;
use session::ran::Sent;
use tokio::time::Instant;
use upstream::limits::FILLS_PER_TURN;
use wire::command::Kind;
use wire::frame::{Header, MessageScanner, Scanned};
use wire::reply::Answer;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::at_once::{decide_along, needs_only_a_connection, points_here};
use crate::session::batched::note_command_sent;
use crate::session::cx::Cx;
use crate::session::route::note_sent;
use crate::session::shards::straight::begin_at_shard;
use crate::session::stage::cache::asks_cache;
use crate::session::stage::local::kill::note_shots;
use crate::session::stage::owed;

impl Cx<'_> {
    /// The client's next command. This is where idle sessions wait.
    pub(super) fn poll_command(&mut self, cx: &mut Context<'_>) -> Poll<Result<Phase, Ending>> {
        ready!(poll_may_send(self.entry, self.io, self.leg))?;
        if self.entry.control.turns.take_spared() {
            note_shots(&self.entry.control, self.leg.links.state_mut(), None);
            make_idle(self.entry, self.io, self.leg);
            if self.leg.may_keep_error(self.entry, self.io.backlog.is_empty()) {
                return Poll::Ready(Ok(Phase::KeepingError));
            }
        }
        self.io.has_more = false;
        let worker = Rc::clone(&self.entry.worker);
        let mut scratch = worker.net.scratch.borrow_mut();
        loop {
            if is_visible(&self.io.backlog) {
                let input = std::mem::take(&mut self.io.backlog);
                return Poll::Ready(self.begin(cx, &input));
            }
            let Poll::Ready(read) = self.io.client.poll_read(cx, &mut scratch) else {
                return poll_idle_backend(self.entry, self.leg, cx);
            };
            let n = read.map_err(|error| unreadable(self.entry, &self.leg.state, &error, 1))?;
            let input = scratch.get(..n).filter(|input| !input.is_empty()).ok_or(Ending::ClientLeft)?;
            if self.io.backlog.is_empty() && is_visible(input) {
                return Poll::Ready(self.begin(cx, input));
            }
            self.io.backlog.extend_from_slice(input);
        }
    }

    /// Looks at the command that `input` begins with, and forwards it if that is all it needs. If
    /// not, it is in the backlog from then on.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>, input: &[u8]) -> Result<Phase, Ending> {
        if !self.io.is_for_once && self.leg.links.away.role.looks(&self.entry.worker) {
            let command = first_command(self.entry, &self.leg.state, input)?;
            if let Some(command) = command
                && let Some(phase) = begin_at_shard(self.entry, self.io, self.leg, cx, command, input)?
            {
                return Ok(phase);
            }
            self.io.backlog = input.to_vec();
            return Ok(command.map_or(Phase::Refusing, |command| Phase::Sharded(command.kind)));
        }
        be_ready(self.entry, self.leg)?;
        let command = first_command(self.entry, &self.leg.state, input)?;
        if let Some(command) = command
            && !owed::is_due(&self.leg.state, command.kind)
        {
            if self.entry.worker.cached.knows()
                && let Some(phase) = self.answer_known(cx, input)?
            {
                return Ok(phase);
            }
            let mut decided = goes_on(self.entry, self.leg, command);
            if decided.is_none() && asks_cache(&self.leg.flight) {
                match self.ask_cache(cx, command, input)? {
                    Some(phase) => return Ok(phase),
                    None => decided = goes_on(self.entry, self.leg, command),
                }
            }
            if decided.is_none() && needs_only_a_connection(self.entry, self.leg, command.kind) {
                if self.get_in_line(input) {
                    return Ok(Phase::InLine);
                }
                decided = goes_on(self.entry, self.leg, command);
            }
            if let Some(decided) = decided {
                return self.forward(cx, input, decided);
            }
        }
        leave_batch(self.entry, self.leg);
        self.io.backlog = input.to_vec();
        Ok(command.map_or(Phase::Refusing, |command| Phase::Routing(command.kind)))
    }

    /// Sends the command in the backlog, for which a connection was set up. If that is gone
    /// meanwhile, the command gets a route again.
    pub(super) fn poll_prepared(&mut self, cx: &mut Context<'_>, kind: Kind) -> Poll<Result<Phase, Ending>> {
        ready!(poll_may_send(self.entry, self.io, self.leg))?;
        be_ready(self.entry, self.leg)?;
        let input = std::mem::take(&mut self.io.backlog);
        if !owed::is_due(&self.leg.state, kind)
            && Command::first(&input, self.leg.state.identity.capabilities)
                .is_some_and(|command| !is_own(&self.entry.worker, self.leg, command))
            && let Some(decided) = self.leg.flight.as_mut().and_then(|flight| flight.decided.take())
        {
            if lack(&self.entry.worker, self.leg, decided.target()).is_none() {
                return Poll::Ready(self.forward(cx, &input, decided));
            }
            self.leg.flight.begin().decided = Some(decided);
        }
        leave_batch(self.entry, self.leg);
        self.io.backlog = input;
        Poll::Ready(Ok(Phase::Routing(kind)))
    }

    /// Sends the command that `input` begins with, and those that came behind it, in one write: a
    /// client that does not wait for answers need not wait for the proxy either. What cannot go
    /// along stays in the backlog.
    fn forward(&mut self, cx: &mut Context<'_>, input: &[u8], mut decided: Decided) -> Result<Phase, Ending> {
        let (mut sent, caps) = (0, self.leg.state.identity.capabilities);
        let paused = self.leg.flight.as_mut().and_then(|flight| flight.paused.take());
        let (limits, patch) = (decided.limits(), decided.patch.take());
        let link = self.leg.links.connection_mut();
        let (was_sent, setup) =
            link.map_or((false, None), |link| (link.pipeline.promote(), link.take_setup()));
        // The first one that is answered is the one that runs.
        let mut runs = None;
        let mut upload = loop {
            let start = sent;
            let rest = input.get(start..).unwrap_or_default();
            let (scanner, scanned) = scan(self.entry, &self.leg.state, rest)?;
            sent += scanned.len;
            let command = Command::first(rest, caps).ok_or_else(|| broken("a command without its byte"))?;
            let goes_on = paused.as_ref().filter(|_| start == 0);
            let measured = note_command(self.entry, self.leg, (command, scanned.done), &mut decided, goes_on);
            let upload = Upload { scanner, complete: scanned.done, answer: command.answer() };
            if goes_on.is_none() {
                mirror(&self.entry.worker, &self.leg.state, &mut self.leg.flight, command, &upload, &decided);
            }
            // Only the first one is shown and logged as what runs from the beginning.
            let is_behind = runs.is_some();
            if runs.is_none() && upload.answer != Answer::None {
                runs = Some((measured, command, upload.answer));
                note_traced(self.entry, &self.leg.state, command, &decided);
            }
            let rest = input.get(sent..).unwrap_or_default();
            let next = self.next_of_pipeline(&upload, rest);
            if !was_sent {
                self.leg.links.expect_reply(upload.answer, self.leg.state.gtids.is_some(), caps);
            }
            // Most are alone.
            if upload.answer != Answer::None && (next.is_some() || is_behind) {
                let also =
                    is_behind.then(|| also_logged(&self.entry.worker, &self.leg.state, command, &decided));
                let statement = Sent::of(command.kind, decided.plan);
                self.leg.links.pipelined.push(Step { measured, also: also.unwrap_or_default(), statement });
            }
            let Some(next) = next else { break upload };
            decided = next;
        };
        if let Some((measured, command, answer)) = runs {
            upload.answer = answer;
            begin_sent(self.entry, &self.leg.state, measured, command);
        }
        begin_limits(
            &mut self.leg.flight,
            self.entry,
            &mut self.leg.links,
            paused.as_ref(),
            limits,
            runs.is_some(),
        );
        trace_sent(self.leg);
        let (now, later) = input.split_at_checked(sent).unwrap_or((input, &[]));
        self.io.backlog.extend_from_slice(later);
        let patched = patch.map(|patch| patch.applied(now));
        let now = patched.as_deref().unwrap_or(now);
        if was_sent {
            note_command_sent(&self.entry.worker, &mut self.leg.flight, true);
        } else {
            send_command(&self.entry.worker, self.leg, cx, setup, now)?;
        }
        if upload.complete && self.leg.links.is_sent() {
            return Ok(Phase::after(upload.answer, 1).unwrap_or_else(|| self.next_phase()));
        }
        self.leg.flight.begin().upload = Some(Box::new(upload));
        Ok(Phase::Uploading)
    }

    /// The command that `rest` begins with, if it may be sent before `before`, the command in front
    /// of it, is answered.
    ///
    /// Commands whose answers the client awaits are followed by whole ones only: a server must not
    /// wait for the rest of a command while the client waits for an answer. Nothing follows a
    /// statement that may ask for a file: the server would read it as the file. A faulty command
    /// waits for its own turn, and so does one whose reply does not end.
    ///
    /// Where it goes may depend on the answer to the one before. So nothing follows what changes
    /// the session, and where there is more than one way nothing follows that has to be decided
    /// about. Where there are shards nothing follows: [`begin`](Self::begin) looks at each command.
    fn next_of_pipeline(&mut self, before: &Upload, rest: &[u8]) -> Option<Decided> {
        let is_last = self.leg.flight.may_ask_for_file
            || before.answer == Answer::Endless
            || self.leg.flight.is_changing();
        if !before.complete
            || is_last
            || !is_visible(rest)
            || !self.io.is_for_once && self.leg.links.away.role.may_be_asked(&self.entry.worker)
        {
            return None;
        }
        let goes_along = |next: &Command<'_>| {
            !is_own(&self.entry.worker, self.leg, *next) && next.kind.answer() != Answer::Endless
        };
        let next = first_command(self.entry, &self.leg.state, rest).ok().flatten().filter(goes_along)?;
        let next = decide_along(self.entry, self.leg, next)?;
        if before.answer == Answer::None && self.leg.links.pipelined.is_empty() {
            return Some(next);
        }
        if self.leg.links.in_use.as_ref().is_some_and(|backend| !backend.connection().may_pipeline()) {
            return None;
        }
        let mut scanner = MessageScanner::new(0);
        let whole = scanner.scan(rest).is_ok_and(|scanned| scanned.done)
            && check_size(&self.entry.worker, &scanner).is_ok();
        (whole && !self.leg.links.pipelined.is_full()).then_some(next)
    }
}

/// What was decided about a command, if all that has to be done is to forward it.
fn goes_on(entry: &BookEntry, leg: &mut Leg, command: Command<'_>) -> Option<Decided> {
    if is_own(&entry.worker, leg, command) { None } else { points_here(entry, leg, command) }
}

/// Counts a command that is being sent, and takes note of what it is. `goes_on` is what ran
/// before if it is sent once more.
fn note_command(
    entry: &BookEntry,
    leg: &mut Leg,
    (command, is_whole): (Command<'_>, bool),
    decided: &mut Decided,
    goes_on: Option<&Paused>,
) -> Measured {
    if leg.state.may_ask_for_file(command, is_whole, decided.plan) {
        leg.flight.begin().may_ask_for_file = true;
    }
    let mut measured = measure(entry, leg, command, decided, goes_on);
    if !is_whole {
        // All that is known of its length.
        measured.bytes = command.payload_len();
    }
    note_sent(entry, leg, command, is_whole, decided);
    measured
}

/// Forwards the rest of a command as it comes. Ready with true when all is with the backend;
/// with false when the backend has something to say before that.
pub(super) fn poll_upload(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    cx: &mut Context<'_>,
    upload: &mut Upload,
) -> Poll<Result<bool, Ending>> {
    obey(entry, leg, true)?;
    for _ in 0..FILLS_PER_TURN {
        let backend = in_use_mut(&mut leg.links.in_use)?;
        if leg.links.unsent.poll_flush(cx, backend.connection_mut().sock_mut()).is_pending() {
            if backend.connection().has_setup() {
                // What it says now is about that.
                return Poll::Pending;
            }
            // Whether the backend answers or goes away instead of reading.
            return backend.connection_mut().poll_input(cx).map(|_| Ok(false));
        }
        if upload.complete {
            return Poll::Ready(Ok(true));
        }
        if backend.connection_mut().poll_input(cx).is_ready() {
            return Poll::Ready(Ok(false));
        }
        let worker = Rc::clone(&entry.worker);
        let mut scratch = worker.net.scratch.borrow_mut();
        let seq = upload.scanner.next_seq();
        let n = ready!(io.client.poll_read(cx, &mut scratch))
            .map_err(|error| unreadable(entry, &leg.state, &error, seq))?;
        let input = scratch.get(..n).filter(|input| !input.is_empty()).ok_or(Ending::ClientLeft)?;
        let scanned = upload
            .scanner
            .scan(input)
            .map_err(|error| interrupted(entry, &leg.state, &ClientError::malformed(error), seq))?;
        check_size(&entry.worker, &upload.scanner)?;
        // Each piece counts as a sign of life; between two the client may be as slow as an idle
        // one.
        entry.set_slow();
        upload.complete = scanned.done;
        let (now, later) = input.split_at_checked(scanned.len).unwrap_or((input, &[]));
        io.backlog.extend_from_slice(later);
        leg.links.send(cx, now)?;
    }
    // There may be more: let others run first, then come back.
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Does what others want of the session before a command is sent. Ready if one may be.
fn poll_may_send(entry: &BookEntry, io: &Io, leg: &mut Leg) -> Poll<Result<(), Ending>> {
    obey(entry, leg, io.is_for_once)?;
    if entry.control.recalled.get() {
        // A part of another command looks for itself: all parts have one flag.
        let leave = if io.is_for_once { leave_servers_off } else { leave_all_servers_off };
        leave(entry, leg)?;
    }
    if entry.control.turns.is_held() { Poll::Pending } else { Poll::Ready(Ok(())) }
}

/// A command is there. Since the one before, the connection in use may not have been checked:
/// it may be closed.
fn be_ready(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    look_at_server(entry, leg)?;
    entry.control.set_busy();
    take_back(entry, leg);
    stay_with_others(entry, leg)
}

/// Sends `command`, behind `setup`, and with the commands of the batch.
fn send_command(
    worker: &Worker,
    leg: &mut Leg,
    cx: &mut Context<'_>,
    setup: Option<Vec<u8>>,
    command: &[u8],
) -> Result<(), Ending> {
    let capabilities = leg.state.identity.capabilities;
    let link = in_use_mut(&mut leg.links.in_use)?.connection_mut();
    let goes_together = setup.is_none() && leg.flight.batched.is_some();
    if let Some(packets) = goes_together.then(|| link.send_batch(command, capabilities)).flatten() {
        note_command_sent(worker, &mut leg.flight, true);
        return leg.links.send(cx, &packets);
    }
    note_command_sent(worker, &mut leg.flight, false);
    match setup {
        None => leg.links.send(cx, command),
        Some(mut packets) => {
            packets.extend_from_slice(command);
            leg.links.send(cx, &packets)
        }
    }
}

/// The command that `input` begins with; `None` if there is no such command.
pub(super) fn first_command<'a>(
    entry: &BookEntry,
    state: &SessionState,
    input: &'a [u8],
) -> Result<Option<Command<'a>>, Ending> {
    let header = input.first_chunk().map(|bytes| Header::parse(*bytes));
    let header = header.ok_or_else(|| broken("a command without a header"))?;
    if header.seq != 0 {
        let error = wire::WireError::OutOfOrder { expected: 0, got: header.seq };
        return Err(interrupted(entry, state, &ClientError::malformed(error), header.seq.wrapping_add(1)));
    }
    Ok(Command::first(input, state.identity.capabilities))
}

/// How far the command goes that `input` begins with.
fn scan(entry: &BookEntry, state: &SessionState, input: &[u8]) -> Result<(MessageScanner, Scanned), Ending> {
    let mut scanner = MessageScanner::new(0);
    let scanned =
        scanner.scan(input).map_err(|error| interrupted(entry, state, &ClientError::malformed(error), 1))?;
    check_size(&entry.worker, &scanner)?;
    Ok((scanner, scanned))
}

fn trace_sent(leg: &Leg) {
    if let (Some(trace), Some(backend)) = (&leg.state.trace, &leg.links.in_use) {
        let now = Instant::now().into_std();
        trace.sent(leg.state.here, &backend.server().endpoint().endpoint, now);
    }
}

/// How often the command that was sent may be sent again, and, if it `runs`, when it is to be
/// killed: one that was sent before has what is left of its time.
fn begin_limits(
    flight: &mut Flight,
    entry: &BookEntry,
    links: &mut Links,
    paused: Option<&Paused>,
    (timeout, retries): (Option<Duration>, Option<u32>),
    runs: bool,
) {
    // Of several it would be about the first, and the last may be sent again.
    let is_new_and_alone = paused.is_none() && links.pipelined.is_empty();
    if let Some(retries) = retries.filter(|_| is_new_and_alone) {
        flight.begin().retries = Some(retries);
    }
    // The first one runs, and is not behind itself.
    links.pipelined.pop();
    let running = &entry.control.running;
    let deadline = match paused {
        _ if !runs => None,
        Some(paused) => running.resume(paused),
        None => timeout.and_then(|timeout| running.expire_after(timeout)),
    };
    if deadline.is_some() {
        flight.begin().deadline = deadline;
    }
}
