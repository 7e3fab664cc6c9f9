//! Brings a prepared statement back to its state after the preparation.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Forgets the long data of a prepared statement, and closes its cursor.
///
/// Source: `COM_STMT_RESET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtReset {
    /// The statement's handle.
    pub statement_id: u32,
}

impl Codec<'_> for StmtReset {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtReset)?;
        Ok(Self { statement_id: reader.u32("statement id")? })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtReset as u8);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(statement_id: u32) {
            let command = StmtReset { statement_id };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(StmtReset::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }
}
