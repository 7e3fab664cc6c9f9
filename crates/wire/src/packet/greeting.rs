//! The first packet of a connection: the server says who it is and what it can do.

use super::expect_header;
use crate::{
    Capabilities, Codec, StatusFlags, WireError,
    codec::{Reader, put_nul_bytes},
};

/// Bytes of the nonce.
const NONCE_LEN: usize = 20;

/// Bytes of it that come before the capabilities.
const FIRST_PART: usize = 8;

/// Bytes of it after them.
const SECOND_PART: usize = NONCE_LEN - FIRST_PART;

/// What the length field says: the nonce and a zero byte.
const NONCE_FIELD_LEN: u8 = 21;

/// The server's greeting.
///
/// Source: `Protocol::HandshakeV10`, and "Initial Handshake Packet" of MariaDB for the last four bytes of the
/// filler, which hold the upper half of the capabilities if [`Capabilities::LONG_PASSWORD`] is not announced.
/// The `caps` argument of [`Codec`] has no meaning here: the packet carries its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version, such as `8.4.3` or `10.11.6-MariaDB`; has no zero byte.
    pub server_version: &'a [u8],
    /// The id of the connection, as in `SHOW PROCESSLIST` and `KILL`.
    pub connection_id: u32,
    /// What the client's login proof is computed with.
    pub nonce: [u8; NONCE_LEN],
    /// What the server can do. Bits above 31 travel only without [`Capabilities::LONG_PASSWORD`].
    pub capabilities: Capabilities,
    /// The server's default collation, if its number is below 256.
    pub collation: u8,
    /// The connection's status.
    pub status: StatusFlags,
    /// The login method that the server would like; travels only with [`Capabilities::PLUGIN_AUTH`], and is
    /// empty without.
    pub auth_plugin: &'a [u8],
}

impl Greeting<'_> {
    /// The first byte: the protocol's version.
    pub const HEADER: u8 = 10;
}

impl<'a> Codec<'a> for Greeting<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "protocol version")?;
        let server_version = reader.nul_bytes("server version")?;
        let connection_id = reader.u32("connection id")?;
        let first: [u8; FIRST_PART] = reader.array("nonce")?;
        reader.u8("filler after nonce")?;
        let lower = reader.u16("capabilities")?;
        let collation = reader.u8("collation")?;
        let status = StatusFlags::from_bits_retain(reader.u16("status")?);
        let upper = reader.u16("upper capabilities")?;
        let nonce_len = reader.u8("nonce length")?;
        // The length is 0 from servers without login methods; the field is never shorter than this one.
        if nonce_len > NONCE_FIELD_LEN {
            return Err(WireError::Invalid { field: "nonce length", value: nonce_len.into() });
        }
        reader.array::<6>("greeting filler")?;
        let extended = reader.u32("extended capabilities")?;
        let second: [u8; SECOND_PART] = reader.array("second part of nonce")?;
        reader.u8("zero byte after nonce")?;
        let capabilities = capabilities(lower, upper, extended);
        let auth_plugin =
            if capabilities.contains(Capabilities::PLUGIN_AUTH) { plugin_name(reader)? } else { &[] };
        let mut nonce = [0; NONCE_LEN];
        for (to, from) in nonce.iter_mut().zip(first.into_iter().chain(second)) {
            *to = from;
        }
        Ok(Self { server_version, connection_id, nonce, capabilities, collation, status, auth_plugin })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        let [c0, c1, c2, c3, extended @ ..] = self.capabilities.bits().to_le_bytes();
        let with_plugin = self.capabilities.contains(Capabilities::PLUGIN_AUTH);
        let (first, second) = self.nonce.split_at(FIRST_PART);
        out.push(Self::HEADER);
        put_nul_bytes(out, self.server_version);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(&[0, c0, c1, self.collation]);
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        out.extend_from_slice(&[c2, c3, if with_plugin { NONCE_FIELD_LEN } else { 0 }]);
        out.extend_from_slice(&[0; 6]);
        if self.capabilities.contains(Capabilities::LONG_PASSWORD) {
            out.extend_from_slice(&[0; 4]);
        } else {
            out.extend_from_slice(&extended);
        }
        out.extend_from_slice(second);
        out.push(0);
        if with_plugin {
            put_nul_bytes(out, self.auth_plugin);
        }
    }
}

/// Puts the three parts together.
fn capabilities(lower: u16, upper: u16, extended: u32) -> Capabilities {
    let bits = u64::from(lower) | u64::from(upper) << 16;
    let capabilities = Capabilities::from_bits_retain(bits);
    if capabilities.contains(Capabilities::LONG_PASSWORD) {
        return capabilities;
    }
    Capabilities::from_bits_retain(bits | u64::from(extended) << 32)
}

/// The last field; the first servers that sent it (MySQL 5.5.7 to 5.5.9) forgot the zero byte behind it.
fn plugin_name<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    match reader.clone().nul_bytes("auth plugin") {
        Ok(_) => reader.nul_bytes("auth plugin"),
        Err(_) => Ok(reader.rest()),
    }
}
