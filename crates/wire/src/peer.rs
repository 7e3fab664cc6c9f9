//! Where a client connects from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::proxy_header::{Addresses, ProxyHeader};

/// Where a client connects from. Shown as the host part of an account name.
///
/// For a client behind a proxy that says so in a PROXY header, it is what the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP.
    Tcp(Addresses),
    /// Over a Unix socket.
    Local,
}

impl Peer {
    /// The client's address; `None` for a Unix socket.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            // A client of an IPv6 listener that came by IPv4 is known by its IPv4 address.
            Self::Tcp(addresses) => Some(addresses.source().ip().to_canonical()),
            Self::Local => None,
        }
    }

    /// The client's address and port; `None` for a Unix socket.
    pub const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(addresses) => Some(addresses.source()),
            Self::Local => None,
        }
    }

    /// What servers may be told about the client. Of one without an address, MariaDB wants to hear
    /// nothing at all: it refuses headers of version 2 that have a client of an unspecified family.
    pub const fn header(&self) -> ProxyHeader {
        match self {
            Self::Tcp(addresses) => ProxyHeader::Tcp(*addresses),
            Self::Local => ProxyHeader::Local,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip() {
            Some(ip) => ip.fmt(f),
            None => f.write_str("localhost"),
        }
    }
}
