//! The server has done what it was asked to.

use super::SessionState;
use crate::{
    Capabilities, Codec, StatusFlags, WireError,
    codec::{Reader, put_lenenc, put_lenenc_bytes},
};

/// Success: the answer to a login or to a command without a result, or the end of a result for
/// clients with [`Capabilities::DEPRECATE_EOF`].
///
/// Source: `Protocol::OK_Packet`. The text of the page calls `info` the rest of the packet for
/// clients without [`Capabilities::SESSION_TRACK`]; MySQL and MariaDB send it length-encoded to all
/// clients, and both forms are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ok<'a> {
    /// Which of its two first bytes the packet has.
    pub header: OkHeader,
    /// Rows that the statement changed (or found, with [`Capabilities::FOUND_ROWS`]).
    pub affected_rows: u64,
    /// The first `AUTO_INCREMENT` value that the statement made, else 0.
    pub last_insert_id: u64,
    /// The connection's status. With [`Capabilities::SESSION_TRACK`],
    /// [`StatusFlags::SESSION_STATE_CHANGED`] is written as `session_state` says.
    pub status: StatusFlags,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// What changed in the session; not written without [`Capabilities::SESSION_TRACK`].
    pub session_state: Option<SessionState<'a>>,
}

impl Ok<'_> {
    /// One that says nothing but this.
    pub const fn plain(status: StatusFlags) -> Self {
        Self {
            header: OkHeader::Ok,
            affected_rows: 0,
            last_insert_id: 0,
            status,
            warnings: 0,
            info: b"",
            session_state: None,
        }
    }

    /// Reads the numbers, which the texts follow: all that there is in the beginning of a packet.
    #[inline]
    pub(crate) fn read_numbers(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let header = match reader.u8("OK header")? {
            0x00 => OkHeader::Ok,
            0xfe => OkHeader::Eof,
            byte => return Err(WireError::Invalid { field: "OK header", value: byte.into() }),
        };
        let affected_rows = reader.lenenc("affected rows")?;
        let last_insert_id = reader.lenenc("last insert id")?;
        let status = StatusFlags::from_bits_retain(reader.u16("OK status")?);
        let warnings = reader.u16("OK warnings")?;
        Ok(Self { header, affected_rows, last_insert_id, warnings, ..Self::plain(status) })
    }
}

/// The first byte of an [`Ok`] packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum OkHeader {
    /// The answer is this packet.
    Ok = 0x00,
    /// The end of a result, in the place of an [`Eof`](super::Eof) packet.
    Eof = 0xfe,
}

impl<'a> Codec<'a> for Ok<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        let numbers = Self::read_numbers(reader)?;
        let track = caps.contains(Capabilities::SESSION_TRACK);
        let info = if track { optional_text(reader)? } else { text_or_rest(reader) };
        let session_state = if track && numbers.status.contains(StatusFlags::SESSION_STATE_CHANGED) {
            Some(SessionState::new(optional_text(reader)?))
        } else {
            None
        };
        Ok(Self { info, session_state, ..numbers })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        let track = caps.contains(Capabilities::SESSION_TRACK);
        let mut status = self.status;
        if track {
            status.set(StatusFlags::SESSION_STATE_CHANGED, self.session_state.is_some());
        }
        out.push(self.header as u8);
        put_lenenc(out, self.affected_rows);
        put_lenenc(out, self.last_insert_id);
        out.extend_from_slice(&status.bits().to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        let state = self.session_state.filter(|_| track);
        // As servers do: an empty text is left out where nothing follows it.
        if state.is_some() || !self.info.is_empty() {
            put_lenenc_bytes(out, self.info);
        }
        if let Some(state) = state {
            put_lenenc_bytes(out, state.as_bytes());
        }
    }
}

/// A length-encoded text that may be missing at the end of the packet.
fn optional_text<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    if reader.is_empty() { Ok(&[]) } else { reader.lenenc_bytes("OK info") }
}

