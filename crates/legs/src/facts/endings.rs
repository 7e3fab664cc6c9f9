//! What a client is told whose session ends, or loses a server.

use front::ending::Ending;
use net::sock::garbled;
use runtime::counted::note_own_error;
use runtime::invariant::no_connection;
use runtime::limits::{ERROR_MESSAGE_BYTES_MAX, LINGER_MAX};
use session::error::{ClientError, Gone};
use upstream::{Backend, Progress};
use wire::frame::HEADER_LEN;
use wire::{Capabilities, Codec as _, packet};

use crate::entry::BookEntry;
use crate::flight::Flight;
use crate::leg::Leg;
use crate::links::Links;
use crate::state::{Past, SessionState};

/// The session ends in an answer. Between two packets of it the client can be told why; within
/// one, anything said would look like a part of it.
pub fn told_if(entry: &BookEntry, state: &SessionState, reply: Progress, error: &ClientError) -> Ending {
    if reply.is_between_packets { told(entry, state, error, reply.next_seq) } else { Ending::Silent }
}

/// The session ends with this error.
pub fn told(entry: &BookEntry, state: &SessionState, error: &ClientError, seq: u8) -> Ending {
    note_own_error(&entry.worker, &entry.control, error);
    Ending::tell(error, seq, state.identity.capabilities)
}

/// Reading from the client has failed. What is not the protocol it is told, in the place of the
/// answer `seq`.
pub fn unreadable(entry: &BookEntry, state: &SessionState, error: &std::io::Error, seq: u8) -> Ending {
    match garbled(error) {
        Some(error) => interrupted(entry, state, &ClientError::malformed(error), seq),
        None => Ending::ClientLeft,
    }
}

/// The session ends with this error although the client may be in the middle of sending.
pub fn interrupted(entry: &BookEntry, state: &SessionState, error: &ClientError, seq: u8) -> Ending {
    note_own_error(&entry.worker, &entry.control, error);
    Ending::interrupt(error, seq, state.identity.capabilities)
}

/// A connection that was released is of no use any more.
pub(crate) fn lose_other(
    entry: &BookEntry,
    state: &mut SessionState,
    other: &Backend,
    gone: Gone,
) -> Result<(), Ending> {
    let lost = state.loss_of(other).told(other.server().endpoint(), gone);
    state.transaction.owe(lost.map_err(|error| told(entry, state, &error, 1))?);
    state.past.remove(Past::IN_TRANSACTION);
    Ok(())
}

/// Reads the backend's error, if it is one, as the last thing that the client hears.
pub async fn last_words(entry: &BookEntry, leg: &mut Leg, answer_seq: Option<u8>) -> Ending {
    let error = tokio::time::timeout(LINGER_MAX, leg.links.read_error(&entry.worker)).await.ok().flatten();
    let Some(backend) = &leg.links.in_use else { return no_connection() };
    let server = backend.server().endpoint();
    let said = error.as_deref().and_then(|packet| error_text(packet.get(HEADER_LEN..)?));
    let said = said.unwrap_or_else(|| "no error".to_owned());
    tracing::warn!(%server, said, "a server spoke out of turn; the session ends");
    match (error, answer_seq) {
        (Some(packet), _) => Ending::Say { packets: packet.into_boxed_slice(), linger: answer_seq.is_some() },
        (None, Some(seq)) => interrupted(entry, &leg.state, &ClientError::server_lost(server), seq),
        (None, None) => Ending::Silent,
    }
}

/// A statement is over, unless it was refused and may be said again: then it goes on, and only
/// its server rests.
pub fn pause_or_end(entry: &BookEntry, links: &Links, flight: &Flight) {
    match (&flight.refused, &links.in_use) {
        (None, _) => entry.end_running(links),
        (Some(_), Some(backend)) => backend.connection().note_answered(),
        (Some(_), None) => {}
    }
}

/// The payload of an ERR packet as the log has it: `error 1053: Server shutdown in progress`.
pub fn error_text(payload: &[u8]) -> Option<String> {
    let error = packet::Err::decode(payload, Capabilities::PROTOCOL_41).ok()?;
    let message = error.message.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(error.message);
    Some(format!("error {}: {}", error.code, String::from_utf8_lossy(message)))
}

/// The number of the error in the payload of an ERR packet.
pub fn code(payload: &[u8]) -> Option<u16> {
    match payload {
        [0xff, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}
