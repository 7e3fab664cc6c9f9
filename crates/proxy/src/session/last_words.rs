//! What a backend says out of turn: before it has the whole command, or on an idle connection.
//!
//! A server does so when it is about to close: it shuts down, a time is up, a KILL has ended the
//! connection, a command is too large for it. An error packet says why, and the client gets it as
//! on a connection of its own. Anything else answers no command and is not forwarded: it would be
//! taken for the answer to another command.

use std::future::poll_fn;
use std::task::{Poll, ready};

use net::SCRATCH_BYTES;
use wire::frame::{HEADER_LEN, Header};
use wire::{Capabilities, Codec as _, packet};

use super::Session;
use super::facts::endings::interrupted;
use super::links::Links;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::invariant::no_connection;
use crate::limits::{ERROR_MESSAGE_BYTES_MAX, LINGER_MAX};
use crate::worker::Worker;

impl Session {
    /// Reads the backend's error, if it is one, as the last thing that the client hears.
    pub(super) async fn last_words(&mut self, answer_seq: Option<u8>) -> Ending {
        let error =
            tokio::time::timeout(LINGER_MAX, self.links.read_error(&self.worker)).await.ok().flatten();
        let Some(backend) = &self.links.in_use else { return no_connection() };
        let server = backend.server().endpoint();
        let said = error.as_deref().and_then(|packet| error_text(packet.get(HEADER_LEN..)?));
        let said = said.unwrap_or_else(|| "no error".to_owned());
        tracing::warn!(%server, said, "a server spoke out of turn; the session ends");
        match (error, answer_seq) {
            (Some(packet), _) => {
                Ending::Say { packets: packet.into_boxed_slice(), linger: answer_seq.is_some() }
            }
            (None, Some(seq)) => {
                interrupted(&self.worker, &self.control, &self.state, &ClientError::server_lost(server), seq)
            }
            (None, None) => Ending::Silent,
        }
    }
}

impl Links {
    /// The backend's next packet, if it is a whole ERR packet.
    async fn read_error(&mut self, worker: &Worker) -> Option<Vec<u8>> {
        let mut packet = Vec::new();
        while packet.len() < whole(&packet)? {
            let backend = self.in_use.as_mut()?;
            let n = poll_fn(|cx| {
                let mut scratch = worker.net.scratch.borrow_mut();
                let n = ready!(backend.connection_mut().poll_read(cx, &mut scratch)).unwrap_or(0);
                packet.extend_from_slice(scratch.get(..n).unwrap_or_default());
                Poll::Ready(n)
            });
            if n.await == 0 {
                return None;
            }
        }
        packet.truncate(whole(&packet)?);
        (packet.get(HEADER_LEN) == Some(&packet::Err::HEADER)).then_some(packet)
    }
}

/// The payload of an ERR packet as the log has it: `error 1053: Server shutdown in progress`.
pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let error = packet::Err::decode(payload, Capabilities::PROTOCOL_41).ok()?;
    let message = error.message.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(error.message);
    Some(format!("error {}: {}", error.code, String::from_utf8_lossy(message)))
}

/// How long the packet is that begins with these bytes, header included, as far as they tell;
/// `None` if it is too long for an error.
fn whole(packet: &[u8]) -> Option<usize> {
    let len = packet.first_chunk().map_or(0, |header| Header::parse(*header).len as usize);
    (len < SCRATCH_BYTES).then_some(HEADER_LEN + len)
}

#[cfg(test)]
mod tests {
    use super::error_text;

    #[test]
    fn the_log_has_errors_of_servers_in_words() {
        let said = |payload: &[u8]| error_text(payload);
        let text = said(b"\xff\x1d\x04#08S01Server shutdown in progress");
        assert_eq!(text.as_deref(), Some("error 1053: Server shutdown in progress"));
        assert_eq!(said(b"\0\0\0\x02\0\0\0"), None);
        assert_eq!(said(b""), None);
    }
}
