//! More data of a login method, in the middle of a login.

use super::expect_header;
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Data for the login method in use; the client's method knows what it means, and what to answer.
///
/// Source: `Protocol::AuthMoreData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthMore<'a> {
    /// What the method of the server says to the method of the client.
    pub data: &'a [u8],
}

impl AuthMore<'_> {
    /// The first byte.
    pub const HEADER: u8 = 0x01;
}

impl<'a> Codec<'a> for AuthMore<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "auth more data header")?;
        Ok(Self { data: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(data: Vec<u8>) {
            let packet = AuthMore { data: &data };
            let bytes = packet.encode(Capabilities::empty());
            prop_assert_eq!(AuthMore::decode(&bytes, Capabilities::empty()), Ok(packet));
        }
    }

    #[test]
    fn another_header_is_refused() {
        assert!(AuthMore::decode(&[0x00, 1], Capabilities::empty()).is_err());
        assert!(AuthMore::decode(&[], Capabilities::empty()).is_err());
    }
}
