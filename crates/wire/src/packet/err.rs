//! The server refuses something.

use super::expect_header;
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// An error: the answer to a command, the end of a result, or the end of a login.
///
/// Source: `Protocol::ERR_Packet`. The SQL state belongs to [`Capabilities::PROTOCOL_41`], and a
/// server that does not know the client's capabilities yet (in the first packet of a connection)
/// leaves it out. So a reader that passes that flag gets the SQL state if it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Err<'a> {
    /// The error's number (`ER_*`).
    pub code: u16,
    /// Its SQL state; not written without [`Capabilities::PROTOCOL_41`].
    pub sql_state: Option<[u8; 5]>,
    /// Its text. Without a SQL state it must not look like one, that is, not start with `#` and
    /// five bytes.
    pub message: &'a [u8],
}

impl Err<'_> {
    /// The first byte.
    pub const HEADER: u8 = 0xff;
}

/// Comes before the SQL state.
const STATE_MARKER: u8 = b'#';

impl<'a> Codec<'a> for Err<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "ERR header")?;
        let code = reader.u16("ERR code")?;
        let rest = reader.rest();
        let (sql_state, message) = match rest.split_first_chunk::<6>() {
            Some((&[STATE_MARKER, state @ ..], message)) if caps.contains(Capabilities::PROTOCOL_41) => {
                (Some(state), message)
            }
            _ => (None, rest),
        };
        Ok(Self { code, sql_state, message })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(&self.code.to_le_bytes());
        if let Some(state) = self.sql_state
            && caps.contains(Capabilities::PROTOCOL_41)
        {
            out.push(STATE_MARKER);
            out.extend_from_slice(&state);
        }
        out.extend_from_slice(self.message);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPS: Capabilities = Capabilities::PROTOCOL_41;

    proptest! {
        #[test]
        fn round_trips(code: u16, sql_state: Option<[u8; 5]>, message in "[^#].*|") {
            let packet = Err { code, sql_state, message: message.as_bytes() };
            let bytes = packet.encode(CAPS);
            prop_assert_eq!(Err::decode(&bytes, CAPS), Ok(packet));
        }
    }

    #[test]
    fn it_is_what_servers_send() {
        let bytes = b"\xff\x15\x04#28000Access denied";
        let packet = Err { code: 1045, sql_state: Some(*b"28000"), message: b"Access denied" };
        assert_eq!(packet.encode(CAPS), bytes);
        assert_eq!(Err::decode(bytes, CAPS), Ok(packet));
    }

    #[test]
    fn before_the_login_there_is_no_state() {
        let bytes = b"\xff\x10\x04Too many connections";
        let packet = Err { code: 1040, sql_state: None, message: b"Too many connections" };
        assert_eq!(Err::decode(bytes, CAPS), Ok(packet));
        let with_state = Err { sql_state: Some(*b"08004"), ..packet };
        assert_eq!(with_state.encode(Capabilities::empty()), bytes);
    }

    #[test]
    fn a_short_message_with_a_number_sign_is_no_state() {
        assert_eq!(Err::decode(b"\xff\x10\x04#0800", CAPS).unwrap().message, b"#0800");
    }
}
