//! MariaDB: runs a prepared statement with many sets of parameters.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Runs a prepared statement once per set of parameters.
///
/// Source: `COM_STMT_BULK_EXECUTE` of MariaDB. Only with
/// [`Capabilities::MARIADB_STMT_BULK_OPERATIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtBulkExecute<'a> {
    /// The statement's handle, or `0xffffffff` for the one prepared last.
    pub statement_id: u32,
    /// [`UNIT_RESULTS`](Self::UNIT_RESULTS) and [`TYPES`](Self::TYPES).
    pub flags: u16,
    /// Types, if the flag says so, and the sets: per parameter an indicator and a value.
    pub raw_params: &'a [u8],
}

impl StmtBulkExecute<'_> {
    /// The answer has a result per set (`STMT_BULK_FLAG_SEND_UNIT_RESULTS`).
    pub const UNIT_RESULTS: u16 = 64;
    /// Types come along (`STMT_BULK_FLAG_CLIENT_SEND_TYPES`).
    pub const TYPES: u16 = 128;
}

impl<'a> Codec<'a> for StmtBulkExecute<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtBulkExecute)?;
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            flags: reader.u16("bulk flags")?,
            raw_params: reader.rest(),
        })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtBulkExecute as u8);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(self.raw_params);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(statement_id: u32, flags: u16, raw_params: Vec<u8>) {
            let command = StmtBulkExecute { statement_id, flags, raw_params: &raw_params };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(StmtBulkExecute::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }
}
