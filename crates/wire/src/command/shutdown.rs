//! Stops the server.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Stops the server, as `SHUTDOWN` does.
///
/// Source: `COM_SHUTDOWN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// What to wait for, which no server of today looks at. Clients may leave it out.
    pub level: Option<u8>,
}

impl Codec<'_> for Shutdown {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::Shutdown)?;
        let level = if reader.is_empty() { None } else { Some(reader.u8("shutdown level")?) };
        Ok(Self { level })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::Shutdown as u8);
        out.extend(self.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_may_be_missing() {
        let caps = Capabilities::empty();
        for (level, bytes) in [(None, &[0x08][..]), (Some(16), &[0x08, 16])] {
            assert_eq!(Shutdown { level }.encode(caps), bytes);
            assert_eq!(Shutdown::decode(bytes, caps), Ok(Shutdown { level }));
        }
    }
}
