//! A stream of which the beginning was read already.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `stream`, but reading gives `start` first: a client may begin with TLS before it has an answer.
pub(super) struct Prefixed<S> {
    start: Vec<u8>,
    /// Bytes of `start` that were given.
    given: usize,
    stream: S,
}

impl<S> Prefixed<S> {
    pub(super) const fn new(start: Vec<u8>, stream: S) -> Self {
        Self { start, given: 0, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = self.start.get(self.given..).unwrap_or_default();
        if rest.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let len = rest.len().min(into.remaining());
        into.put_slice(rest.get(..len).unwrap_or_default());
        self.given += len;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn the_start_comes_first_in_any_pieces() {
        let (mut near, far) = tokio::io::duplex(64);
        near.write_all(b"stream").await.unwrap();
        drop(near);
        let mut stream = Prefixed::new(b"start".to_vec(), far);
        let mut piece = [0; 3];
        stream.read_exact(&mut piece).await.unwrap();
        assert_eq!(&piece, b"sta");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "rtstream");
    }
}
