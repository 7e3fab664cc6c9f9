//! Replies of the proxy's own to the command in the backlog.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use wire::frame::{HEADER_LEN, MessageScanner, put_message};

use super::Session;
use super::facts::endings::{code, interrupted, unreadable};
use super::facts::orders::obey;
use crate::control::Signal;
use crate::counted::note_own_error;
use crate::ending::Ending;
use crate::error::ClientError;

impl Session {
    /// Reads one command to its end and forgets it. Returns the sequence id that an answer begins
    /// with.
    pub(super) async fn skip_command(&mut self) -> Result<u8, Ending> {
        // Until the command is whole the client is as good as idle, and has as long as an idle one.
        self.entry.set_slow();
        let mut scanner = MessageScanner::new(0);
        poll_fn(|cx| self.poll_skip(cx, &mut scanner)).await?;
        if let Some(flight) = self.flight.as_mut() {
            (flight.paused, flight.absent) = (None, None);
        }
        self.entry.control.set_busy();
        Ok(scanner.next_seq())
    }

    fn poll_skip(&mut self, cx: &mut Context<'_>, scanner: &mut MessageScanner) -> Poll<Result<(), Ending>> {
        obey(&self.entry, &mut self.state, &mut self.links, true)?;
        loop {
            if self.io.backlog.is_empty() {
                ready!(self.io.poll_more(cx, &self.entry.worker.net.scratch))
                    .map_err(|error| unreadable(&self.entry, &self.state, &error, scanner.next_seq()))?;
            }
            let seq = scanner.next_seq();
            let scanned = scanner.scan(&self.io.backlog).map_err(|error| {
                interrupted(&self.entry, &self.state, &ClientError::malformed(error), seq)
            })?;
            self.io.backlog.drain(..scanned.len);
            self.entry.worker.check_size(scanner)?;
            if self.io.backlog.is_empty() {
                self.io.backlog = Vec::new();
            }
            if scanned.done {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Answers a command with one packet.
    pub(super) async fn reply(&mut self, seq: u8, payload: &[u8]) -> Result<(), Ending> {
        let mut packet = Vec::new();
        put_message(&mut packet, seq, payload);
        self.write_to_client(&packet).await
    }

    pub(super) async fn reply_error(&mut self, seq: u8, error: &ClientError) -> Result<(), Ending> {
        note_own_error(&self.entry.worker, &self.entry.control, error);
        let packet = error.to_packet(seq, self.state.identity.capabilities);
        self.write_to_client(&packet).await
    }

    pub(super) async fn write_to_client(&mut self, packet: &[u8]) -> Result<(), Ending> {
        self.state.note_error_code(packet.get(HEADER_LEN..).and_then(code));
        // A client that does not read has as much time as an idle one.
        self.entry.set_slow();
        let written = self.entry.control.until(Signal::Stop, self.io.sock.write_all(packet)).await;
        Ok(written.map_err(|_| Ending::Silent)??)
    }
}
