//! What a backend says out of turn: before it has the whole command, or on an idle connection.
//!
//! A server does so when it is about to close: it shuts down, a time is up, a KILL has ended the
//! connection, a command is too large for it. An error packet says why, and the client gets it as
//! on a connection of its own. Anything else answers no command and is not forwarded: it would be
//! taken for the answer to another command.

use std::future::poll_fn;
use std::task::{Poll, ready};

use net::SCRATCH_BYTES;
use runtime::worker::Worker;
use wire::frame::{HEADER_LEN, Header};
use wire::packet;

use crate::links::Links;

impl Links {
    /// The backend's next packet, if it is a whole ERR packet.
    pub(crate) async fn read_error(&mut self, worker: &Worker) -> Option<Vec<u8>> {
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

/// How long the packet is that begins with these bytes, header included, as far as they tell;
/// `None` if it is too long for an error.
fn whole(packet: &[u8]) -> Option<usize> {
    let len = packet.first_chunk().map_or(0, |header| Header::parse(*header).len as usize);
    (len < SCRATCH_BYTES).then_some(HEADER_LEN + len)
}

#[cfg(test)]
mod tests {
    use crate::facts::endings::error_text;

    #[test]
    fn the_log_has_errors_of_servers_in_words() {
        let said = |payload: &[u8]| error_text(payload);
        let text = said(b"\xff\x1d\x04#08S01Server shutdown in progress");
        assert_eq!(text.as_deref(), Some("error 1053: Server shutdown in progress"));
        assert_eq!(said(b"\0\0\0\x02\0\0\0"), None);
        assert_eq!(said(b""), None);
    }
}
