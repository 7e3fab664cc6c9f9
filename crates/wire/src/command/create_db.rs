//! Once created a schema.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Creates a schema. Servers of today refuse it.
///
/// Source: `COM_CREATE_DB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateDb<'a> {
    /// The schema's name.
    pub schema: &'a [u8],
}

impl<'a> Codec<'a> for CreateDb<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::CreateDb)?;
        Ok(Self { schema: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::CreateDb as u8);
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
            let command = CreateDb { schema: &schema };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(CreateDb::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }
}
