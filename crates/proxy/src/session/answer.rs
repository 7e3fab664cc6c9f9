//! From the backend to the client: the bytes of an answer, up to its end.

use std::borrow::Cow;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;
use wire::command::Kind;
use wire::frame::MessageScanner;
use wire::reply::{Answer, End, Event, Outcome, ReplyScanner};
use wire::{Capabilities, StatusFlags, WireError};

use super::Session;
use super::again::{Heard, may_be_hidden, refused};
use super::correction::correction;
use super::course::Course;
use super::execute::{keeps_definitions, refusal_with_own_id};
use super::ids::{refusal_with_session, translate};
use super::measure::answered;
use super::overdue::{is_interrupted, timed_out};
use super::owed::Step;
use crate::backend::{Backend, Refused, Target};
use crate::control::{Control, Signal};
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::limits::FILLS_PER_TURN;
use crate::mirror::comparison::Watched;
use crate::relay::Parked;
use crate::sock::{Input, garbled};
use crate::worker::Worker;

/// The transaction was the victim of a deadlock.
const ER_LOCK_DEADLOCK: u16 = 1213;

impl Session {
    /// Relays this answer, which begins with sequence id `seq`, and all that are owed after it.
    pub(super) async fn relay_answers(&mut self, first: Answer, seq: u8) -> Result<(), Ending> {
        if let Some(deadline) = self.course.deadline.take() {
            return Box::pin(self.relay_until(*deadline, first, seq)).await;
        }
        self.control.begin_statement();
        self.relay_answer(first, seq).await?;
        while let Some(answer) = self.go_on() {
            self.relay_answer(answer, 1).await?;
        }
        self.control.end_statement();
        self.pause_or_end();
        self.course.changed = None;
        match self.course.correction.take() {
            None => Ok(()),
            Some(correction) => Box::pin(self.correct(&correction)).await,
        }
    }

    /// The server works at the next command that was sent, if there is one; what answers it.
    pub(super) fn go_on(&mut self) -> Option<Answer> {
        let next = self.owed.pop()?;
        Some(work_at(&self.control, &mut self.course, &next))
    }

    /// Relays the answer to a command; it begins with sequence id `seq`. Answers behind it that came in the same read
    /// are relayed as well.
    async fn relay_answer(&mut self, answer: Answer, seq: u8) -> Result<(), Ending> {
        let tells = self.course.begin_answer();
        let caps = self.capabilities();
        let mut reply = ReplyScanner::new(answer, caps).starting_at(seq).stopping_at_changes(tells);
        loop {
            let event = match poll_fn(|cx| self.poll_answer(cx, &mut reply)).await {
                Err(Ending::ServerLost(gone)) => return Box::pin(self.outlive(gone, seq)).await,
                event => event?,
            };
            match event {
                Event::Done(outcome) => {
                    self.flush_client().await?;
                    self.course.tries = 0;
                    if let Some(trace) = &self.course.trace {
                        trace.answered(Instant::now());
                    }
                    note(&mut self.status, outcome);
                    if self.course.settle(&self.identity, outcome, reply.warned()) {
                        self.was_reset();
                    }
                    return Ok(());
                }
                Event::LocalInfile => {
                    self.flush_client().await?;
                    let seq = Box::pin(self.relay_file(reply.next_seq())).await?;
                    reply.file_sent(seq);
                }
                // A large answer: let other sessions run.
                Event::More | Event::Changed => tokio::task::yield_now().await,
            }
        }
    }