/// The last text of the packet, with or without its length.
fn text_or_rest<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    let rest = reader.rest();
    let mut inner = Reader::new(rest);
    match inner.lenenc_bytes("OK info") {
        Ok(text) if inner.is_empty() => text,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::StateChange;

    const TRACK: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::SESSION_TRACK);
    const PLAIN: Capabilities = Capabilities::PROTOCOL_41;

    fn any_header() -> impl Strategy<Value = OkHeader> {
        prop_oneof![Just(OkHeader::Ok), Just(OkHeader::Eof)]
    }

    proptest! {
        #[test]
        fn round_trips(
            header in any_header(),
            (affected_rows, last_insert_id, status, warnings) in any::<(u64, u64, u16, u16)>(),
            info: Vec<u8>,
            state: Option<Vec<u8>>,
        ) {
            let mut status = StatusFlags::from_bits_retain(status);
            status.set(StatusFlags::SESSION_STATE_CHANGED, state.is_some());
            let session_state = state.as_deref().map(SessionState::new);
            let packet =
                Ok { header, affected_rows, last_insert_id, status, warnings, info: &info, session_state };
            let bytes = packet.encode(TRACK);
            prop_assert_eq!(Ok::decode(&bytes, TRACK), Ok(packet));
            let bytes = packet.encode(PLAIN);
            let packet = Ok { session_state: None, ..packet };
            prop_assert_eq!(Ok::decode(&bytes, PLAIN), Ok(packet));
        }
    }

    /// Answers of MariaDB 10.11 to an UPDATE, for a client without `SESSION_TRACK`.
    #[test]
    fn the_text_has_a_length_for_every_client() {
        let bytes = b"\0\x01\0\x02\0\0\0(Rows matched: 1  Changed: 1  Warnings: 0";
        let packet = Ok {
            header: OkHeader::Ok,
            affected_rows: 1,
            last_insert_id: 0,
            status: StatusFlags::AUTOCOMMIT,
            warnings: 0,
            info: b"Rows matched: 1  Changed: 1  Warnings: 0",
            session_state: None,
        };
        assert_eq!(Ok::decode(bytes, PLAIN), Ok(packet));
        assert_eq!(packet.encode(PLAIN), bytes);
        assert_eq!(Ok::decode(bytes, TRACK), Ok(packet));
        // And the form that the documentation describes.
        let bytes = b"\0\x01\0\x02\0\0\0Rows matched: 1  Changed: 1  Warnings: 0";
        assert_eq!(Ok::decode(bytes, PLAIN), Ok(packet));
    }

    /// The answer of MariaDB 10.11 to START TRANSACTION WITH CONSISTENT SNAPSHOT.
    #[test]
    fn it_carries_session_state() {
        let bytes = b"\0\0\0\x03@\0\0\09\x05\t\x08T_R_____\x04,+START TRANSACTION WITH CONSISTENT SNAPSHOT;";
        let packet = Ok::decode(bytes, TRACK).unwrap();
        assert_eq!(
            packet.status,
            StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION | StatusFlags::SESSION_STATE_CHANGED
        );
        let changes: Vec<_> = packet.session_state.unwrap().iter().map(Result::unwrap).collect();
        assert_eq!(
            changes,
            [
                StateChange::TransactionState(b"T_R_____"),
                StateChange::TransactionCharacteristics(b"START TRANSACTION WITH CONSISTENT SNAPSHOT;"),
            ]
        );
        assert_eq!(packet.encode(TRACK), bytes);
    }

    /// The end of a result from MariaDB 10.11 to a client with `DEPRECATE_EOF`.
    #[test]
    fn it_ends_a_result() {
        let bytes = b"\xfe\0\0\x03@\0\0\0\x0b\x05\t\x08T_R___S_";
        let packet = Ok::decode(bytes, TRACK).unwrap();
        assert_eq!(packet.header, OkHeader::Eof);
        assert_eq!(packet.encode(TRACK), bytes);
    }

    #[test]
    fn clients_that_did_not_ask_get_no_session_state() {
        let bytes = b"\0\0\0\x03@\0\0\0\x02\x02\0";
        let packet = Ok::decode(bytes, TRACK).unwrap();
        assert_eq!(packet.encode(PLAIN), b"\0\0\0\x03@\0\0");
    }

    #[test]
    fn truncated_packets_are_refused() {
        let bytes = b"\0\xfc\x01\x02\xfd\x01\x02\x03\x02@\0\0\x04info\x0b\x05\t\x08T_R___S_";
        assert!(Ok::decode(bytes, TRACK).is_ok());
        for len in 0..bytes.len() {
            let result = Ok::decode(&bytes[..len], TRACK);
            // Info and session state may be missing, as a whole.
            assert_eq!(result.is_ok(), len == 12 || len == 17, "{len} bytes");
        }
        assert!(Ok::decode(b"\x01\0\0\0\0\0\0", TRACK).is_err());
    }
}
