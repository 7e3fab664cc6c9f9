//! Prepares a statement.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Prepares a statement.
///
/// Source: `COM_STMT_PREPARE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtPrepare<'a> {
    /// The statement's text, with `?` for parameters.
    pub text: &'a [u8],
}

impl<'a> Codec<'a> for StmtPrepare<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtPrepare)?;
        Ok(Self { text: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtPrepare as u8);
        out.extend_from_slice(self.text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(text: Vec<u8>) {
            let command = StmtPrepare { text: &text };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(StmtPrepare::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn the_text_is_the_rest() {
        let bytes = b"\x16SELECT ?";
        let command = StmtPrepare { text: b"SELECT ?" };
        assert_eq!(StmtPrepare::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
