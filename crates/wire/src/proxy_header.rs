//! The header of the PROXY protocol: the address of a client, told by the proxy in front of it.
//!
//! It is the first thing on a connection, before either side speaks MySQL. Version 1 is a line of
//! text, version 2 is binary; both are read from any beginning of a stream, and written, here.
//! Layouts and limits come from `doc/proxy-protocol.txt` of HAProxy.

mod v1;
mod v2;

use std::net::{IpAddr, SocketAddr};

/// Bytes of the longest header of version 1, with its CRLF.
pub const V1_LEN_MAX: usize = 107;

/// Bytes of the longest header of version 2 that is read. The protocol allows 64 KiB; addresses
/// take 232 bytes at most, and what proxies add (names of certificates, ids of connections) stays
/// far below the rest of this.
pub const V2_LEN_MAX: usize = 4096;

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// The sender speaks for itself (a health check, say): `LOCAL` of version 2. Version 1 has no
    /// word for it and is written as [`Unknown`](Self::Unknown).
    Local,
    /// There is a client, and no TCP address of it: `UNKNOWN` of version 1; Unix sockets, datagrams
    /// and unspecified families of version 2.
    Unknown,
    /// The ends of the client's connection.
    Tcp(Addresses),
}

/// Both ends of a TCP connection, in one address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    source: SocketAddr,
    destination: SocketAddr,
}

/// The versions of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// What the beginning of a stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A header may begin here, and at least this many bytes of it are missing (never 0). A reader
    /// that takes no more than that leaves what stands behind the header.
    More(usize),
    /// Something else than a header.
    Absent,
    /// A header.
    Complete {
        /// What it says.
        header: ProxyHeader,
        /// Its bytes.
        len: usize,
    },
}

/// A header that begins as one and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Version 1: no CRLF where the longest line ends.
    #[error("a PROXY line of more than {V1_LEN_MAX} bytes")]
    LineTooLong,
    /// Version 1: a part of the line is not what stands at its place.
    #[error("a PROXY line with a wrong {0}")]
    Line(&'static str),
    /// Version 2: a version, command, family or transport that is not defined.
    #[error("a PROXY header with an undefined {field}: {value:#x}")]
    Undefined {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u8,
    },
    /// Version 2: more bytes than are read.
    #[error("a PROXY header of {0} bytes, at most {V2_LEN_MAX} are read")]
    TooLong(usize),
    /// Version 2: the addresses of its family do not fit into the announced length.
    #[error("a PROXY header with {len} bytes for addresses that take {needed}")]
    TooShort {
        /// Bytes that the header announces.
        len: u16,
        /// Bytes that the addresses take.
        needed: u16,
    },
}

/// Looks for a header at the beginning of `input`, the bytes that have come so far.
pub fn parse(input: &[u8]) -> Result<Parsed, HeaderError> {
    if input.is_empty() {
        return Ok(Parsed::More(v1::LEN_MIN.min(v2::LEN_MIN)));
    }
    if begins_like(input, v1::SIGNATURE) {
        return v1::parse(input);
    }
    if begins_like(input, v2::SIGNATURE) {
        return v2::parse(input);
    }
    Ok(Parsed::Absent)
}

/// Whether `input` begins with `signature`, as far as both go.
fn begins_like(input: &[u8], signature: &[u8]) -> bool {
    input.iter().zip(signature).all(|(byte, expected)| byte == expected)
}

impl ProxyHeader {
    /// Appends the header to `out`.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) {
        match version {
            Version::V1 => v1::write(self, out),
            Version::V2 => v2::write(self, out),
        }
    }
}

impl Addresses {
    /// The ends of a connection from `source` to `destination`. IPv4 addresses in IPv6 clothes are
    /// undressed where both are; where only one is an IPv4 address, it is dressed, since a header
    /// has one family. Zones and flow labels of IPv6, which headers do not hold, are dropped.
    pub fn new(source: SocketAddr, destination: SocketAddr) -> Self {
        let (from, to) = match (source.ip().to_canonical(), destination.ip().to_canonical()) {
            (IpAddr::V4(from), IpAddr::V6(to)) => (from.to_ipv6_mapped().into(), to.into()),
            (IpAddr::V6(from), IpAddr::V4(to)) => (from.into(), to.to_ipv6_mapped().into()),
            same => same,
        };
        Self {
            source: SocketAddr::new(from, source.port()),
            destination: SocketAddr::new(to, destination.port()),
        }
    }

    /// The client's end.
    pub const fn source(&self) -> SocketAddr {
        self.source
    }

    /// The end that the client has connected to.
    pub const fn destination(&self) -> SocketAddr {
        self.destination
    }
}

#[cfg(test)]
mod tests;