    /// Forwards what there is of an answer. `More` means that there is more at once.
    fn poll_answer(&mut self, cx: &mut Context<'_>, reply: &mut ReplyScanner) -> Poll<Result<Event, Ending>> {
        self.obey(true)?;
        if self.control.is_recalled() {
            self.break_off(reply)?;
        }
        let caps = self.identity.capabilities;
        for _ in 0..FILLS_PER_TURN {
            // Back-pressure: as long as the client does not read, nothing is read for it.
            ready!(self.poll_client_ready(cx))?;
            let Some(backend) = &mut self.backend else { return Poll::Ready(Err(Ending::Silent)) };
            let mut scratch = self.worker.scratch.borrow_mut();
            let n = match backend.connection_mut().poll_read(cx, &mut scratch) {
                Poll::Ready(Ok(n)) if n > 0 => n,
                // While nothing comes is the time to look at the client.
                other => {
                    drop(scratch);
                    self.poll_client_gone(cx)?;
                    return other.map(|end| Err(self.lost(reply, end.err())));
                }
            };
            self.course.note_bytes();
            let input = scratch.get(..n).unwrap_or_default();
            let (course, status) = (&mut self.course, &mut self.status);
            let Some(input) = behind_prologue(backend, &self.worker, course, status, input) else {
                return Poll::Ready(Err(self.lost(reply, None)));
            };
            let n = input.len();
            if input.is_empty() {
                continue;
            }
            // Where the client is, before it gets anything of this.
            let (seq, between_packets) = (reply.next_seq(), reply.is_between_packets());
            let runs = (self.control.running.kind(), self.control.running.bytes());
            let mut scanned = 0;
            // Alone: nothing in front of it belongs to another command.
            let (mut begins_with_packet, mut is_alone, mut hidden) = (between_packets, true, None);
            let event = loop {
                let rest = input.get(scanned..).unwrap_or_default();
                let scan = match reply.scan(rest) {
                    Ok(scan) => scan,
                    Err(error) => return Poll::Ready(Err(self.nonsense(&error, between_packets, seq))),
                };
                scanned += scan.len;
                collect(&mut self.course, &self.worker, reply, scan.event, input.get(..scanned));
                add_answered(&self.worker, &self.control, &mut self.course, scan.len);
                Watched::read(&mut self.course.watched, &self.worker, rest, scan.len);
                hear_definitions(&mut self.course, &self.control, rest.get(..scan.len), caps);
                if let Event::Done(outcome) = scan.event {
                    note_statements(&mut self.course, &self.control, backend, reply, outcome);
                    let bytes = rest.get(..scan.len).filter(|_| begins_with_packet);
                    let is_last = self.owed.is_empty();
                    hidden = (is_last && may_be_hidden(outcome, runs.0)).then_some((outcome, bytes));
                    if hidden.is_none() {
                        answered(&self.worker, &self.control, outcome, bytes);
                    }
                    begins_with_packet = true;
                }
                match (scan.event, self.owed.is_empty()) {
                    (Event::Done(outcome), false) if scanned < n => {
                        note(&mut self.status, outcome);
                        self.course.settle(&self.identity, outcome, reply.warned());
                        // There is one: it was seen above.
                        let Some(next) = self.owed.pop() else { break scan.event };
                        let answer = work_at(&self.control, &mut self.course, &next);
                        *reply = reply.next_answer(answer);
                        is_alone = false;
                    }
                    (Event::Changed, _) => {}
                    (event, _) => break event,
                }
            };
            let takes_files = self.owed.is_empty() && caps.contains(Capabilities::LOCAL_FILES);
            if event == Event::LocalInfile && !(self.course.may_ask_for_file && takes_files) {
                return Poll::Ready(Err(self.file_not_expected(between_packets, seq)));
            }
            let output = input.get(..scanned).unwrap_or(input);
            let is_all = is_alone && (seq, between_packets, scanned) == (1, true, n) && self.owed.is_empty();
            let heard = is_all.then_some(Heard { event, output, runs });
            if let Some(refused) = refused(&self.course, &self.control, self.status, caps, heard) {
                self.course.refused = Some(refused);
                return Poll::Ready(Ok(event));
            }
            if let Some((outcome, bytes)) = hidden {
                answered(&self.worker, &self.control, outcome, bytes);
            }
            let output = told(&mut self.course, reply, event, output);
            let (server, course) = (&backend.server().endpoint().endpoint, &mut self.course);
            let rewritten = match &mut self.listing {
                None if self.past.named_threads && is_refused_kill(event) => {
                    refusal_with_session(&output, &self.worker, server)
                }
                None if retells(course, event) => retold(&output, course, self.owed.is_empty()),
                None if self.control.is_overdue() && between_packets && is_interrupted(event) => {
                    timed_out(&output, self.identity.capabilities)
                }
                None => None,
                Some(listing) => Some(translate(listing, &output, &self.worker, server)),
            };
            self.to_client.send(cx, &mut self.client, rewritten.as_deref().unwrap_or(&output))?;
            match event {
                Event::More | Event::Changed => {}
                _ if scanned < n => return Poll::Ready(Err(self.too_much(n - scanned))),
                event => return Poll::Ready(Ok(event)),
            }
        }
        Poll::Ready(Ok(Event::More))
    }

