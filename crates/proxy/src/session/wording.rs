//! In what words an answer goes on to the client.

use std::borrow::Cow;

use wire::reply::{End, Event, Outcome, ReplyScanner};

use super::course::Course;
use super::execute::refusal_with_own_id;
use super::heard::{Ears, Part};
use super::ids::{of_unknown_session, translate};
use super::overdue::{is_interrupted, timed_out};
use crate::backend::Connection;

/// `ER_STMT_HAS_NO_OPEN_CURSOR`: nothing can be fetched from the statement.
const NO_OPEN_CURSOR: u16 = 1421;

/// `ER_NO_SUCH_THREAD`: no session has the id.
const NO_SUCH_THREAD: u16 = 1094;

/// What the client gets of a part of an answer, which begins between two packets or not.
#[inline]
pub(super) fn wording<'a>(ears: &mut Ears<'_>, part: &Part<'a>, between_packets: bool) -> Cow<'a, [u8]> {
    let event = part.event;
    let told = told(ears.course, ears.backend.connection(), event, part.bytes);
    let told = match ears.course.overheard {
        None => told,
        Some(_) => with_overheard(ears, event, told),
    };
    let rewritten = if is_unknown_thread(event) {
        of_unknown_session(&told)
    } else if ears.flight.changed.is_some() || is_without_cursor(event) {
        retold(&told, ears)
    } else if ears.control.is_overdue() && between_packets && is_interrupted(event) {
        timed_out(&told, ears.identity.capabilities)
    } else {
        None
    };
    let told = rewritten.map_or(told, Cow::from);
    match ears.flight.as_mut().and_then(|flight| flight.listing.as_mut()) {
        None => told,
        Some(listing) => {
            let server = &ears.backend.server().endpoint().endpoint;
            translate(listing, &told, ears.worker, server).into()
        }
    }
}

/// The part without what the server was asked to tell for the proxy alone.
#[inline]
fn told<'a>(course: &mut Course, link: &Connection, event: Event, output: &'a [u8]) -> Cow<'a, [u8]> {
    let Some(gtids) = &mut course.gtids else { return output.into() };
    let cut = link.last_reply().filter(|_| event == Event::More).map_or(0, ReplyScanner::cut_len);
    gtids.trackers.pass(output, cut).map_or(output.into(), Cow::from)
}

/// The part with what the client is still to be told of its transaction, if it ends with the packet
/// for that, and the packet is whole.
#[cold]
fn with_overheard<'a>(ears: &mut Ears<'_>, event: Event, told: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    let is_ok = matches!(event, Event::Done(Outcome { end: End::Ok { .. }, .. }));
    // Of what was taken out nobody knows how long the last packet is now.
    let len = ears.backend.connection().last_reply().and_then(ReplyScanner::last_len);
    let len = len.filter(|_| is_ok && matches!(told, Cow::Borrowed(_)));
    let caps = ears.identity.capabilities;
    let with = len.zip(ears.course.overheard.as_ref()).and_then(|(len, one)| one.told_in(&told, len, caps));
    let Some(with) = with else { return told };
    ears.course.overheard = None;
    with.into()
}

/// What a server says of a prepared statement, in other words; nothing if they are good as they
/// are.
fn retold(output: &[u8], ears: &mut Ears<'_>) -> Option<Vec<u8>> {
    if let Some(changed) = ears.flight.as_mut().and_then(|flight| flight.changed.as_mut()) {
        return Some(changed.rewrite(output));
    }
    let rewritten = refusal_with_own_id(output, ears.course);
    // Commands behind it may have asked about it already.
    let is_last = ears.pipelined.is_empty();
    ears.course.set_retold(rewritten.is_some() && is_last);
    rewritten
}

/// Whether an answer ends with what servers say of a statement without an open cursor.
const fn is_without_cursor(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: NO_OPEN_CURSOR }, .. }))
}

/// Whether an answer ends with what servers say of a thread that is not there.
const fn is_unknown_thread(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: NO_SUCH_THREAD }, .. }))
}
