//! What is below a connection's own bytes: the socket, and TLS where it was asked for.

use std::io;
use std::task::{Context, Poll};

use super::Input;
use super::plain::Plain;

/// A socket with or without TLS.
///
/// A layer does not own what is below it, but gets it with each call: so the layers of a connection are the fields of
/// one struct, and one that nobody uses costs a null pointer.
#[derive(Debug)]
pub(super) struct Link {
    plain: Plain,
}

impl From<Plain> for Link {
    fn from(plain: Plain) -> Self {
        Self { plain }
    }
}

impl Link {
    /// See [`Sock::is_private`](super::Sock::is_private).
    pub(super) const fn is_private(&self) -> bool {
        self.plain.is_local()
    }

    /// See [`Sock::poll_read`](super::Sock::poll_read).
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.plain.poll_read(cx, buffer)
    }

    /// See [`Sock::poll_write`](super::Sock::poll_write).
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.plain.poll_write(cx, bytes)
    }

    /// See [`Sock::poll_flush`](super::Sock::poll_flush).
    #[expect(clippy::unused_self, reason = "plain sockets hold nothing")]
    pub(super) fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// See [`Sock::holds_output`](super::Sock::holds_output).
    #[expect(clippy::unused_self, reason = "plain sockets hold nothing")]
    pub(super) const fn holds_output(&self) -> bool {
        false
    }

    /// See [`Sock::poll_input`](super::Sock::poll_input).
    pub(super) fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        self.plain.poll_input(cx)
    }

    /// See [`Sock::shutdown_write`](super::Sock::shutdown_write).
    pub(super) fn shutdown_write(&mut self) -> io::Result<()> {
        self.plain.shutdown_write()
    }
}
