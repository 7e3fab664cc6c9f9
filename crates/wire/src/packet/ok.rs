//! The server has done what it was asked to.

use super::SessionState;
use crate::{
    Capabilities, Codec, StatusFlags, WireError,
    codec::{Reader, put_lenenc, put_lenenc_bytes},
};

/// Success: the answer to a login or to a command without a result, or the end of a result for clients with
/// [`Capabilities::DEPRECATE_EOF`].
///
/// Source: `Protocol::OK_Packet`. The text of the page calls `info` the rest of the packet for clients
/// without [`Capabilities::SESSION_TRACK`]; MySQL and MariaDB send it length-encoded to everybody, and both
/// forms are read here.
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
        let header = match reader.u8("OK header")? {
            0x00 => OkHeader::Ok,
            0xfe => OkHeader::Eof,
            byte => return Err(WireError::Invalid { field: "OK header", value: byte.into() }),
        };
        let affected_rows = reader.lenenc("affected rows")?;
        let last_insert_id = reader.lenenc("last insert id")?;
        let status = StatusFlags::from_bits_retain(reader.u16("OK status")?);
        let warnings = reader.u16("OK warnings")?;
        let track = caps.contains(Capabilities::SESSION_TRACK);
        let info = if track { optional_text(reader)? } else { text_or_rest(reader) };
        let session_state = if track && status.contains(StatusFlags::SESSION_STATE_CHANGED) {
            Some(SessionState::new(optional_text(reader)?))
        } else {
            None
        };
        Ok(Self { header, affected_rows, last_insert_id, status, warnings, info, session_state })
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
