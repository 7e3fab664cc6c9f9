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

/// Bytes that a socket did not take. Empty, and without memory, nearly always.
#[derive(Debug, Default)]
pub struct Parked {
    bytes: Vec<u8>,
    written: usize,
}

impl From<Vec<u8>> for Parked {
    /// Bytes that are to be written before any others.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, written: 0 }
    }
}

impl Parked {
    /// Whether nothing is parked, and `sock` has sent all that it took.
    pub fn is_sent(&self, sock: &impl Output) -> bool {
        self.bytes.is_empty() && !sock.holds_output()
    }

    /// Writes `bytes` to `sock`, and keeps what it does not take. Nothing may be parked already:
    /// the sender [flushes](Self::poll_flush) first, which bounds the bytes held to one
    /// scratch buffer.
    pub fn send(&mut self, cx: &mut Context<'_>, sock: &mut impl Output, mut bytes: &[u8]) -> io::Result<()> {
        debug_assert!(self.bytes.is_empty(), "bytes would overtake others");
        while !bytes.is_empty() {
            match sock.poll_write(cx, bytes) {
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
        let Self { mut bytes, written } = std::mem::take(self);
        bytes.drain(..written.min(bytes.len()));
        bytes
    }

    /// Writes what is parked; ready when nothing is left to write, or nothing can be. The memory is
    /// given back then.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>, sock: &mut impl Output) -> Poll<io::Result<()>> {
        let mut outcome = Ok(());
        while let Some(rest) =
            self.bytes.get(self.written..).filter(|rest| !rest.is_empty() && outcome.is_ok())
        {
            match ready!(sock.poll_write(cx, rest)) {
                Ok(0) => outcome = Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) => outcome = Err(error),
            }
        }
        if !self.bytes.is_empty() {
            *self = Self::default();
        }
        outcome?;
        sock.poll_flush(cx)
    }
}
