//! A socket as the kernel has it, or one made of memory for tests: bytes go in and come out as they
//! are.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::Input;
#[cfg(any(test, feature = "memory"))]
use super::memory;

/// A connected stream socket without any layer.
#[derive(Debug)]
pub(super) enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(any(test, feature = "memory"))]
    Memory(memory::End),
}

impl Plain {
    /// Whether the bytes cannot leave this machine's kernel.
    pub(super) const fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// This end's address; `None` where it is no TCP socket.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(_) => None,
        }
    }

    /// The address of the machine at the other end; `None` where it is no TCP socket.
    pub(super) fn peer_ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok().map(|peer| peer.ip().to_canonical()),
            Self::Unix(_) => None,
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(_) => None,
        }
    }

    /// Its file descriptor; -1 where there is none.
    pub(super) fn fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(_) => -1,
        }
    }

    /// Reads into `buffer`; `Ok(0)` is the end of the stream.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut into = ReadBuf::new(buffer);
        ready!(match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut into),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, &mut into),
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(end) => Pin::new(end).poll_read(cx, &mut into),
        })?;
        Poll::Ready(Ok(into.filled().len()))
    }

    /// Takes what it can of `bytes`.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(end) => Pin::new(end).poll_write(cx, bytes),
        }
    }

    /// What waits on the socket, without handing it out. Costs no system call while nothing does.
    pub(super) fn poll_input(&self, cx: &mut Context<'_>) -> Poll<Input> {
        loop {
            let ready = match self {
                Self::Tcp(stream) => ready!(stream.poll_read_ready(cx)),
                Self::Unix(stream) => ready!(stream.poll_read_ready(cx)),
                #[cfg(any(test, feature = "memory"))]
                Self::Memory(end) => return end.poll_input(cx),
            };
            if ready.is_err() {
                return Poll::Ready(Input::End);
            }
            match self.peek() {
                // A readiness left over from a read that filled its buffer exactly; now it is
                // forgotten.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) | Ok(0) => return Poll::Ready(Input::End),
                Ok(_) => return Poll::Ready(Input::Bytes),
            }
        }
    }

    /// What waits on the socket by now, without waiting for it.
    pub(super) fn input(&self) -> Option<Input> {
        #[cfg(any(test, feature = "memory"))]
        if let Self::Memory(end) = self {
            return end.input();
        }
        match self.peek() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) | Ok(0) => Some(Input::End),
            Ok(_) => Some(Input::Bytes),
        }
    }

    /// Costs no system call while the socket is not ready.
    fn peek(&self) -> io::Result<usize> {
        let mut byte = [MaybeUninit::uninit()];
        match self {
            Self::Tcp(stream) => {
                stream.try_io(Interest::READABLE, || socket2::SockRef::from(stream).peek(&mut byte))
            }
            Self::Unix(stream) => {
                stream.try_io(Interest::READABLE, || socket2::SockRef::from(stream).peek(&mut byte))
            }
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(_) => Ok(0),
        }
    }

    /// Says that nothing more will be written.
    pub(super) fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write),
            Self::Unix(stream) => socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write),
            #[cfg(any(test, feature = "memory"))]
            Self::Memory(end) => {
                end.close_write();
                Ok(())
            }
        }
    }
}
