//! Bytes on their way from one socket to another: what could not be written yet, and nothing else.

use std::io;
use std::task::{Context, Poll, ready};

use crate::sock::Sock;

/// Where bytes are written to: a socket, or what stands for one.
pub trait Output {
    /// Writes what there is room for; how many bytes that was.
    ///
    /// # Errors
    ///
    /// If the other end is gone.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Sends what was taken and is held.
    ///
    /// # Errors
    ///
    /// As those of [`poll_write`](Self::poll_write).
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether something that was taken is held.
    fn holds_output(&self) -> bool;
}

impl Output for Sock {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Self::poll_write(self, cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_flush(self, cx)
    }

    fn holds_output(&self) -> bool {
        Self::holds_output(self)
    }
}

/// Bytes of which a part is gone: those that a socket did not take, or that were read and not taken
/// yet. Empty, and without memory, nearly always.
#[derive(Debug, Default)]
pub struct Parked {
    bytes: Vec<u8>,
    gone: usize,
}

impl From<Vec<u8>> for Parked {
    /// Bytes that come before any others.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, gone: 0 }
    }
}

impl Parked {
    /// Whether nothing is parked.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is parked.
    pub fn rest(&self) -> &[u8] {
        self.bytes.get(self.gone..).unwrap_or_default()
    }

    /// Where bytes are added behind the others.
    pub const fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// So many bytes more are gone. The memory is given back with the last one.
    pub(crate) fn remove(&mut self, len: usize) {
        self.gone += len;
        if self.gone >= self.bytes.len() {
            *self = Self::default();
        }
    }

    /// Moves what fits into `buffer`; returns how much that is.
    pub fn read(&mut self, buffer: &mut [u8]) -> usize {
        let rest = self.rest();
        let len = rest.len().min(buffer.len());
        if let (Some(from), Some(to)) = (rest.get(..len), buffer.get_mut(..len)) {
            to.copy_from_slice(from);
        }
        self.remove(len);
        len
    }

    /// Whether nothing is parked, and `sock` has sent all that it took.
    pub fn is_sent(&self, sock: &impl Output) -> bool {
        self.is_empty() && !sock.holds_output()
    }

    /// Writes `bytes` to `sock`, and keeps what it does not take. Nothing may be parked already:
    /// the sender [flushes](Self::poll_flush) first, which bounds the bytes held to one
    /// scratch buffer.
    pub fn send(&mut self, cx: &mut Context<'_>, sock: &mut impl Output, bytes: &[u8]) -> io::Result<()> {
        self.send_by(bytes, |bytes| sock.poll_write(cx, bytes))
    }

    /// The same by a function that takes what it can.
    pub(crate) fn send_by(
        &mut self,
        mut bytes: &[u8],
        mut write: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> io::Result<()> {
        debug_assert!(self.is_empty(), "bytes would overtake others");
        while !bytes.is_empty() {
            match write(bytes) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(n)) => bytes = bytes.get(n..).unwrap_or_default(),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    self.bytes.extend_from_slice(bytes);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes out what is parked.
    pub fn take(&mut self) -> Vec<u8> {
        let Self { mut bytes, gone } = std::mem::take(self);
        bytes.drain(..gone.min(bytes.len()));
        bytes
    }

    /// Writes what is parked; ready when nothing is left to write, or nothing can be. The memory is
    /// given back then.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>, sock: &mut impl Output) -> Poll<io::Result<()>> {
        ready!(self.poll_flush_by(|bytes| sock.poll_write(cx, bytes)))?;
        sock.poll_flush(cx)
    }

    /// The same by a function that takes what it can.
    pub(crate) fn poll_flush_by(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            match ready!(write(self.rest())) {
                Ok(n) if n > 0 => self.remove(n),
                outcome => {
                    *self = Self::default();
                    return Poll::Ready(outcome.and(Err(io::ErrorKind::WriteZero.into())));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