    /// What the backend says makes no sense; the client is at this place in its answer.
    fn nonsense(&self, error: &WireError, between_packets: bool, seq: u8) -> Ending {
        let Some(backend) = &self.backend else { return Ending::Silent };
        let server = backend.server().endpoint();
        tracing::error!(%server, %error, "a server's answer makes no sense; the session ends");
        self.told_if(between_packets, &ClientError::lost_backend(server), seq)
    }

    /// The backend wants a file of a statement that loads none. The client gets nothing of what was read with that: there the
    /// error belongs.
    fn file_not_expected(&self, between_packets: bool, seq: u8) -> Ending {
        let Some(backend) = &self.backend else { return Ending::Silent };
        let server = backend.server().endpoint();
        tracing::error!(%server, "a server asked for a file on a statement that loads none; the session ends");
        self.told_if(between_packets, &ClientError::file_not_expected(server), seq)
    }

    /// There is this much behind the last answer.
    fn too_much(&self, bytes: usize) -> Ending {
        if let Some(backend) = &self.backend {
            let server = backend.server().endpoint();
            tracing::error!(%server, bytes, "a server sent more than its answer; the session ends");
        }
        Ending::Silent
    }

    /// The backend is gone in the middle of its answer, or what it says is not the protocol.
    fn lost(&self, reply: &ReplyScanner, error: Option<std::io::Error>) -> Ending {
        let is_garbled = error.is_some_and(|error| garbled(&error).is_some());
        if !is_garbled && !reply.started() && self.control.signal() != Signal::Kill {
            let gone = if self.course.refusal.is_some() { Gone::Refused } else { Gone::Closed };
            return Ending::ServerLost(gone);
        }
        self.worker.counts.note(Counter::ServersAborted);
        let error = match (&self.backend, self.control.signal()) {
            (Some(backend), signal) if signal != Signal::Kill => {
                ClientError::lost_backend(backend.server().endpoint())
            }
            _ => ClientError::killed(),
        };
        self.told_if(reply.is_between_packets(), &error, reply.next_seq())
    }

    /// The session ends in an answer. Between two packets of it the client can be told why; within one, anything said
    /// would look like a part of it.
    pub(super) fn told_if(&self, between_packets: bool, error: &ClientError, seq: u8) -> Ending {
        if between_packets { self.told(error, seq) } else { Ending::Silent }
    }

    /// Notices a client that leaves while its statement runs; closing the backend ends the statement's output.
    fn poll_client_gone(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.client_waits {
            return Ok(());
        }
        match self.client.poll_input(cx) {
            Poll::Ready(Input::End) => Err(Ending::ClientLeft),
            Poll::Ready(Input::Bytes) => {
                self.client_waits = true;
                Ok(())
            }
            Poll::Pending => Ok(()),
        }
    }

