//! The classic end of columns and rows.

use super::{Column, ColumnCount, Ok, OkHeader, expect_header};
use crate::frame::{MAX_PAYLOAD, put_message, put_packet};
use crate::{Capabilities, Codec, StatusFlags, WireError, codec::Reader};

/// Ends column definitions and rows for clients without [`Capabilities::DEPRECATE_EOF`].
///
/// Source: `Protocol::EOF_Packet`. At a place where rows come, only a payload below 9 bytes is an
/// EOF: a row can start with the same byte (a cell of 2^24 bytes or more).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eof {
    /// Warnings of the statement.
    pub warnings: u16,
    /// The connection's status after it.
    pub status: StatusFlags,
}

impl Eof {
    /// The first byte.
    pub const HEADER: u8 = 0xfe;

    /// A payload that begins like one is one if it has fewer bytes than this, for clients without
    /// [`Capabilities::DEPRECATE_EOF`].
    pub const BYTES_END: usize = 9;

    /// Whether a message that begins like one, with `len` bytes in its first packet, ends rows for
    /// clients with these capabilities. It may be an [`Ok`] in its place; else it is a row whose
    /// first value is longer than 16 MiB.
    pub const fn ends_rows(len: usize, caps: Capabilities) -> bool {
        len < if caps.contains(Capabilities::DEPRECATE_EOF) { MAX_PAYLOAD } else { Self::BYTES_END }
    }
}

impl<'a> Codec<'a> for Eof {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "EOF header")?;
        let warnings = reader.u16("EOF warnings")?;
        let status = StatusFlags::from_bits_retain(reader.u16("EOF status")?);
        Ok(Self { warnings, status })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.bits().to_le_bytes());
    }
}

/// Writes the number of columns, their definitions, and the end of these for clients that wait for
/// it. The first packet has the sequence id `seq`; returns the next one.
pub fn put_head(
    out: &mut Vec<u8>,
    seq: u8,
    columns: &[Column<'_>],
    status: StatusFlags,
    caps: Capabilities,
) -> u8 {
    let count = ColumnCount { count: columns.len() as u64, metadata_follows: None };
    let seq = put_packet(out, seq, &count, caps);
    let seq = columns.iter().fold(seq, |seq, column| put_packet(out, seq, column, caps));
    if caps.contains(Capabilities::DEPRECATE_EOF) { seq } else { put_end(out, seq, status, caps) }
}

/// The payload that ends rows, or columns, for a client with `caps`: an [`Eof`], or an [`Ok`] in
/// its place with [`Capabilities::DEPRECATE_EOF`].
pub fn end(status: StatusFlags, caps: Capabilities) -> Vec<u8> {
    if caps.contains(Capabilities::DEPRECATE_EOF) {
        Ok { header: OkHeader::Eof, ..Ok::plain(status) }.encode(caps)
    } else {
        Eof { warnings: 0, status }.encode(caps)
    }
}

/// Writes [`end`] as the packet with the sequence id `seq`; returns the next sequence id.
pub fn put_end(out: &mut Vec<u8>, seq: u8, status: StatusFlags, caps: Capabilities) -> u8 {
    put_message(out, seq, &end(status, caps))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(warnings: u16, status: u16) {
            let packet = Eof { warnings, status: StatusFlags::from_bits_retain(status) };
            let bytes = packet.encode(Capabilities::PROTOCOL_41);
            prop_assert_eq!(Eof::decode(&bytes, Capabilities::PROTOCOL_41), Ok(packet));
        }
    }

    #[test]
    fn the_end_is_what_the_client_has_asked_for() {
        let (status, classic) = (StatusFlags::AUTOCOMMIT, Capabilities::PROTOCOL_41);
        let mut out = Vec::new();
        assert_eq!(put_end(&mut out, 7, status, classic), 8);
        assert_eq!(put_end(&mut out, 255, status, classic | Capabilities::DEPRECATE_EOF), 0);
        assert_eq!(out, b"\x05\0\0\x07\xfe\0\0\x02\0\x07\0\0\xff\xfe\0\0\x02\0\0\0");
    }

    #[test]
    fn it_is_what_servers_send() {
        let packet = Eof { warnings: 1, status: StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS };
        let bytes = [0xfe, 0x01, 0x00, 0x0a, 0x00];
        assert_eq!(packet.encode(Capabilities::PROTOCOL_41), bytes);
        assert_eq!(Eof::decode(&bytes, Capabilities::PROTOCOL_41), Ok(packet));
        assert!(Eof::decode(&bytes[..4], Capabilities::PROTOCOL_41).is_err());
    }
}
