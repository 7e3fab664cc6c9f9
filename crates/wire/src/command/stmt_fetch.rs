//! Asks for rows of a cursor.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Asks for rows of the cursor that an execution opened.
///
/// Source: `COM_STMT_FETCH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtFetch {
    /// The statement's handle.
    pub statement_id: u32,
    /// At most so many rows.
    pub rows: u32,
}

impl Codec<'_> for StmtFetch {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtFetch)?;
        Ok(Self { statement_id: reader.u32("statement id")?, rows: reader.u32("rows")? })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtFetch as u8);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(statement_id: u32, rows: u32) {
            let command = StmtFetch { statement_id, rows };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(StmtFetch::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }
}
