//! The client of a command: the one at the socket, or none, where the command is a part of another
//! one.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use net::relay::Output;
use net::sock::{Input, Sock};
use runtime::control::Control;
use scatter::Branch;

/// Bytes of a reply that is kept.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Who has sent a command, and gets its reply.
#[derive(Debug)]
pub enum Client {
    /// The client of the session.
    Sock(Sock),
    /// None: the reply is a part of another one.
    Branch(Box<Branch>),
    /// None: the reply is for the proxy.
    Kept(Box<Kept>),
}

/// A reply for the proxy.
#[derive(Debug, Default)]
pub struct Kept {
    /// What was written.
    pub bytes: Vec<u8>,
    /// It has more bytes than are kept.
    pub is_cut: bool,
}

impl Client {
    /// The socket, if there is one.
    pub const fn sock(&self) -> Option<&Sock> {
        if let Self::Sock(sock) = self { Some(sock) } else { None }
    }

    /// The same, to be used.
    pub const fn sock_mut(&mut self) -> Option<&mut Sock> {
        if let Self::Sock(sock) = self { Some(sock) } else { None }
    }

    /// Reads what there is; 0 bytes are the end.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Sock(sock) => sock.poll_read(cx, buffer),
            Self::Branch(branch) => branch.poll_read(buffer).map(Ok),
            Self::Kept(_) => Poll::Pending,
        }
    }

    /// What waits to be read.
    pub fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Input> {
        match self {
            Self::Sock(sock) => sock.poll_input(cx),
            _ => self.input().map_or(Poll::Pending, Poll::Ready),
        }
    }

    /// The same without waiting.
    pub fn input(&mut self) -> Option<Input> {
        match self {
            Self::Sock(sock) => sock.input(),
            Self::Branch(branch) if branch.has_left() => Some(Input::End),
            Self::Branch(branch) => branch.has_input().then_some(Input::Bytes),
            Self::Kept(_) => None,
        }
    }

    /// Writes all of this.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Self::Sock(sock) = self {
            return sock.write_all(bytes).await;
        }
        while !bytes.is_empty() {
            let written = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

impl Output for Client {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Sock(sock) => sock.poll_write(cx, bytes),
            Self::Branch(branch) => branch.poll_write(bytes),
            Self::Kept(kept) => kept.write(bytes),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Self::Sock(sock) = self { sock.poll_flush(cx) } else { Poll::Ready(Ok(())) }
    }

    fn holds_output(&self) -> bool {
        self.sock().is_some_and(Sock::holds_output)
    }
}

impl Kept {
    fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_cut |= self.bytes.len() + bytes.len() > REPLY_BYTES_MAX;
        if self.is_cut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
}

/// Does something for a command. While it waits, the client is looked at: it may leave.
pub async fn watched<T>(
    control: &Control,
    client: &mut Client,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> T {
    poll_fn(|cx| {
        loop {
            let done = work.as_mut().poll(cx);
            if done.is_ready() || !control.watch.is_asked() {
                return done;
            }
            control.watch.answer(client.poll_input(cx) == Poll::Ready(Input::End));
        }
    })
    .await
}
