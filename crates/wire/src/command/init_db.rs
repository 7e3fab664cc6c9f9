//! Changes the current schema.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Changes the current schema, as `USE` does.
///
/// Source: `COM_INIT_DB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitDb<'a> {
    /// The schema's name.
    pub schema: &'a [u8],
}

impl<'a> Codec<'a> for InitDb<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::InitDb)?;
        Ok(Self { schema: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::InitDb as u8);
        out.extend_from_slice(self.schema);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(schema: Vec<u8>) {
            let command = InitDb { schema: &schema };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(InitDb::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn the_name_has_no_end_mark() {
        let bytes = b"\x02sbtest";
        let command = InitDb { schema: b"sbtest" };
        assert_eq!(InitDb::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
