//! Errors of servers that the client gets in other words: they name what the client knows by
//! another number, or the limit that has ended the statement.

use session::error::ClientError;
use session::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};
use wire::frame::{HEADER_LEN, Header, Packet, put_message};
use wire::{Capabilities, Codec as _, packet};

/// `ER_NO_SUCH_THREAD`: no session has the id.
pub const NO_SUCH_THREAD: u16 = 1094;

/// `ER_STMT_HAS_NO_OPEN_CURSOR`: nothing can be fetched from the statement.
pub const NO_OPEN_CURSOR: u16 = 1421;

/// `ER_QUERY_INTERRUPTED`: the statement was killed.
pub const INTERRUPTED: u16 = 1317;

/// What a server says of a session's id, which it cannot know, and what to do about it; `None` if
/// `packet` is something else.
pub fn of_unknown_session(packet: &[u8]) -> Option<Vec<u8>> {
    refusal_with(packet, |message| {
        // `Unknown thread id: 7`
        let id = message.rsplit_once(' ')?.1.parse().ok()?;
        let is_session = (FIRST_CONNECTION_ID..=LAST_CONNECTION_ID).contains(&id);
        is_session.then(|| ClientError::ThreadOfProxy { id }.to_string())
    })
}

/// What a server says of a statement that has no open cursor, with the number by which the client
/// knows it, as `own` says; `None` if it is the same, or not there.
pub fn of_own_statement(packet: &[u8], own: impl Fn(u32) -> Option<u32>) -> Option<Vec<u8>> {
    refusal_with(packet, |message| {
        // `The statement (7) has no open cursor`
        let (before, rest) = message.split_once('(')?;
        let (id, behind) = rest.split_once(')')?;
        let id = id.parse().ok()?;
        let own = own(id).filter(|own| *own != id)?;
        Some(format!("{before}({own}){behind}"))
    })
}

/// The packets with another error in the place of the last one; nothing if they are not whole.
pub fn timed_out(packets: &[u8], caps: Capabilities) -> Option<Vec<u8>> {
    let last = Packet::last(packets)?;
    let before = packets.len().checked_sub(HEADER_LEN + last.payload.len())?;
    let mut told = packets.get(..before)?.to_vec();
    told.extend(ClientError::QueryTimeout.to_packet(last.header.seq, caps));
    Some(told)
}

/// An error in one packet with another message; `None` if it is something else, or there is none.
fn refusal_with(packet: &[u8], other: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let (header, payload) = packet.split_first_chunk::<HEADER_LEN>()?;
    let error = packet::Err::decode(payload, Capabilities::PROTOCOL_41).ok()?;
    // The character set is the client's: only ASCII means the same in all of them, and the rest
    // stays as it is.
    let message = other(&error.message.iter().map(|byte| char::from(*byte)).collect::<String>())?;
    let message: Vec<u8> = message.chars().filter_map(|c| u8::try_from(c).ok()).collect();
    let told = packet::Err { message: &message, ..error };
    let mut packet = Vec::new();
    put_message(&mut packet, Header::parse(*header).seq, &told.encode(Capabilities::PROTOCOL_41));
    Some(packet)
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::*;

    #[test]
    fn the_last_packet_is_another_error() {
        let caps = Capabilities::PROTOCOL_41;
        let mut packets = Vec::new();
        put_message(&mut packets, 5, b"a row");
        let rows = packets.len();
        put_message(&mut packets, 6, b"\xff\x25\x05#70100Query execution was interrupted");
        let told = timed_out(&packets, caps).unwrap();
        assert_eq!(told[..rows], packets[..rows]);
        assert_eq!(told[rows + 3], 6);
        assert!(told.ends_with(b"\xff\x73\x07#70100Query execution was interrupted, query_timeout exceeded"));
        assert_eq!(timed_out(&packets[..packets.len() - 1], caps), None);
        assert_eq!(timed_out(&[], caps), None);
    }

    fn refusal(message: &str) -> Vec<u8> {
        let error = packet::Err { code: 1094, sql_state: Some(*b"HY000"), message: message.as_bytes() };
        let mut bytes = Vec::new();
        put_message(&mut bytes, 1, &error.encode(Capabilities::PROTOCOL_41));
        bytes
    }

    #[test]
    fn a_number_that_the_client_knows_stands_for_the_servers() {
        let own = |id| (id == 7).then_some(1);
        let of = |message: &str| of_own_statement(&refusal(message), own);
        assert_eq!(of("The statement (7) has no cursor"), Some(refusal("The statement (1) has no cursor")));
        assert_eq!(of("The statement (8) has no cursor"), None);
        assert_eq!(of("No number"), None);
    }

    #[test]
    fn only_ids_of_sessions_are_explained() {
        let of = |id: u32| of_unknown_session(&refusal(&format!("Unknown thread id: {id}")));
        assert!(of(FIRST_CONNECTION_ID).is_some());
        assert_eq!(of(FIRST_CONNECTION_ID - 1), None);
        assert_eq!(of_unknown_session(b""), None);
    }
}
