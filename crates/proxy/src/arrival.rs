//! A client that has connected, on its way from the listener's thread to its worker.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

use config::Protocol;

use crate::shared::Slot;
use crate::sock::Sock;

/// A fresh connection and what its listener knows about it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    pub(crate) protocol: Protocol,
    /// Where a layer-4 listener sends its clients.
    pub(crate) hostgroup: u32,
    /// The client's place among `mysql-max_connections`.
    pub(crate) slot: Slot,
}

/// A connected socket that is registered nowhere yet.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "memory")]
    Memory(crate::memory::End),
}

impl Stream {
    /// The socket, registered with the runtime of the calling thread.
    pub(crate) fn into_sock(self) -> io::Result<Sock> {
        match self {
            Self::Tcp(stream) => tokio::net::TcpStream::from_std(stream).map(Sock::from),
            Self::Unix(stream) => tokio::net::UnixStream::from_std(stream).map(Sock::from),
            #[cfg(feature = "memory")]
            Self::Memory(end) => Ok(end.into()),
        }
    }
}

/// Where a client connects from. Shown as the host part of an account name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    Local,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A client of an IPv6 listener that came by IPv4 is known by its IPv4 address.
            Self::Tcp(address) => match address.ip() {
                IpAddr::V6(ip) => ip.to_canonical().fmt(f),
                IpAddr::V4(ip) => ip.fmt(f),
            },
            Self::Local => f.write_str("localhost"),
        }
    }
}