    /// Ready when the client has taken what it got, and may get more.
    #[inline]
    fn poll_client_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        ready!(self.poll_flush_client(cx))?;
        if self.worker.rate_to_client().is_some() { self.poll_throttle(cx) } else { Poll::Ready(Ok(())) }
    }

    /// Ready when the client may get more bytes.
    #[cold]
    fn poll_throttle(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        let throttle = self.course.throttle.as_mut();
        if throttle.is_none_or(|throttle| throttle.poll_ready(cx).is_ready()) {
            return Poll::Ready(Ok(()));
        }
        self.poll_client_gone(cx)?;
        Poll::Pending
    }

    pub(super) async fn flush_client(&mut self) -> Result<(), Ending> {
        poll_fn(|cx| {
            self.obey(true)?;
            self.poll_flush_client(cx)
        })
        .await
    }

    /// Writes what the client has not taken yet, if there is anything.
    #[inline]
    fn poll_flush_client(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        if self.to_client.is_sent(&self.client) { Poll::Ready(Ok(())) } else { self.poll_parked(cx) }
    }

    /// Writes what is parked for the client.
    #[cold]
    fn poll_parked(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        if self.to_client.poll_flush(cx, &mut self.client)?.is_pending() {
            // A client that does not read has as much time as an idle one.
            self.set_idle();
            return Poll::Pending;
        }
        self.control.set_busy();
        Poll::Ready(Ok(()))
    }

    /// Relays the file of a LOAD DATA LOCAL: the client's messages up to and including an empty one. Takes the
    /// sequence id of the first, returns the one behind the last.
    async fn relay_file(&mut self, seq: u8) -> Result<u8, Ending> {
        let mut file = File { message: MessageScanner::new(seq), ended: false, lost: None };
        // While the client sends it has as much time as an idle one.
        self.set_idle();
        poll_fn(|cx| self.poll_file(cx, &mut file)).await?;
        self.control.set_busy();
        let seq = file.message.next_seq();
        match file.lost {
            None => Ok(seq),
            Some(server) => Err(self.told(&ClientError::lost_backend(&server), seq)),
        }
    }

    /// Forwards what there is of a file; ready when its end is with the backend.
    fn poll_file(&mut self, cx: &mut Context<'_>, file: &mut File) -> Poll<Result<(), Ending>> {
        self.obey(true)?;
        for _ in 0..FILLS_PER_TURN {
            if let Some(backend) = &mut self.backend {
                // A server that closes is let go at once. The client hears of it after the file: it does not listen
                // while it sends.
                if backend.connection_mut().poll_input(cx) == Poll::Ready(Input::End) {
                    file.lost = Some(backend.server().endpoint().clone());
                    self.to_backend = Parked::default();
                    self.backend = None;
                } else if self.to_backend.poll_flush(cx, backend.connection_mut()).is_pending() {
                    return Poll::Pending;
                }
            }
            if file.ended {
                return Poll::Ready(Ok(()));
            }
            if self.backlog.is_empty() {
                let mut scratch = self.worker.scratch.borrow_mut();
                let n = ready!(self.client.poll_read(cx, &mut scratch))
                    .map_err(|error| self.unreadable(&error, file.message.next_seq()))?;
                let input = scratch.get(..n).filter(|input| !input.is_empty()).ok_or(Ending::ClientLeft)?;
                self.backlog.extend_from_slice(input);
                drop(scratch);
                self.set_idle();
            }
            let input = std::mem::take(&mut self.backlog);
            let mut sent = 0;
            while !file.ended && sent < input.len() {
                let seq = file.message.next_seq();
                let scanned = file
                    .message
                    .scan(input.get(sent..).unwrap_or_default())
                    .map_err(|error| self.interrupted(&ClientError::malformed(error), seq))?;
                sent += scanned.len;
                file.ended = scanned.done && file.message.payload_len() == 0;
                if scanned.done && !file.ended {
                    file.message = MessageScanner::new(file.message.next_seq());
                }
            }
            let (now, later) = input.split_at_checked(sent).unwrap_or((&input, &[]));
            self.backlog.extend_from_slice(later);
            if file.lost.is_none() {
                self.send_to_backend(cx, now)?;
            }
        }
        // There may be more: let others run first, then come back.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What is in `input` behind the answers to what was said in front of the command; nothing if the server has refused that.
fn behind_prologue<'a>(
    backend: &mut Backend,
    worker: &Worker,
    course: &mut Course,
    status: &mut StatusFlags,
    input: &'a [u8],
) -> Option<&'a [u8]> {
    match backend.connection_mut().hear(input) {
        Ok((heard, told)) => {
            *status = told.unwrap_or(*status);
            input.get(heard..)
        }
        Err(Refused(payload)) => {
            worker.taken.clear();
            course.refusal = Some(payload.into());
            None
        }
    }
}

/// The server works at this command now, which was sent with the one before; what answers it.
fn work_at(control: &Control, course: &mut Course, next: &Step) -> Answer {
    course.ran.work_at(next.statement);
    control.running.go_on(next.measured, &next.also, Instant::now());
    next.answer
}

/// Takes note of what a server says of a statement that it prepares, for a client that keeps that.
#[inline]
fn hear_definitions(course: &mut Course, control: &Control, bytes: Option<&[u8]>, caps: Capabilities) {
    if keeps_definitions(caps)
        && control.running.kind() == Some(Kind::StmtPrepare)
        && let Some((registry, bytes)) = course.prepared.as_mut().zip(bytes)
    {
        registry.hear(bytes);
    }
}

