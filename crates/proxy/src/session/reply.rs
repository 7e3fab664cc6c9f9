//! Replies of the proxy's own to the command in the backlog.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use wire::frame::MessageScanner;

use super::cx::Cx;
use super::entry::BookEntry;
use super::facts::endings::{interrupted, unreadable};
use super::facts::orders::obey;
use super::io::Io;
use super::links::Links;
use super::state::SessionState;
use crate::ending::Ending;
use crate::error::ClientError;

impl Cx<'_> {
    /// Reads one command to its end and forgets it. Returns the sequence id that an answer begins
    /// with.
    pub(super) async fn skip_command(&mut self) -> Result<u8, Ending> {
        // Until the command is whole the client is as good as idle, and has as long as an idle one.
        self.entry.set_slow();
        let mut scanner = MessageScanner::new(0);
        poll_fn(|cx| {
            poll_skip(self.entry, self.io, &mut self.leg.state, &mut self.leg.links, cx, &mut scanner)
        })
        .await?;
        if let Some(flight) = self.leg.flight.as_mut() {
            (flight.paused, flight.absent) = (None, None);
        }
        self.entry.control.set_busy();
        Ok(scanner.next_seq())
    }
}

fn poll_skip(
    entry: &BookEntry,
    io: &mut Io,
    state: &mut SessionState,
    links: &mut Links,
    cx: &mut Context<'_>,
    scanner: &mut MessageScanner,
) -> Poll<Result<(), Ending>> {
    obey(entry, state, links, true)?;
    loop {
        if io.backlog.is_empty() {
            ready!(io.poll_more(cx, &entry.worker.net.scratch))
                .map_err(|error| unreadable(entry, state, &error, scanner.next_seq()))?;
        }
        let seq = scanner.next_seq();
        let scanned = scanner
            .scan(&io.backlog)
            .map_err(|error| interrupted(entry, state, &ClientError::malformed(error), seq))?;
        io.backlog.drain(..scanned.len);
        entry.worker.check_size(scanner)?;
        if io.backlog.is_empty() {
            io.backlog = Vec::new();
        }
        if scanned.done {
            return Poll::Ready(Ok(()));
        }
    }
}
