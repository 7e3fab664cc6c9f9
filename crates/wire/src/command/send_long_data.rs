//! Sends a part of a parameter.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Appends to the value of a parameter, before the execution. There is no answer: an error shows in
/// the execution's.
///
/// Source: `COM_STMT_SEND_LONG_DATA`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLongData<'a> {
    /// The statement's handle.
    pub statement_id: u32,
    /// The parameter's number, from 0.
    pub param: u16,
    /// A part of its value.
    pub data: &'a [u8],
}

impl<'a> Codec<'a> for SendLongData<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::SendLongData)?;
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            param: reader.u16("param")?,
            data: reader.rest(),
        })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::SendLongData as u8);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.param.to_le_bytes());
        out.extend_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(statement_id: u32, param: u16, data: Vec<u8>) {
            let command = SendLongData { statement_id, param, data: &data };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(SendLongData::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn the_data_is_the_rest() {
        let bytes = b"\x18\x01\0\0\0\x02\0abc";
        let command = SendLongData { statement_id: 1, param: 2, data: b"abc" };
        assert_eq!(SendLongData::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