/// Takes note of what a server has said of a statement, if that is what it was asked for, or has changed of one.
fn note_statements(
    course: &mut Course,
    control: &Control,
    backend: &mut Backend,
    reply: &ReplyScanner,
    outcome: Outcome,
) {
    if outcome.status().is_some_and(|status| status.contains(StatusFlags::METADATA_CHANGED)) {
        backend.connection_mut().statements_mut().bind_all();
    }
    if control.running.kind() == Some(Kind::StmtPrepare)
        && let Some(registry) = &mut course.prepared
    {
        let prepared = reply.prepared();
        if let Some(prepared) = &prepared {
            control.running.set_statement(prepared.id);
        }
        let origin = registry.answered(course.hostgroup, prepared);
        if let Some(prepared) = prepared {
            backend.connection_mut().statements_mut().note(prepared, origin);
        }
    }
}

/// Takes note of the transaction that a packet tells, if anybody wants to know: one behind which a scan of `read` has stopped.
#[inline]
fn collect(course: &mut Course, worker: &Worker, reply: &ReplyScanner, event: Event, read: Option<&[u8]>) {
    let Some(gtids) = &mut course.gtids else { return };
    let is_told = match event {
        Event::Changed => true,
        Event::Done(outcome) => {
            outcome.status().is_some_and(|status| status.contains(StatusFlags::SESSION_STATE_CHANGED))
        }
        Event::More | Event::LocalInfile => false,
    };
    let packet = read.zip(reply.last_len()).filter(|_| is_told);
    if let Some(gtid) = packet.and_then(|(read, len)| gtids.trackers.look(read, len)) {
        gtids.note(course.hostgroup, gtid);
        worker.counts.note(Counter::GtidCollected);
    }
}

/// What the client gets of these bytes of an answer.
#[inline]
fn told<'a>(course: &mut Course, reply: &ReplyScanner, event: Event, output: &'a [u8]) -> Cow<'a, [u8]> {
    let Some(gtids) = &mut course.gtids else { return output.into() };
    let cut = if event == Event::More { reply.cut_len() } else { 0 };
    gtids.trackers.pass(output, cut).map_or(output.into(), Cow::from)
}

/// Whether an answer ends with what servers say of a statement without an open cursor (`ER_STMT_HAS_NO_OPEN_CURSOR`).
const fn is_without_cursor(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: 1421 }, .. }))
}

/// Whether what a server says of a prepared statement may have to be said in other words.
const fn retells(course: &Course, event: Event) -> bool {
    course.changed.is_some() || is_without_cursor(event)
}

/// What a server says of a prepared statement, in other words; nothing if they are good as they are. `is_last` says that the server has not
/// got commands behind it.
fn retold(output: &[u8], course: &mut Course, is_last: bool) -> Option<Vec<u8>> {
    if let Some(changed) = &mut course.changed {
        return Some(changed.rewrite(output));
    }
    let rewritten = refusal_with_own_id(output, course);
    // Commands behind it may have asked about it already.
    course.correction = rewritten.as_deref().filter(|_| is_last).and_then(correction);
    rewritten
}

/// Whether an answer ends with what servers have against a KILL.
const fn is_refused_kill(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: 1094 | 1095 }, .. }))
}

/// What the end of an answer says about the session.
pub(super) fn note(status: &mut StatusFlags, outcome: Outcome) {
    match outcome.end {
        // The server has rolled the transaction back; an ERR packet carries no status that would say so.
        End::Err { code: ER_LOCK_DEADLOCK } => status.remove(StatusFlags::IN_TRANSACTION),
        // That the session has changed is said of one packet.
        _ => *status = outcome.status().unwrap_or(*status) - StatusFlags::SESSION_STATE_CHANGED,
    }
}

/// A file on its way from the client to the server.
#[derive(Debug)]
struct File {
    /// The message that the client is sending.
    message: MessageScanner,
    /// Whether the empty message was seen.
    ended: bool,
    /// The server, if it has closed the connection meanwhile.
    lost: Option<Target>,
}

/// So many bytes of the answer are for the client, which may get only some in a second.
#[inline]
fn add_answered(worker: &Worker, control: &Control, course: &mut Course, bytes: usize) {
    control.running.add_answered(bytes);
    if let Some(rate) = worker.rate_to_client() {
        course.throttle.get_or_insert_default().note(Instant::now(), bytes, rate);
    }
}
