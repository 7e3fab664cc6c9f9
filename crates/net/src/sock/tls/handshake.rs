//! The handshake: its bytes go through the worker, its computations do not.
//!
//! Key exchanges, signatures and certificates take longer than a worker may stop for. Each step
//! (the records that have come, and what they lead to) runs on a blocking thread of the control
//! runtime, which gets the connection's state and gives it back; the socket stays where it is. Only
//! the monitor's thread, which has no sessions, takes its steps itself.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Poll, ready};

use rustls::Error;

use super::conn::Conn;
use super::{Role, Tls};
use crate::limits::TLS_HELD_BYTES_MAX;
use crate::local::Local;
use crate::sock::Sock;

/// Bytes of the header of a record: its kind, a version, and its length in two bytes.
const RECORD_HEADER_LEN: usize = 5;

/// The kinds of records: change of cipher, alert, handshake, data, heartbeat.
const RECORD_KINDS: std::ops::RangeInclusive<u8> = 20..=24;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The peer closed the connection, or it broke.
    #[error("the connection was closed during the TLS handshake")]
    Closed,
    /// The peer sends something else, or nothing that both sides can agree on.
    #[error("TLS: {error}")]
    Failed {
        /// What is wrong.
        error: Error,
        /// The alert that tells the peer; not sent yet.
        alert: Vec<u8>,
    },
    /// The proxy ends.
    #[error("the control runtime has stopped")]
    Stopped,
}

impl From<io::Error> for HandshakeError {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// A handshake between two waits.
struct Step {
    conn: Conn,
    /// Records that came and that are not done with.
    incoming: Vec<u8>,
    /// Records to be sent.
    outgoing: Vec<u8>,
    /// What the peer has said behind its part of the handshake.
    plaintext: Vec<u8>,
}

impl Step {
    /// The first step. May take a key exchange's time.
    fn begin(role: Role, incoming: Vec<u8>) -> Result<Self, HandshakeError> {
        let conn = Conn::new(role).map_err(|error| HandshakeError::Failed { error, alert: Vec::new() })?;
        Self { conn, incoming, outgoing: Vec::new(), plaintext: Vec::new() }.advance()
    }

    /// The next one: judges the records that have come.
    fn advance(mut self) -> Result<Self, HandshakeError> {
        let plaintext = &mut self.plaintext;
        let mut take = |bytes: &[u8]| plaintext.extend_from_slice(bytes);
        match self.conn.process(&mut self.incoming, &mut take, &mut self.outgoing) {
            Ok(processed) => {
                self.incoming.drain(..processed.used);
                Ok(self)
            }
            Err(error) => Err(HandshakeError::Failed { error, alert: self.outgoing }),
        }
    }
}

impl Sock {
    /// Speaks TLS from here on. `first` is what was read behind the agreement to do so: the
    /// beginning of a handshake, which nothing else may be. The caller keeps the deadline, and
    /// sends the alert of an error.
    pub async fn start_tls(
        &mut self,
        local: &Local,
        role: Role,
        first: Vec<u8>,
    ) -> Result<(), HandshakeError> {
        debug_assert!(!self.is_encrypted(), "TLS within TLS");
        let mut incoming = first;
        if matches!(role, Role::Server(_)) && !has_record(&incoming) {
            self.read_record(local, &mut incoming).await?;
        }
        let mut step = off_thread(local, move || Step::begin(role, incoming)).await?;
        loop {
            self.write_all(&std::mem::take(&mut step.outgoing)).await?;
            if !step.conn.is_handshaking() {
                break;
            }
            self.read_record(local, &mut step.incoming).await?;
            step = off_thread(local, move || step.advance()).await?;
        }
        let Step { conn, incoming, plaintext, .. } = step;
        let buffers = Rc::clone(&local.tls);
        // New vectors: these have the capacity of a handshake.
        let tls = Tls::new(conn, buffers, incoming.as_slice().to_vec(), plaintext.as_slice().to_vec());
        self.link.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Reads until there is a whole record, or something that is none.
    async fn read_record(&mut self, local: &Local, incoming: &mut Vec<u8>) -> Result<(), HandshakeError> {
        loop {
            let read = poll_fn(|cx| {
                let mut scratch = local.scratch.borrow_mut();
                let room = TLS_HELD_BYTES_MAX.saturating_sub(incoming.len()).min(scratch.len());
                let n = ready!(self.poll_read(cx, scratch.get_mut(..room).unwrap_or_default()))?;
                incoming.extend_from_slice(scratch.get(..n).unwrap_or_default());
                Poll::Ready(io::Result::Ok(n))
            });
            if read.await? == 0 {
                return Err(HandshakeError::Closed);
            }
            if has_record(incoming) {
                return Ok(());
            }
        }
    }
}

async fn off_thread(
    local: &Local,
    step: impl FnOnce() -> Result<Step, HandshakeError> + Send + 'static,
) -> Result<Step, HandshakeError> {
    local.off_thread(step).await.map_err(|_| HandshakeError::Stopped)?
}

/// Whether `bytes` begin with a whole record, or cannot become one: then it is not worth waiting
/// for more.
fn has_record(bytes: &[u8]) -> bool {
    match bytes {
        [kind, ..] if !RECORD_KINDS.contains(kind) => true,
        [_, _, _, high, low, ..] => {
            bytes.len() >= RECORD_HEADER_LEN + usize::from(u16::from_be_bytes([*high, *low]))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::has_record;

    #[test]
    fn a_record_is_waited_for_and_garbage_is_not() {
        let record = [22, 3, 1, 0, 2, 7, 7];
        for len in 0..record.len() {
            assert!(!has_record(&record[..len]), "{len} bytes");
        }
        assert!(has_record(&record));
        assert!(has_record(&[0]) && has_record(b"\x20\0\0\x01"));
    }
}
