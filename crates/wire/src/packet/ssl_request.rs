//! The short login packet that asks for TLS.

use super::login::Head;
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// The first part of a [`Login`](super::Login), after which the client starts TLS and sends the whole login.
///
/// Source: `Protocol::SSLRequest`. A login of 32 bytes with [`Capabilities::SSL`] is this packet; every real
/// login is longer. In [`Codec`], `caps` is what the server announced, as in the login.
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
