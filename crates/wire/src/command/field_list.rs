//! Lists the columns of a table.

use super::{Kind, expect};
use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_nul_bytes},
};

/// Asks for the definitions of the columns of a table, with their default values.
///
/// Source: `COM_FIELD_LIST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldList<'a> {
    /// The table's name; has no zero byte.
    pub table: &'a [u8],
    /// A pattern as in `LIKE` for the names of columns; empty for all.
    pub wildcard: &'a [u8],
}

impl<'a> Codec<'a> for FieldList<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::FieldList)?;
        Ok(Self { table: reader.nul_bytes("table")?, wildcard: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::FieldList as u8);
        put_nul_bytes(out, self.table);
        out.extend_from_slice(self.wildcard);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(table in "[^\0]*", wildcard: Vec<u8>) {
            let command = FieldList { table: table.as_bytes(), wildcard: &wildcard };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(FieldList::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn the_pattern_is_the_rest() {
        let bytes = b"\x04users\0a%";
        let command = FieldList { table: b"users", wildcard: b"a%" };
        assert_eq!(FieldList::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
