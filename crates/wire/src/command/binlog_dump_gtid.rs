//! Streams the binary log behind a set of GTIDs.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Asks for the events of the binary log that are not in a set of transactions.
///
/// Source: `COM_BINLOG_DUMP_GTID` of MySQL; MariaDB's replicas say the same with variables and
/// [`BinlogDump`](super::BinlogDump).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogDumpGtid<'a> {
    /// 1: end at the end of the log; 2: through the position; 4: through the GTIDs.
    pub flags: u16,
    /// The replica's server id.
    pub server_id: u32,
    /// The name of a file; empty if the GTIDs say where to start.
    pub file: &'a [u8],
    /// Bytes from the start of the file.
    pub position: u64,
    /// The set in its binary form: servers and their intervals.
    pub gtids: &'a [u8],
}

impl<'a> Codec<'a> for BinlogDumpGtid<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::BinlogDumpGtid)?;
        let flags = reader.u16("dump flags")?;
        let server_id = reader.u32("server id")?;
        let file = long_bytes(reader, "file name")?;
        let position = reader.u64("position")?;
        let gtids = long_bytes(reader, "GTID set")?;
        Ok(Self { flags, server_id, file, position, gtids })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::BinlogDumpGtid as u8);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&self.server_id.to_le_bytes());
        put_long_bytes(out, self.file);
        out.extend_from_slice(&self.position.to_le_bytes());
        put_long_bytes(out, self.gtids);
    }
}

/// Bytes behind their length in four bytes.
fn long_bytes<'a>(reader: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], WireError> {
    let len = reader.u32(field)?;
    reader.bytes(usize::try_from(len).unwrap_or(usize::MAX), field)
}

fn put_long_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend(bytes.iter().take(len as usize));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(flags: u16, server_id: u32, file: Vec<u8>, position: u64, gtids: Vec<u8>) {
            let command = BinlogDumpGtid { flags, server_id, file: &file, position, gtids: &gtids };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(BinlogDumpGtid::decode(&bytes, Capabilities::empty()), Ok(command));
            for len in 0..bytes.len() {
                prop_assert!(BinlogDumpGtid::decode(&bytes[..len], Capabilities::empty()).is_err());
            }
        }
    }
}
