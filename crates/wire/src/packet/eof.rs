//! The classic end of columns and rows.

use super::expect_header;
use crate::{Capabilities, Codec, StatusFlags, WireError, codec::Reader};

/// Ends column definitions and rows for clients without [`Capabilities::DEPRECATE_EOF`].
///
/// Source: `Protocol::EOF_Packet`. At a place where rows come, only a payload below 9 bytes is an EOF: a row
/// can start with the same byte (a cell of 2^24 bytes or more).
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
    fn it_is_what_servers_send() {
        let packet = Eof { warnings: 1, status: StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS };
        let bytes = [0xfe, 0x01, 0x00, 0x0a, 0x00];
        assert_eq!(packet.encode(Capabilities::PROTOCOL_41), bytes);
        assert_eq!(Eof::decode(&bytes, Capabilities::PROTOCOL_41), Ok(packet));
        assert!(Eof::decode(&bytes[..4], Capabilities::PROTOCOL_41).is_err());
    }
}
