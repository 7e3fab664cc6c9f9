//! Ends another connection.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Ends another connection, as `KILL` does. Ids above 2^32 cannot be named.
///
/// Source: `COM_PROCESS_KILL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessKill {
    /// The connection's id.
    pub connection_id: u32,
}

impl Codec<'_> for ProcessKill {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::ProcessKill)?;
        Ok(Self { connection_id: reader.u32("connection id")? })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::ProcessKill as u8);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(connection_id: u32) {
            let command = ProcessKill { connection_id };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(ProcessKill::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }

    #[test]
    fn is_five_bytes() {
        let bytes = &[0x0c, 5, 1, 0, 0];
        let command = ProcessKill { connection_id: 261 };
        assert_eq!(ProcessKill::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
