//! Forgets a prepared statement.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Forgets a prepared statement. There is no answer.
///
/// Source: `COM_STMT_CLOSE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtClose {
    /// The statement's handle.
    pub statement_id: u32,
}

impl Codec<'_> for StmtClose {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtClose)?;
        Ok(Self { statement_id: reader.u32("statement id")? })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtClose as u8);
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
            let command = StmtClose { statement_id };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(StmtClose::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn is_five_bytes() {
        let bytes = &[0x19, 1, 0, 0, 0];
        let command = StmtClose { statement_id: 1 };
        assert_eq!(StmtClose::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
