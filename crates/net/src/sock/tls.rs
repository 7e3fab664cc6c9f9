//! TLS on a socket: records in, bytes out, and the other way round.
//!
//! rustls keeps the state of a connection, this file its bytes. A connection that waits holds none:
//! ciphertext is read into and written from two buffers that all connections of a worker share, and
//! only a record that has not arrived whole, or that the socket did not take, is kept with the
//! connection. A query costs one `recv` and one `send` per side as without TLS; several records
//! come and go in one of each.
//!
//! - `conn`: the state machine, without a socket;
//! - `handshake`: how a connection begins.

mod conn;
mod handshake;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ServerConfig};

use super::Input;
use super::plain::Plain;
use crate::limits::{SCRATCH_BYTES, TLS_HELD_BYTES_MAX, TLS_RECORD_BYTES_MAX};
use crate::relay::Parked;
use conn::Conn;
pub use handshake::HandshakeError;

/// Which side of TLS the proxy is on.
#[derive(Debug, Clone)]
pub enum Role {
    /// Towards clients.
    Server(Arc<ServerConfig>),
    /// Towards servers, with the name that the certificate must have.
    Client(Arc<ClientConfig>, ServerName<'static>),
}

/// Buffers for ciphertext, shared by the connections of one worker and borrowed during a poll only.
/// They have no memory before the first connection with TLS.
#[derive(Debug, Default)]
pub struct Buffers {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// TLS on one socket, after its handshake.
#[derive(Debug)]
pub(super) struct Tls {
    conn: Conn,
    buffers: Rc<RefCell<Buffers>>,
    /// The beginning of a record of which the rest has not come.
    incoming: Vec<u8>,
    /// Bytes that were decrypted and that the reader had no room for.
    plaintext: Parked,
    /// Records that the socket did not take.
    outgoing: Parked,
    /// Whether nothing more will come.
    ended: bool,
    /// Whether it was said that nothing more will be written.
    closed: bool,
}

impl Tls {
    /// TLS whose handshake is over: `incoming` and `plaintext` is what came behind it.
    fn new(conn: Conn, buffers: Rc<RefCell<Buffers>>, incoming: Vec<u8>, plaintext: Vec<u8>) -> Self {
        let (plaintext, outgoing) = (Parked::from(plaintext), Parked::default());
        Self { conn, buffers, incoming, plaintext, outgoing, ended: false, closed: false }
    }

    /// See [`Sock::tls_names`](super::Sock::tls_names).
    pub(super) fn names(&self) -> Option<(&'static str, &'static str)> {
        self.conn.names()
    }

    /// See [`Sock::certificate`](super::Sock::certificate).
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.conn.certificate()
    }

    /// Reads decrypted bytes; `Ok(0)` is the end: the peer's `close_notify`, or the end of the
    /// socket, which is all that many peers send. (The protocol in the records has lengths of its
    /// own: a cut is noticed there.)
    pub(super) fn poll_read(
        &mut self,
        plain: &mut Plain,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if !self.plaintext.is_empty() {
                return Poll::Ready(Ok(self.plaintext.read(buffer)));
            }
            if self.ended {
                return Poll::Ready(Ok(0));
            }
            match ready!(self.poll_fill(plain, cx, buffer))? {
                0 => {}
                n => return Poll::Ready(Ok(n)),
            }
        }
    }

