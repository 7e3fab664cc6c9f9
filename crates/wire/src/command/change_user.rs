//! Logs in anew, on the same connection.

use super::{Kind, expect};
use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_lenenc_bytes, put_nul_bytes},
};

/// The login of the same or another user, without a new greeting: the proof is made with the nonce
/// of the first one.
///
/// What is behind the last field is ignored, as servers do.
///
/// Source: `COM_CHANGE_USER`. Clients leave out fields at the end; the last two need a capability
/// each, and every field needs the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user; has no zero byte.
    pub username: &'a [u8],
    /// The proof of the client's login method, at most 255 bytes.
    pub auth_answer: &'a [u8],
    /// The schema to start in; empty for none.
    pub schema: &'a [u8],
    /// The client's collation.
    pub collation: Option<u16>,
    /// The login method that made the answer ([`Capabilities::PLUGIN_AUTH`]).
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes: length-encoded names and values in turn
    /// ([`Capabilities::CONNECT_ATTRS`]).
    pub attributes: Option<&'a [u8]>,
}

impl<'a> Codec<'a> for ChangeUser<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::ChangeUser)?;
        let username = reader.nul_bytes("user name")?;
        let auth_answer = if caps.contains(Capabilities::SECURE_CONNECTION) {
            let len = reader.u8("auth answer length")?;
            reader.bytes(len.into(), "auth answer")?
        } else {
            reader.nul_bytes("auth answer")?
        };
        let schema = reader.nul_bytes("schema")?;
        let collation = if reader.is_empty() { None } else { Some(reader.u16("collation")?) };
        let auth_plugin = if caps.contains(Capabilities::PLUGIN_AUTH) && !reader.is_empty() {
            Some(reader.nul_bytes("auth plugin")?)
        } else {
            None
        };
        let attributes = if caps.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            Some(reader.lenenc_bytes("connection attributes")?)
        } else {
            None
        };
        // Some drivers send attributes although these were not agreed on; servers ignore the rest.
        reader.rest();
        Ok(Self { username, auth_answer, schema, collation, auth_plugin, attributes })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::ChangeUser as u8);
        put_nul_bytes(out, self.username);
        if caps.contains(Capabilities::SECURE_CONNECTION) {
            let len = u8::try_from(self.auth_answer.len()).unwrap_or(u8::MAX);
            out.push(len);
            out.extend(self.auth_answer.iter().take(len.into()));
        } else {
            put_nul_bytes(out, self.auth_answer);
        }
        put_nul_bytes(out, self.schema);
        let Some(collation) = self.collation else { return };
        out.extend_from_slice(&collation.to_le_bytes());
        if caps.contains(Capabilities::PLUGIN_AUTH) {
            let Some(plugin) = self.auth_plugin else { return };
            put_nul_bytes(out, plugin);
        }
        if caps.contains(Capabilities::CONNECT_ATTRS) {
            let Some(attributes) = self.attributes else { return };
            put_lenenc_bytes(out, attributes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPS: Capabilities =
        Capabilities::SECURE_CONNECTION.union(Capabilities::PLUGIN_AUTH).union(Capabilities::CONNECT_ATTRS);

    proptest! {
        #[test]
        fn round_trips(
            username in "[^\0]{0,20}", answer in prop::collection::vec(any::<u8>(), 0..256),
            schema in "[^\0]{0,20}", collation: u16, plugin in "[^\0]{0,20}", attributes: Vec<u8>,
            fields in 0..4_usize, secure: bool,
        ) {
            let caps = if secure { CAPS } else { CAPS - Capabilities::SECURE_CONNECTION };
            let answer: Vec<u8> = answer.into_iter().filter(|&byte| secure || byte != 0).collect();
            let command = ChangeUser {
                username: username.as_bytes(),
                auth_answer: &answer,
                schema: schema.as_bytes(),
                collation: (fields > 0).then_some(collation),
                auth_plugin: (fields > 1).then_some(plugin.as_bytes()),
                attributes: (fields > 2).then_some(&attributes),
            };
            let bytes = command.encode(caps);
            prop_assert_eq!(ChangeUser::decode(&bytes, caps), Ok(command));
        }
    }

    #[test]
    fn fields_need_their_capability() {
        let caps = CAPS - Capabilities::PLUGIN_AUTH;
        let command = ChangeUser {
            username: b"u",
            auth_answer: b"",
            schema: b"",
            collation: Some(45),
            auth_plugin: None,
            attributes: Some(b"\x01a\x01b"),
        };
        assert_eq!(command.encode(caps), b"\x11u\0\0\0\x2d\0\x04\x01a\x01b");
        assert_eq!(ChangeUser::decode(&command.encode(caps), caps), Ok(command));
    }

    #[test]
    fn what_is_behind_the_last_field_is_ignored() {
        let caps = CAPS - Capabilities::CONNECT_ATTRS;
        let command = b"\x11user\0\x03abcschema\0\x2d\0plugin\0";
        let known = ChangeUser::decode(command, caps);
        assert!(known.is_ok());
        for rest in [&b"\0"[..], b"\0\0", b"rest"] {
            assert_eq!(ChangeUser::decode(&[command, rest].concat(), caps), known);
        }
    }

    #[test]
    fn c27_a_truncated_change_of_user_is_refused() {
        let whole = b"\x11user\0\x03abcschema\0\x2d\0plugin\0\x04\x01a\x01b";
        assert!(ChangeUser::decode(whole, CAPS).is_ok());
        // What is left without the last field or two is whole as well.
        let fields = [whole.len() - 5, whole.len() - 12, whole.len() - 14];
        for len in (0..whole.len()).filter(|len| !fields.contains(len)) {
            assert!(ChangeUser::decode(&whole[..len], CAPS).is_err(), "{len}");
        }
    }
}
