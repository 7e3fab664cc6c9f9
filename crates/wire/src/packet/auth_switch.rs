//! The server asks the client to log in with another method.

use super::expect_header;
use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_nul_bytes},
};

/// The name of another login method, and its first data.
///
/// Source: `Protocol::AuthSwitchRequest`. The one-byte form without a name
/// (`Protocol::OldAuthSwitchRequest`) asks for the method of MySQL 4.0; it is no such packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    /// The method's name.
    pub plugin: &'a [u8],
    /// Its first data: for most methods a nonce of 20 bytes and a zero byte. MariaDB's newer
    /// methods have 32 random bytes, of which the last may be zero, too.
    pub data: &'a [u8],
}

impl AuthSwitch<'_> {
    /// The first byte.
    pub const HEADER: u8 = 0xfe;
}

impl<'a> Codec<'a> for AuthSwitch<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "auth switch header")?;
        let plugin = reader.nul_bytes("auth switch plugin")?;
        Ok(Self { plugin, data: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        put_nul_bytes(out, self.plugin);
        out.extend_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(plugin in "[^\0]*", data: Vec<u8>) {
            let packet = AuthSwitch { plugin: plugin.as_bytes(), data: &data };
            let bytes = packet.encode(Capabilities::empty());
            prop_assert_eq!(AuthSwitch::decode(&bytes, Capabilities::empty()), Ok(packet));
        }
    }

    #[test]
    fn data_may_be_missing() {
        let packet = AuthSwitch::decode(b"\xfemysql_clear_password\0", Capabilities::empty()).unwrap();
        assert_eq!(packet, AuthSwitch { plugin: b"mysql_clear_password", data: b"" });
    }

    #[test]
    fn random_data_may_end_with_a_zero_byte() {
        let packet = AuthSwitch::decode(b"\xfeparsec\0\x01\0\0", Capabilities::empty()).unwrap();
        assert_eq!(packet.data, &[1, 0, 0]);
    }

    #[test]
    fn the_form_without_a_name_is_none() {
        assert!(AuthSwitch::decode(&[0xfe], Capabilities::empty()).is_err());
    }
}
