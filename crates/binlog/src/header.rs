//! The header of every event.

use crate::kind;

/// Bytes of a header.
pub(crate) const HEADER_LEN: usize = 19;

/// The header of one event, of binary logs of version 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type's number.
    pub(crate) kind: u8,
    /// The server that the event comes from.
    pub(crate) server_id: u32,
    /// Bytes of the event, with this header and the checksum.
    pub(crate) len: u32,
    /// The lower 32 bits of the position behind the event; 0 in compressed transactions.
    pub(crate) next_position: u32,
    /// Flags.
    pub(crate) flags: u16,
}

impl Header {
    /// Set in format descriptions while the log is open, and not part of their checksum.
    pub(crate) const IN_USE: u16 = 0x1;
    /// A reader that does not know the type may leave the event out.
    const IGNORABLE: u16 = 0x80;

    /// Reads a header; every 19 bytes are one.
    pub(crate) const fn parse(bytes: [u8; HEADER_LEN]) -> Self {
        let [_, _, _, _, kind, s0, s1, s2, s3, l0, l1, l2, l3, p0, p1, p2, p3, f0, f1] = bytes;
        Self {
            kind,
            server_id: u32::from_le_bytes([s0, s1, s2, s3]),
            len: u32::from_le_bytes([l0, l1, l2, l3]),
            next_position: u32::from_le_bytes([p0, p1, p2, p3]),
            flags: u16::from_le_bytes([f0, f1]),
        }
    }

    /// Whether the event may be left out by a reader that does not know its type.
    pub(crate) const fn is_ignorable(self) -> bool {
        self.flags & Self::IGNORABLE != 0 || self.kind == kind::IGNORABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_servers_put_them() {
        let bytes = [1, 2, 3, 4, 16, 7, 0, 0, 0, 31, 0, 0, 0, 0x2c, 1, 0, 0, 0x80, 0];
        let header = Header::parse(bytes);
        let expected = Header { kind: 16, server_id: 7, len: 31, next_position: 300, flags: 0x80 };
        assert_eq!(header, expected);
        assert!(header.is_ignorable());
    }
}
