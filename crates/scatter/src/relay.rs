//! The sockets of a scattered statement: bytes of the shards in, the client's reply out.

use std::io;
use std::task::{Context, Poll, Waker, ready};

use net::sock::Sock;

use super::{Progress, Scatter};
use crate::limits::SCATTER_OUT_BYTES_MAX;

/// A [`Scatter`] with the bytes that its client has not taken yet.
///
/// The sockets are those of the caller. The sessions of the shards run in the same task, and are
/// polled before the relay: what they write wakes nothing.
#[derive(Debug)]
pub struct Relay {
    scatter: Scatter,
    out: Vec<u8>,
    written: usize,
    /// Nothing is written before the whole reply is there.
    holds: bool,
    /// The client gets nothing: the reply is for the proxy.
    kept: Option<Kept>,
}

/// A reply that the proxy keeps.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// More bytes have come.
    is_cut: bool,
}

impl Relay {
    /// Nothing has been read or written.
    pub const fn new(scatter: Scatter) -> Self {
        Self { scatter, out: Vec::new(), written: 0, holds: false, kept: None }
    }

    /// The same for a reply that waits for a COMMIT behind it. Rows do not wait.
    pub fn holding(scatter: Scatter) -> Self {
        Self { holds: true, ..Self::new(scatter) }
    }

    /// The same for a reply of at most so many bytes that the proxy [takes](Self::take_kept).
    pub fn keeping(scatter: Scatter, bytes_max: usize) -> Self {
        Self { kept: Some(Kept { bytes_max, ..Kept::default() }), ..Self::new(scatter) }
    }

    /// The reply that was kept; none if it has too many bytes.
    pub fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take().filter(|kept| !kept.is_cut).map(|kept| kept.bytes)
    }

    /// Keeps what the client would get.
    fn keep(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        kept.is_cut |= kept.bytes.len() + self.out.len() > kept.bytes_max;
        if !kept.is_cut {
            kept.bytes.extend_from_slice(&self.out);
        }
        self.out.clear();
    }

    /// Whether the client has got nothing of the reply because it is held.
    #[cfg(test)]
    pub(crate) const fn is_held(&self) -> bool {
        self.holds
    }

    /// The replies.
    pub const fn scatter(&self) -> &Scatter {
        &self.scatter
    }

    /// Moves bytes until the client has its reply. `shards` are the sockets in the order of the
    /// replies, `scratch` is where bytes are read to.
    ///
    /// # Errors
    ///
    /// Those of the client's socket. What is wrong with a shard is a part of the reply.
    pub fn poll_reply(
        &mut self,
        cx: &mut Context<'_>,
        shards: &mut [Sock],
        client: &mut Sock,
        scratch: &mut [u8],
    ) -> Poll<io::Result<()>> {
        loop {
            let is_written = self.holds || self.poll_write(cx, client)?.is_ready();
            if is_written {
                let progress = self.scatter.drain(&mut self.out);
                self.keep();
                self.holds &= self.out.len() < SCATTER_OUT_BYTES_MAX;
                if !self.out.is_empty() && !self.holds {
                    continue;
                }
                match progress {
                    Progress::Over => return Poll::Ready(Ok(())),
                    Progress::Full if self.kept.is_some() => continue,
                    Progress::Full | Progress::Wait => {}
                }
            }
            // A client that takes nothing does not keep shards from being read as far as there is
            // room.
            if !self.read(shards, scratch) {
                return Poll::Pending;
            }
        }
    }

    /// Drops what shards send behind the client's reply, until all of them have ended theirs.
    pub fn poll_rest(&mut self, shards: &mut [Sock], scratch: &mut [u8]) -> Poll<()> {
        loop {
            self.scatter.drain(&mut self.out);
            self.keep();
            if self.scatter.is_quiet() {
                return Poll::Ready(());
            }
            if !self.read(shards, scratch) {
                return Poll::Pending;
            }
        }
    }

    /// Reads from each shard once, if there is room. Whether anything has come.
    fn read(&mut self, shards: &mut [Sock], scratch: &mut [u8]) -> bool {
        let cx = &mut Context::from_waker(Waker::noop());
        let mut is_any = false;
        for (at, shard) in shards.iter_mut().enumerate() {
            let room = self.scatter.room(at).min(scratch.len());
            let Some(into) = scratch.get_mut(..room).filter(|into| !into.is_empty()) else { continue };
            let Poll::Ready(read) = shard.poll_read(cx, into) else { continue };
            is_any = true;
            match read {
                Ok(0) | Err(_) => self.scatter.close(at),
                Ok(bytes) => self.scatter.feed(at, into.get(..bytes).unwrap_or_default()),
            }
        }
        is_any
    }

    /// Writes what the client has not taken; ready when it has taken all.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, client: &mut Sock) -> Poll<io::Result<()>> {
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(client.poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => self.written += bytes,
            }
        }
        self.written = 0;
        self.out.clear();
        if self.out.capacity() > 2 * SCATTER_OUT_BYTES_MAX {
            // A large row has passed.
            self.out = Vec::new();
        }
        client.poll_flush(cx)
    }
}
