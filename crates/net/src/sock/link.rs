//! What is below a connection's own bytes: the socket, and TLS where it was asked for.

use std::io;
use std::task::{Context, Poll};

use super::Input;
use super::plain::Plain;
use super::tls::Tls;

/// A socket with or without TLS.
///
/// A layer does not own what is below it, but gets it with each call: so the layers of a connection
/// are the fields of one struct, and an unused one costs a null pointer.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) plain: Plain,
    pub(super) tls: Option<Box<Tls>>,
}

impl From<Plain> for Link {
    fn from(plain: Plain) -> Self {
        Self { plain, tls: None }
    }
}

impl Link {
    /// See [`Sock::poll_read`](super::Sock::poll_read).
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.plain.poll_read(cx, buffer),
            Some(tls) => tls.poll_read(&mut self.plain, cx, buffer),
        }
    }

    /// See [`Sock::poll_write`](super::Sock::poll_write).
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.plain.poll_write(cx, bytes),
            Some(tls) => tls.poll_write(&mut self.plain, cx, bytes),
        }
    }

    /// See [`Sock::poll_flush`](super::Sock::poll_flush).
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.tls {
            None => Poll::Ready(Ok(())),
            Some(tls) => tls.poll_flush(&mut self.plain, cx),
        }
    }

    /// See [`Sock::holds_output`](super::Sock::holds_output).
    pub(super) const fn holds_output(&self) -> bool {
        match &self.tls {
            None => false,
            Some(tls) => tls.holds_output(),
        }
    }

    /// See [`Sock::poll_input`](super::Sock::poll_input).
    pub(super) fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        match &mut self.tls {
            None => self.plain.poll_input(cx),
            Some(tls) => tls.poll_input(&mut self.plain, cx),
        }
    }

    /// See [`Sock::input`](super::Sock::input).
    pub(super) fn input(&mut self) -> Option<Input> {
        match &mut self.tls {
            None => self.plain.input(),
            Some(tls) => tls.input(&mut self.plain),
        }
    }

    /// See [`Sock::shutdown_write`](super::Sock::shutdown_write).
    pub(super) fn shutdown_write(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.shutdown_write(&mut self.plain);
        }
        self.plain.shutdown_write()
    }
}

/// However a connection ends, its peer is not to take the end for an attack (`unexpected eof`).
impl Drop for Link {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.part(&mut self.plain);
        }
    }
}

#[cfg(test)]
impl Link {
    pub(super) fn plain(&self) -> &super::memory::End {
        match &self.plain {
            Plain::Memory(end) => end,
            other => panic!("{other:?} is not made of memory"),
        }
    }
}
