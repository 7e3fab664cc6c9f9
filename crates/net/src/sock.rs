//! One socket, whatever it is made of.
//!
//! Everything above this file reads and writes through [`Sock`], so that Unix sockets, memory, TLS,
//! compression or another kernel interface are a matter of this file and its layers alone. The
//! methods are the few that a relay needs; each tries the system call at once and waits only when
//! the kernel says so. tokio forgets readiness after a short read by itself, so a query
//! costs one `recv` and one `send` per side.
//!
//! - `plain`: the socket itself;
//! - `memory`: a socket whose peer is in this process, for tests;
//! - `link`: the socket with or without TLS;
//! - `compression`: the compressed protocol on top of either;
//! - [`tls`]: TLS on a socket.

mod compression;
mod link;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod plain;
pub mod tls;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustls::pki_types::CertificateDer;
use tokio::net::{TcpStream, UnixStream};
use wire::WireError;
use wire::compress::{Method, Peer};

use crate::flow::Flow;
use compression::Compression;
pub use compression::Workshop;
use link::Link;
use plain::Plain;

/// A connected stream socket. Dropping it closes it.
#[derive(Debug)]
pub struct Sock {
    link: Link,
    /// From the end of the login on, where it was agreed.
    compression: Option<Box<Compression>>,
    /// Where bytes are counted, if they are.
    flow: Option<Rc<Flow>>,
}

/// What waits on a socket that is not being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Bytes.
    Bytes,
    /// The end: the peer closed its side, or the connection broke.
    End,
}

impl From<Plain> for Sock {
    fn from(plain: Plain) -> Self {
        Self { link: plain.into(), compression: None, flow: None }
    }
}

impl From<TcpStream> for Sock {
    fn from(stream: TcpStream) -> Self {
        Plain::Tcp(stream).into()
    }
}

impl From<UnixStream> for Sock {
    fn from(stream: UnixStream) -> Self {
        Plain::Unix(stream).into()
    }
}

#[cfg(any(test, feature = "memory"))]
impl From<memory::End> for Sock {
    fn from(end: memory::End) -> Self {
        Plain::Memory(end).into()
    }
}

impl Sock {
    /// Speaks the compressed protocol with `peer` from now on. `input` are bytes that were read
    /// behind the login: they are compressed already.
    pub fn compress(&mut self, workshop: &Rc<RefCell<Workshop>>, peer: Peer, method: Method, input: Vec<u8>) {
        debug_assert!(self.compression.is_none(), "a connection is compressed once");
        self.compression = Some(Box::new(Compression::new(workshop, peer, method, input)));
    }

    /// Puts no packet into more than two compressed frames from now on.
    pub fn use_two_frames(&mut self) {
        if let Some(compression) = &mut self.compression {
            compression.use_two_frames();
        }
    }

    /// Counts bytes in `flow` from now on: those of the protocol, as they are without TLS and
    /// compression.
    pub fn count_in(&mut self, flow: Rc<Flow>) {
        self.flow = Some(flow);
    }

    /// This end's address; `None` where it is no TCP socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.link.plain.local_addr()
    }

    /// The address of the machine at the other end; `None` where it is no TCP socket.
    pub fn peer_ip(&self) -> Option<IpAddr> {
        self.link.plain.peer_ip()
    }

    /// The socket's file descriptor; -1 where there is none.
    pub fn fd(&self) -> RawFd {
        self.link.plain.fd()
    }

    /// Whether the compressed protocol is spoken.
    pub const fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Whether no third party can listen on the way: the bytes stay in this machine's kernel or are
    /// encrypted. Then clear passwords may travel.
    pub const fn is_private(&self) -> bool {
        self.is_encrypted() || self.link.plain.is_local()
    }

    /// Whether the bytes are encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.link.tls.is_some()
    }

    /// OpenSSL's names of the cipher suite and of the version of TLS; none without TLS.
    pub fn tls_names(&self) -> Option<(&'static str, &'static str)> {
        self.link.tls.as_ref()?.names()
    }

    /// The certificate that the peer has shown, and that was verified.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.link.tls.as_ref()?.certificate()
    }

    /// The peer has said goodbye, and listens no more: the connection will be closed without a
    /// word.
    pub fn note_goodbye(&mut self) {
        if let Some(tls) = &mut self.link.tls {
            tls.note_goodbye();
        }
    }

    /// Reads into `buffer`; `Ok(0)` is the end of the stream.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = match &mut self.compression {
            None => self.link.poll_read(cx, buffer),
            Some(layer) => layer.poll_read(cx, &mut self.link, buffer),
        };
        if let (Poll::Ready(Ok(n)), Some(flow)) = (&read, &self.flow) {
            flow.add_received(*n);
        }
        read
    }

    /// Takes what it can of `bytes`. A layer that changes bytes on their way (TLS, compression) may
    /// hold them until [`poll_flush`](Self::poll_flush) is ready; it takes no more before.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.compression {
            None => self.link.poll_write(cx, bytes),
            Some(layer) => layer.poll_write(cx, &mut self.link, bytes),
        };
        if let (Poll::Ready(Ok(n)), Some(flow)) = (&written, &self.flow) {
            flow.add_sent(*n);
        }
        written
    }

    /// Writes what is held of bytes that were taken; ready when nothing is.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.compression {
            None => self.link.poll_flush(cx),
            Some(layer) => layer.poll_flush(cx, &mut self.link),
        }
    }

    /// Whether bytes that were taken are still held.
    pub fn holds_output(&self) -> bool {
        self.link.holds_output() || self.compression.as_ref().is_some_and(|layer| layer.holds_output())
    }

    /// What waits on the socket, without handing it out. Costs no system call while nothing does.
    pub fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        match &self.compression {
            None => self.link.poll_input(cx),
            Some(layer) => layer.poll_input(cx, &mut self.link),
        }
    }

    /// The same without waiting: no task is woken for it.
    pub fn input(&mut self) -> Option<Input> {
        match &self.compression {
            None => self.link.input(),
            Some(layer) => layer.input(&mut self.link),
        }
    }

    /// Writes all of `bytes`.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Says that nothing more will be written.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        self.link.shutdown_write()
    }
}

/// What was wrong with what a peer sent, if that is why reading has failed.
pub fn garbled(error: &io::Error) -> Option<WireError> {
    error.get_ref()?.downcast_ref().copied()
}
