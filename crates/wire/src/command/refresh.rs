//! Flushes tables, logs and caches.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Flushes tables, logs and caches, as `FLUSH` does.
///
/// Source: `COM_REFRESH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refresh {
    /// What to flush (`REFRESH_*` in `mysql_com.h`).
    pub what: u8,
}

impl Codec<'_> for Refresh {
    fn read(reader: &mut Reader<'_>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::Refresh)?;
        Ok(Self { what: reader.u8("what")? })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::Refresh as u8);
        out.push(self.what);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(what: u8) {
            let command = Refresh { what };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(Refresh::decode(&bytes, Capabilities::empty()), Ok(command));
        }
    }
}
