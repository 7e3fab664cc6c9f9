//! The short login packet that asks for TLS.

use super::login::Head;
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// The first part of a [`Login`](super::Login), after which the client starts TLS and sends the
/// whole login.
///
/// Source: `Protocol::SSLRequest`. A login of 32 bytes with [`Capabilities::SSL`] is this packet;
/// every real login is longer. In [`Codec`], `caps` is what the server announced, as in the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    /// What both sides can do.
    pub capabilities: Capabilities,
    /// Bytes of the longest message that the client wants to see.
    pub max_packet: u32,
    /// The client's collation.
    pub collation: u8,
}

impl SslRequest {
    /// Bytes of the packet.
    pub const LEN: usize = 32;
}

impl<'a> Codec<'a> for SslRequest {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        let Head { capabilities, max_packet, collation } = Head::read(reader, caps)?;
        if !capabilities.contains(Capabilities::SSL) {
            return Err(WireError::Unexpected { expected: "a TLS request", got: "a login" });
        }
        Ok(Self { capabilities, max_packet, collation })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        let flags = Capabilities::SSL | Capabilities::PROTOCOL_41;
        let capabilities = (self.capabilities & caps) | flags;
        Head { capabilities, max_packet: self.max_packet, collation: self.collation }.write(out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(client: u64, server: u64, max_packet: u32, collation: u8) {
            let needed = Capabilities::PROTOCOL_41 | Capabilities::SSL;
            let announced = Capabilities::from_bits_retain(server) | needed;
            let mut capabilities = (Capabilities::from_bits_retain(client) & announced) | needed;
            if capabilities.contains(Capabilities::LONG_PASSWORD) {
                capabilities &= Capabilities::from_bits_retain(u32::MAX.into());
            }
            let packet = SslRequest { capabilities, max_packet, collation };
            let bytes = packet.encode(announced);
            prop_assert_eq!(bytes.len(), SslRequest::LEN);
            prop_assert_eq!(SslRequest::decode(&bytes, announced), Ok(packet));
        }
    }

    #[test]
    fn c27_truncated_and_longer_requests_are_refused() {
        let caps = Capabilities::all();
        let packet = SslRequest { capabilities: Capabilities::empty(), max_packet: 1 << 24, collation: 45 };
        let mut bytes = packet.encode(caps);
        for len in 0..bytes.len() {
            assert!(SslRequest::decode(&bytes[..len], caps).is_err(), "{len} bytes");
        }
        bytes.push(0);
        assert_eq!(SslRequest::decode(&bytes, caps), Err(WireError::TrailingBytes(1)));
    }

    #[test]
    fn a_login_without_tls_is_no_request() {
        let packet = SslRequest { capabilities: Capabilities::empty(), max_packet: 1 << 24, collation: 45 };
        let bytes = packet.encode(Capabilities::all());
        assert!(SslRequest::decode(&bytes, Capabilities::all() - Capabilities::SSL).is_err());
    }
}
