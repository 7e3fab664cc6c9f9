//! Streams the binary log from a position.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Asks for the events of the binary log from a position on.
///
/// Source: `COM_BINLOG_DUMP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogDump<'a> {
    /// Bytes from the start of the file.
    pub position: u32,
    /// 1: end at the end of the log, instead of waiting for more.
    pub flags: u16,
    /// The replica's server id.
    pub server_id: u32,
    /// The file's name; empty for the first one.
    pub file: &'a [u8],
}

impl<'a> Codec<'a> for BinlogDump<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::BinlogDump)?;
        Ok(Self {
            position: reader.u32("position")?,
            flags: reader.u16("flags")?,
            server_id: reader.u32("server id")?,
            file: reader.rest(),
        })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::BinlogDump as u8);
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&self.server_id.to_le_bytes());
        out.extend_from_slice(self.file);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(position: u32, flags: u16, server_id: u32, file: Vec<u8>) {
            let command = BinlogDump { position, flags, server_id, file: &file };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(BinlogDump::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn the_file_is_the_rest() {
        let bytes = b"\x12\x04\0\0\0\0\0\x07\0\0\0binlog.000001";
        let command = BinlogDump { position: 4, flags: 0, server_id: 7, file: b"binlog.000001" };
        assert_eq!(BinlogDump::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