    /// Reads from the socket once, and decrypts what is there: into `buffer`, and what does not fit
    /// into `plaintext`. Ready with the number of bytes in `buffer`, which may be 0.
    fn poll_fill(
        &mut self,
        plain: &mut Plain,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let Self { conn, buffers, incoming, plaintext, outgoing, ended, closed: _ } = self;
        let mut buffers = buffers.borrow_mut();
        buffers.incoming.resize(TLS_HELD_BYTES_MAX + TLS_RECORD_BYTES_MAX, 0);
        // Not more than what fits decrypted into the buffer, but at least the rest of a record.
        let held = incoming.len();
        let end = buffer.len().max(held + TLS_RECORD_BYTES_MAX).min(buffers.incoming.len());
        let room = buffers.incoming.get_mut(held..end).unwrap_or_default();
        if room.is_empty() {
            *ended = true;
            return Poll::Ready(Err(invalid("a message that is too long")));
        }
        let n = ready!(plain.poll_read(cx, room)).inspect_err(|_| *ended = true)?;
        if n == 0 {
            *ended = true;
            return Poll::Ready(Ok(0));
        }
        let input = buffers.incoming.get_mut(..held + n).unwrap_or_default();
        copy(incoming, input);
        let mut filled = 0;
        let mut take = |bytes: &[u8]| {
            let fits = copy(bytes, buffer.get_mut(filled..).unwrap_or_default());
            filled += fits;
            plaintext.end().extend_from_slice(bytes.get(fits..).unwrap_or_default());
        };
        let outcome = conn.process(input, &mut take, outgoing.end());
        match &outcome {
            Ok(processed) => {
                *incoming = input.get(processed.used..).unwrap_or_default().to_vec();
                *ended |= processed.closed;
            }
            Err(_) => *ended = true,
        }
        drop(buffers);
        // An answer to a peer that wants to negotiate again, or an alert. What the socket does not
        // take goes out before the next bytes.
        if !self.outgoing.is_empty() {
            let _ = self.poll_flush(plain, cx);
        }
        Poll::Ready(outcome.map(|_| filled).map_err(invalid))
    }

    /// Takes up to a scratch buffer of bytes, once the socket has all that were taken before.
    pub(super) fn poll_write(
        &mut self,
        plain: &mut Plain,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(plain, cx))?;
        let bytes = bytes.get(..SCRATCH_BYTES).unwrap_or(bytes);
        let mut buffers = self.buffers.borrow_mut();
        let records = &mut buffers.outgoing;
        records.clear();
        self.conn.encrypt(bytes, records).map_err(io::Error::other)?;
        self.outgoing.send_by(records, |rest| plain.poll_write(cx, rest))?;
        Poll::Ready(Ok(bytes.len()))
    }

    /// Writes records that the socket did not take; ready when there are none, or nothing can be
    /// written.
    pub(super) fn poll_flush(&mut self, plain: &mut Plain, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.poll_flush_by(|rest| plain.poll_write(cx, rest))
    }

    /// Whether there are records that the socket did not take.
    pub(super) const fn holds_output(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// What waits: bytes of the peer, or the end. Session tickets and other messages of TLS itself
    /// are neither.
    pub(super) fn poll_input(&mut self, plain: &mut Plain, cx: &mut Context<'_>) -> Poll<Input> {
        loop {
            if !self.plaintext.is_empty() {
                return Poll::Ready(Input::Bytes);
            }
            if self.ended {
                return Poll::Ready(Input::End);
            }
            // An error has ended it.
            let _ = ready!(self.poll_fill(plain, cx, &mut []));
        }
    }

    /// What waits on the connection by now. No task is woken for more until it is polled again.
    pub(super) fn input(&mut self, plain: &mut Plain) -> Option<Input> {
        match self.poll_input(plain, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(input) => Some(input),
            Poll::Pending => None,
        }
    }

    /// Says that nothing more will be written, as far as the socket takes it at once.
    pub(super) fn shutdown_write(&mut self, plain: &mut Plain) {
        if !std::mem::replace(&mut self.closed, true) && self.outgoing.is_empty() {
            let mut cx = Context::from_waker(Waker::noop());
            if self.conn.close(self.outgoing.end()).is_ok() {
                let _ = self.poll_flush(plain, &mut cx);
            }
            self.outgoing = Parked::default();
        }
    }

    /// The peer has said goodbye in its own protocol, and listens no more.
    pub(super) const fn note_goodbye(&mut self) {
        self.ended = true;
    }

    /// The connection is about to be closed: a peer that still listens learns that it was not
    /// cut. Behind the peer's own end nothing is sent.
    pub(super) fn part(&mut self, plain: &mut Plain) {
        if !self.ended {
            self.shutdown_write(plain);
        }
    }
}

/// Copies what fits; returns how much that is.
fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        to.copy_from_slice(from);
    }
    len
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
