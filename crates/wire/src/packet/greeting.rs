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
/// Source: `Protocol::HandshakeV10`, and "Initial Handshake Packet" of MariaDB for the last four
/// bytes of the filler, which hold the upper half of the capabilities if
/// [`Capabilities::LONG_PASSWORD`] is not announced. The `caps` argument of [`Codec`] has no
/// meaning here: the packet carries its own.
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
    /// The login method that the server would like; travels only with
    /// [`Capabilities::PLUGIN_AUTH`], and is empty without.
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
        // The length is 0 from servers without login methods; the field is never shorter than this
        // one.
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

/// The last field; the first servers that sent it (MySQL 5.5.7 to 5.5.9) forgot the zero byte
/// behind it.
fn plugin_name<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    match reader.clone().nul_bytes("auth plugin") {
        Ok(_) => reader.nul_bytes("auth plugin"),
        Err(_) => Ok(reader.rest()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What MySQL 8.0.18 sent.
    const MYSQL_8: &[u8] =
        b"\n8.0.18\0\x19\0\0\0\x114aB0c\x06g\0\xff\xff\xff\x02\0\xff\xc7\x15\0\0\0\0\0\0\0\0\0\0\
        tL\x03s\x0f[4\rl4. \0caching_sha2_password\0";

    /// What MariaDB 10.11.19 of Debian 12 sent.
    const MARIADB_10_11: &[u8] =
        b"\n5.5.5-10.11.19-MariaDB-0+deb12u1\0\x03\0\0\0)[o=\"2rk\0\xfe\xf7\x08\x02\0\
        \xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0AAcO@4$T[KIh\0mysql_native_password\0";

    fn decode(bytes: &[u8]) -> Result<Greeting<'_>, WireError> {
        Greeting::decode(bytes, Capabilities::empty())
    }

    proptest! {
        #[test]
        fn round_trips(
            version in "[^\0]*",
            connection_id: u32,
            nonce: [u8; 20],
            bits: u64,
            collation: u8,
            status: u16,
            plugin in "[^\0]*",
        ) {
            let mut capabilities = Capabilities::from_bits_retain(bits);
            if capabilities.contains(Capabilities::LONG_PASSWORD) {
                capabilities &= Capabilities::from_bits_retain(u32::MAX.into());
            }
            let with_plugin = capabilities.contains(Capabilities::PLUGIN_AUTH);
            let greeting = Greeting {
                server_version: version.as_bytes(),
                connection_id,
                nonce,
                capabilities,
                collation,
                status: StatusFlags::from_bits_retain(status),
                auth_plugin: if with_plugin { plugin.as_bytes() } else { b"" },
            };
            let bytes = greeting.encode(Capabilities::empty());
            prop_assert_eq!(decode(&bytes), Ok(greeting));
        }
    }

    #[test]
    fn mysql_8_is_read_and_written() {
        let greeting = decode(MYSQL_8).unwrap();
        assert_eq!(greeting.server_version, b"8.0.18");
        assert_eq!(greeting.connection_id, 25);
        assert_eq!(&greeting.nonce, b"\x114aB0c\x06gtL\x03s\x0f[4\rl4. ");
        assert_eq!(greeting.capabilities.bits(), 0xc7ff_ffff);
        assert_eq!(greeting.collation, 255);
        assert_eq!(greeting.status, StatusFlags::AUTOCOMMIT);
        assert_eq!(greeting.auth_plugin, b"caching_sha2_password");
        assert_eq!(greeting.encode(Capabilities::empty()), MYSQL_8);
    }

    #[test]
    fn mariadb_announces_its_own_capabilities_in_the_filler() {
        let greeting = decode(MARIADB_10_11).unwrap();
        assert_eq!(greeting.server_version, b"5.5.5-10.11.19-MariaDB-0+deb12u1");
        assert_eq!(greeting.connection_id, 3);
        assert_eq!(&greeting.nonce, b")[o=\"2rkAAcO@4$T[KIh");
        assert_eq!(greeting.collation, 8);
        assert_eq!(greeting.auth_plugin, b"mysql_native_password");
        assert_eq!(
            greeting.capabilities & Capabilities::from_bits_retain(!u64::from(u32::MAX)),
            Capabilities::MARIADB_PROGRESS
                | Capabilities::MARIADB_STMT_BULK_OPERATIONS
                | Capabilities::MARIADB_EXTENDED_METADATA
                | Capabilities::MARIADB_CACHE_METADATA,
        );
        assert!(!greeting.capabilities.contains(Capabilities::LONG_PASSWORD));
        assert_eq!(greeting.encode(Capabilities::empty()), MARIADB_10_11);
    }

    #[test]
    fn c27_every_truncated_greeting_is_refused() {
        for golden in [MYSQL_8, MARIADB_10_11] {
            // The zero byte at the very end is the one that old servers forgot; then the name may
            // be short too.
            let name = golden.iter().rev().skip(1).position(|&byte| byte == 0).unwrap() + 1;
            for len in 0..golden.len() - name {
                assert!(decode(&golden[..len]).is_err(), "{len} bytes");
            }
        }
    }

    #[test]
    fn the_forgotten_zero_byte_behind_the_plugin_is_forgiven() {
        let greeting = decode(&MYSQL_8[..MYSQL_8.len() - 1]).unwrap();
        assert_eq!(greeting.auth_plugin, b"caching_sha2_password");
    }

    #[test]
    fn another_protocol_is_refused() {
        let mut bytes = MYSQL_8.to_vec();
        bytes[0] = 9;
        assert_eq!(decode(&bytes), Err(WireError::Invalid { field: "protocol version", value: 9 }));
    }

    #[test]
    fn a_longer_nonce_is_refused() {
        let mut bytes = MYSQL_8.to_vec();
        let at = bytes.iter().position(|&byte| byte == 21).unwrap();
        bytes[at] = 22;
        assert_eq!(decode(&bytes), Err(WireError::Invalid { field: "nonce length", value: 22 }));
    }
}
