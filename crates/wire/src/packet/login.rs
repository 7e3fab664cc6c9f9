//! The client's login, the answer to the greeting.

use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_lenenc_bytes, put_nul_bytes},
};

/// The client's login.
///
/// Source: `Protocol::HandshakeResponse41`, and "Handshake Response Packet" of MariaDB for the
/// upper half of the capabilities. In [`Codec`], `caps` is what the server announced: as in
/// servers, only what both sides have decides which fields there are, and
/// [`capabilities`](Self::capabilities) holds just that.
///
/// Bytes after the last field are ignored when reading, because servers ignore them, and clients
/// add fields for capabilities that they know and this server does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// What both sides can do. When writing, the flags of the four optional fields follow from the
    /// fields.
    pub capabilities: Capabilities,
    /// Bytes of the longest message that the client wants to see.
    pub max_packet: u32,
    /// The client's collation, whose character set its statements are in.
    pub collation: u8,
    /// The user; has no zero byte.
    pub username: &'a [u8],
    /// The proof of the client's login method, computed with the greeting's nonce.
    ///
    /// Without [`Capabilities::PLUGIN_AUTH_LENENC`] it is written up to 255 bytes.
    pub auth_answer: &'a [u8],
    /// The schema to start in ([`Capabilities::CONNECT_WITH_DB`]).
    pub schema: Option<&'a [u8]>,
    /// The login method that made the answer ([`Capabilities::PLUGIN_AUTH`]).
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes: length-encoded names and values in turn
    /// ([`Capabilities::CONNECT_ATTRS`]).
    pub attributes: Option<&'a [u8]>,
    /// The compression level that the client asks for ([`Capabilities::ZSTD_COMPRESSION`]).
    pub zstd_level: Option<u8>,
}

/// Bytes of filler between the collation and MariaDB's extended capabilities.
const FILLER: usize = 19;

/// The first fields of [`Login`] and [`SslRequest`](super::SslRequest), 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) capabilities: Capabilities,
    pub(super) max_packet: u32,
    pub(super) collation: u8,
}

impl Head {
    /// Reads the head; `announced` are the server's capabilities.
    pub(super) fn read(reader: &mut Reader<'_>, announced: Capabilities) -> Result<Self, WireError> {
        let lower = u64::from(reader.u32("client capabilities")?);
        let client = Capabilities::from_bits_retain(lower);
        if !client.contains(Capabilities::PROTOCOL_41) {
            return Err(WireError::Invalid { field: "client capabilities", value: lower });
        }
        let max_packet = reader.u32("max packet")?;
        let collation = reader.u8("collation")?;
        reader.array::<FILLER>("login filler")?;
        let upper = u64::from(reader.u32("extended client capabilities")?);
        let client = if client.contains(Capabilities::LONG_PASSWORD) {
            client
        } else {
            Capabilities::from_bits_retain(lower | upper << 32)
        };
        Ok(Self { capabilities: client & announced, max_packet, collation })
    }

    /// Appends the head with the capabilities as they are, but for the upper half next to
    /// `LONG_PASSWORD`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let [c0, c1, c2, c3, extended @ ..] = self.capabilities.bits().to_le_bytes();
        out.extend_from_slice(&[c0, c1, c2, c3]);
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; FILLER]);
        if self.capabilities.contains(Capabilities::LONG_PASSWORD) {
            out.extend_from_slice(&[0; 4]);
        } else {
            out.extend_from_slice(&extended);
        }
    }
}

impl Login<'_> {
    /// The flags to write: those of the optional fields follow from the fields, all within
    /// `announced`.
    fn flags(&self, announced: Capabilities) -> Capabilities {
        let mut flags = self.capabilities | Capabilities::PROTOCOL_41;
        flags.set(Capabilities::CONNECT_WITH_DB, self.schema.is_some());
        flags.set(Capabilities::PLUGIN_AUTH, self.auth_plugin.is_some());
        flags.set(Capabilities::CONNECT_ATTRS, self.attributes.is_some());
        flags.set(Capabilities::ZSTD_COMPRESSION, self.zstd_level.is_some());
        flags & (announced | Capabilities::PROTOCOL_41)
    }
}

impl<'a> Codec<'a> for Login<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        let Head { capabilities, max_packet, collation } = Head::read(reader, caps)?;
        let username = reader.nul_bytes("user name")?;
        let auth_answer = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC) {
            reader.lenenc_bytes("auth answer")?
        } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let len = reader.u8("auth answer length")?;
            reader.bytes(len.into(), "auth answer")?
        } else {
            reader.nul_bytes("auth answer")?
        };
        let schema = if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            Some(reader.nul_bytes("schema")?)
        } else {
            None
        };
        let auth_plugin = capabilities.contains(Capabilities::PLUGIN_AUTH).then(|| plugin_name(reader));
        let attributes = if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            Some(reader.lenenc_bytes("connection attributes")?)
        } else {
            None
        };
        let zstd_level = if capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            Some(reader.u8("zstd level")?)
        } else {
            None
        };
        reader.rest();
        Ok(Self {
            capabilities,
            max_packet,
            collation,
            username,
            auth_answer,
            schema,
            auth_plugin,
            attributes,
            zstd_level,
        })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        let capabilities = self.flags(caps);
        Head { capabilities, max_packet: self.max_packet, collation: self.collation }.write(out);
        put_nul_bytes(out, self.username);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC) {
            put_lenenc_bytes(out, self.auth_answer);
        } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let len = u8::try_from(self.auth_answer.len()).unwrap_or(u8::MAX);
            out.push(len);
            out.extend(self.auth_answer.iter().take(len.into()));
        } else {
            put_nul_bytes(out, self.auth_answer);
        }
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(out, self.schema.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(out, self.auth_plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(out, self.attributes.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            out.push(self.zstd_level.unwrap_or_default());
        }
    }
}

/// The method's name. Servers take a missing one for an empty one, and one without its zero byte as
/// it is.
fn plugin_name<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    match reader.clone().nul_bytes("auth plugin") {
        Ok(name) => {
            // Cannot fail: the name was there a line above.
            let _ = reader.nul_bytes("auth plugin");
            name
        }
        Err(_) => reader.rest(),
    }
}

#[cfg(test)]
mod tests;
