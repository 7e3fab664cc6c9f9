//! One socket, whatever it is made of.
//!
//! Everything above this file reads and writes through [`Sock`], so that Unix sockets, memory (for tests) and
//! later TLS or another kernel interface are a matter of this file alone. The methods are the few that a relay
//! needs; each tries the system call at once and waits only when the kernel says so. tokio forgets readiness
//! after a short read by itself, so a query costs one `recv` and one `send` per side.

#[cfg(feature = "memory")]
pub mod memory;

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected stream socket. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Sock(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "memory")]
    Memory(memory::End),
}

/// What waits on a socket that nobody reads at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Bytes.
    Bytes,
    /// The end: the peer closed its side, or the connection broke.
    End,
}

impl From<TcpStream> for Sock {
    fn from(stream: TcpStream) -> Self {
        Self(Kind::Tcp(stream))
    }
}

impl From<UnixStream> for Sock {
    fn from(stream: UnixStream) -> Self {
        Self(Kind::Unix(stream))
    }
}

#[cfg(feature = "memory")]
impl From<memory::End> for Sock {
    fn from(end: memory::End) -> Self {
        Self(Kind::Memory(end))
    }
}

impl Sock {
    /// Whether the bytes cannot leave this machine's kernel, so that clear passwords may travel.
    pub(crate) const fn is_private(&self) -> bool {
        matches!(self.0, Kind::Unix(_))
    }

    /// Reads into `buffer`; `Ok(0)` is the end of the stream.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut into = ReadBuf::new(buffer);
        ready!(match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut into),
            Kind::Unix(stream) => Pin::new(stream).poll_read(cx, &mut into),
            #[cfg(feature = "memory")]
            Kind::Memory(end) => Pin::new(end).poll_read(cx, &mut into),
        })?;
        Poll::Ready(Ok(into.filled().len()))
    }

    /// Takes what it can of `bytes`. A layer that changes bytes on their way (TLS, compression) may hold them until
    /// [`poll_flush`](Self::poll_flush) is ready; it takes no more before.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Kind::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(feature = "memory")]
            Kind::Memory(end) => Pin::new(end).poll_write(cx, bytes),
        }
    }

    /// Writes what is held of bytes that were taken; ready when nothing is.
    #[expect(clippy::unused_self, reason = "plain sockets hold nothing")]
    pub(crate) fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Whether bytes that were taken are still held.
    #[expect(clippy::unused_self, reason = "plain sockets hold nothing")]
    pub(crate) const fn holds_output(&self) -> bool {
        false
    }

    /// What waits on the socket, without handing it out. Costs no system call while nothing does.
    pub(crate) fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        loop {
            let ready = match &self.0 {
                Kind::Tcp(stream) => ready!(stream.poll_read_ready(cx)),
                Kind::Unix(stream) => ready!(stream.poll_read_ready(cx)),
                #[cfg(feature = "memory")]
                Kind::Memory(end) => return end.poll_input(cx),
            };
            if ready.is_err() {
                return Poll::Ready(Input::End);
            }
            match self.peek() {
                // A readiness left over from a read that filled its buffer exactly; now it is forgotten.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) | Ok(0) => return Poll::Ready(Input::End),
                Ok(_) => return Poll::Ready(Input::Bytes),
            }
        }
    }

    fn peek(&self) -> io::Result<usize> {
        let mut byte = [MaybeUninit::uninit()];
        match &self.0 {
            Kind::Tcp(stream) => {
                stream.try_io(Interest::READABLE, || socket2::SockRef::from(stream).peek(&mut byte))
            }
            Kind::Unix(stream) => {
                stream.try_io(Interest::READABLE, || socket2::SockRef::from(stream).peek(&mut byte))
            }
            #[cfg(feature = "memory")]
            Kind::Memory(_) => Ok(0),
        }
    }

    /// Writes all of `bytes`.
    pub(crate) async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Says that nothing more will be written.
    pub(crate) fn shutdown_write(&mut self) -> io::Result<()> {
        match &self.0 {
            Kind::Tcp(stream) => socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write),
            Kind::Unix(stream) => socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write),
            #[cfg(feature = "memory")]
            Kind::Memory(end) => {
                end.close_write();
                Ok(())
            }
        }
    }
}
