//! A client that has connected, on its way from the listener's thread to its worker.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use config::Listener;
use pool::Share;
use socket2::SockRef;
use wire::Peer;

use net::sock::Sock;

/// A fresh connection and what its listener knows about it.
#[derive(Debug)]
pub struct Arrival {
    /// Its socket.
    pub stream: Stream,
    /// Boxed, because it moves through the task of a client, which would hold a copy for each step.
    pub guest: Box<Guest>,
}

/// Who has come, and how.
#[derive(Debug)]
pub struct Guest {
    /// Where it connects from, and to.
    pub peer: Peer,
    /// The listener that it has come to.
    pub listener: Arc<Listener>,
    /// Its places.
    pub slots: Slots,
}

/// The places that a client takes: among `mysql-max_connections`, and among `max_connections` of
/// its listener if that has a limit.
pub type Slots = (Share, Option<Share>);

/// A connected socket that is registered nowhere yet.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// Memory.
    #[cfg(feature = "memory")]
    Memory(net::sock::memory::End),
}

impl Stream {
    /// The number of its descriptor; a stream made of memory has none.
    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
            #[cfg(feature = "memory")]
            Self::Memory(_) => 0,
        }
    }

    /// Whether the client has closed its side, before it has sent anything.
    pub(crate) fn is_closed(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let peeked = match self {
            Self::Tcp(stream) => SockRef::from(stream).peek(&mut byte),
            Self::Unix(stream) => SockRef::from(stream).peek(&mut byte),
            #[cfg(feature = "memory")]
            Self::Memory(_) => return false,
        };
        match peeked {
            Ok(read) => read == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

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
