//! The first packet of the answer to `COM_STMT_PREPARE`.

use super::{column_count::flag, expect_header};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// A statement is prepared. Definitions of its parameters and then of its columns follow.
///
/// Source: `COM_STMT_PREPARE_OK`. It starts like an [`Ok`](super::Ok) packet and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's handle on this connection.
    pub statement_id: u32,
    /// Columns of its result.
    pub columns: u16,
    /// Its parameters.
    pub params: u16,
    /// Warnings.
    pub warnings: u16,
    /// Whether the definitions follow. There is such a field only with
    /// [`Capabilities::OPTIONAL_RESULTSET_METADATA`]; then, `None` is written as `true`.
    pub metadata_follows: Option<bool>,
}

impl PrepareOk {
    /// The first byte.
    pub const HEADER: u8 = 0x00;
}

impl<'a> Codec<'a> for PrepareOk {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "prepare header")?;
        let statement_id = reader.u32("statement id")?;
        let columns = reader.u16("statement columns")?;
        let params = reader.u16("statement parameters")?;
        reader.u8("prepare filler")?;
        let warnings = reader.u16("prepare warnings")?;
        let metadata_follows =
            if caps.contains(Capabilities::OPTIONAL_RESULTSET_METADATA) { Some(flag(reader)?) } else { None };
        Ok(Self { statement_id, columns, params, warnings, metadata_follows })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.params.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if caps.contains(Capabilities::OPTIONAL_RESULTSET_METADATA) {
            out.push(u8::from(self.metadata_follows.unwrap_or(true)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(
            (statement_id, columns, params, warnings) in any::<(u32, u16, u16, u16)>(),
            metadata_follows in any::<Option<bool>>(),
        ) {
            let caps = match metadata_follows {
                Some(_) => Capabilities::OPTIONAL_RESULTSET_METADATA,
                None => Capabilities::empty(),
            };
            let packet = PrepareOk { statement_id, columns, params, warnings, metadata_follows };
            let bytes = packet.encode(caps);
            prop_assert_eq!(PrepareOk::decode(&bytes, caps), Ok(packet));
            for len in 0..bytes.len() {
                prop_assert!(PrepareOk::decode(&bytes[..len], caps).is_err());
            }
        }
    }

    #[test]
    fn it_is_what_servers_send() {
        let bytes = [0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let packet =
            PrepareOk { statement_id: 1, columns: 1, params: 2, warnings: 0, metadata_follows: None };
        assert_eq!(packet.encode(Capabilities::empty()), bytes);
        assert_eq!(PrepareOk::decode(&bytes, Capabilities::empty()), Ok(packet));
    }
}
