//! What a session takes note of in an answer on its way, and in what words it goes on.

use std::borrow::Cow;

use tokio::time::Instant;
use wire::command::Kind;
use wire::reply::{Answer, End, Event, Outcome, ReplyScanner};
use wire::{Capabilities, StatusFlags};

use super::correction::correction;
use super::course::Course;
use super::execute::{keeps_definitions, refusal_with_own_id};
use super::owed::Step;
use crate::backend::{Backend, Refused};
use crate::control::Control;
use crate::counts::Counter;
use crate::worker::Worker;

/// The transaction was the victim of a deadlock.
const ER_LOCK_DEADLOCK: u16 = 1213;

/// What is in `input` behind the answers to what was said in front of the command; nothing if the server has refused that.
pub(super) fn behind_prologue<'a>(
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
pub(super) fn work_at(control: &Control, course: &mut Course, next: &Step) -> Answer {
    course.ran.work_at(next.statement);
    control.running.go_on(next.measured, &next.also, Instant::now());
    next.answer
}

/// Takes note of what a server says of a statement that it prepares, for a client that keeps that.
#[inline]
pub(super) fn hear_definitions(
    course: &mut Course,
    control: &Control,
    bytes: Option<&[u8]>,
    caps: Capabilities,
) {
    if keeps_definitions(caps)
        && control.running.kind() == Some(Kind::StmtPrepare)
        && let Some((registry, bytes)) = course.prepared.as_mut().zip(bytes)
    {
        registry.hear(bytes);
    }
}

/// Takes note of what a server has said of a statement, if that is what it was asked for, or has changed of one.
pub(super) fn note_statements(
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
pub(super) fn collect(
    course: &mut Course,
    worker: &Worker,
    reply: &ReplyScanner,
    event: Event,
    read: Option<&[u8]>,
) {
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
pub(super) fn told<'a>(
    course: &mut Course,
    reply: &ReplyScanner,
    event: Event,
    output: &'a [u8],
) -> Cow<'a, [u8]> {
    let Some(gtids) = &mut course.gtids else { return output.into() };
    let cut = if event == Event::More { reply.cut_len() } else { 0 };
    gtids.trackers.pass(output, cut).map_or(output.into(), Cow::from)
}

/// Whether an answer ends with what servers say of a statement without an open cursor (`ER_STMT_HAS_NO_OPEN_CURSOR`).
pub(super) const fn is_without_cursor(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: 1421 }, .. }))
}

/// Whether what a server says of a prepared statement may have to be said in other words.
pub(super) const fn retells(course: &Course, event: Event) -> bool {
    course.changed.is_some() || is_without_cursor(event)
}

/// What a server says of a prepared statement, in other words; nothing if they are good as they are. `is_last` says that the server has not
/// got commands behind it.
pub(super) fn retold(output: &[u8], course: &mut Course, is_last: bool) -> Option<Vec<u8>> {
    if let Some(changed) = &mut course.changed {
        return Some(changed.rewrite(output));
    }
    let rewritten = refusal_with_own_id(output, course);
    // Commands behind it may have asked about it already.
    course.correction = rewritten.as_deref().filter(|_| is_last).and_then(correction);
    rewritten
}

/// Whether an answer ends with what servers have against a KILL.
pub(super) const fn is_refused_kill(event: Event) -> bool {
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

/// So many bytes of the answer are for the client, which may get only some in a second.
#[inline]
pub(super) fn add_answered(worker: &Worker, control: &Control, course: &mut Course, bytes: usize) {
    control.running.add_answered(bytes);
    if let Some(rate) = worker.rate_to_client() {
        course.throttle.get_or_insert_default().note(Instant::now(), bytes, rate);
    }
}
