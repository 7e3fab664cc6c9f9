//! Switches multi-statements on or off.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Switches [`Capabilities::MULTI_STATEMENTS`] on or off for the rest of the connection.
///
/// Source: `COM_SET_OPTION`; there are no other options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetOption {
    /// Whether a query may have several statements.
    pub multi_statements: bool,
}

/// `MYSQL_OPTION_MULTI_STATEMENTS_ON`
const ON: u16 = 0;
/// `MYSQL_OPTION_MULTI_STATEMENTS_OFF`
const OFF: u16 = 1;

impl Codec<'_> for SetOption {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::SetOption)?;
        match reader.u16("option")? {
            ON => Ok(Self { multi_statements: true }),
            OFF => Ok(Self { multi_statements: false }),
            other => Err(WireError::Invalid { field: "option", value: other.into() }),
        }
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::SetOption as u8);
        out.extend_from_slice(&if self.multi_statements { ON } else { OFF }.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_options() {
        let caps = Capabilities::empty();
        for (multi_statements, bytes) in [(true, [0x1b, 0, 0]), (false, [0x1b, 1, 0])] {
            let command = SetOption { multi_statements };
            assert_eq!(command.encode(caps), bytes);
            assert_eq!(SetOption::decode(&bytes, caps), Ok(command));
        }
        let error = WireError::Invalid { field: "option", value: 2 };
        assert_eq!(SetOption::decode(&[0x1b, 2, 0], caps), Err(error));
    }
}
