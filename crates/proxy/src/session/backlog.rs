//! The command that the backlog begins with: looking at it, having all of it, and changing it.

use std::future::poll_fn;
use std::task::{Poll, ready};

use wire::frame::{Header, MessageScanner, whole_front};

use super::cx::Cx;
use super::facts::commands::{Look, look};
use super::facts::orders::obey;
use crate::ending::Ending;
use crate::session::facts::routing::is_enough;
use crate::worker::Worker;

/// Whether more of a command will come, and all of it fits into one packet.
pub(super) fn will_be_whole(bytes: &[u8]) -> bool {
    let header = bytes.first_chunk().map(|header| Header::parse(*header));
    header.is_some_and(|header| !header.continues()) && whole_front(bytes).is_none()
}

impl Cx<'_> {
    /// Reads on until it is clear what the command is, and as much of it is there as a decision
    /// takes.
    pub(super) async fn complete_command(&mut self) -> Result<(), Ending> {
        let lacks = |session: &Self| {
            let command = session.io.command(session.leg.state.identity.capabilities);
            command.is_none_or(|command| {
                look(&session.entry.worker, session.leg, command) == Look::Cut || !is_enough(command)
            })
        };
        self.read_while(lacks).await
    }

    /// Reads on until all of the front is there, unless it is larger than one packet.
    pub(super) async fn complete_front(&mut self) -> Result<(), Ending> {
        self.read_while(|session| will_be_whole(&session.io.backlog)).await
    }

    async fn read_while(&mut self, lacks: impl Fn(&Self) -> bool) -> Result<(), Ending> {
        self.entry.set_slow();
        poll_fn(|cx| {
            obey(self.entry, &mut self.leg.state, &mut self.leg.links, true)?;
            while lacks(self) {
                ready!(self.io.poll_more(cx, &self.entry.worker.net.scratch))?;
                // Each piece counts as a sign of life; between two the client may be as slow as an
                // idle one.
                self.entry.set_slow();
            }
            Poll::Ready(Ok::<_, Ending>(()))
        })
        .await?;
        self.entry.control.set_busy();
        Ok(())
    }
}

impl Worker {
    /// Refuses a command larger than `mysql-max_allowed_packet`.
    pub(super) fn check_size(&self, scanner: &MessageScanner) -> Result<(), Ending> {
        let max = self.settings().variables.max_allowed_packet;
        if scanner.payload_len() <= u64::from(max) {
            return Ok(());
        }
        Err(Ending::TooLarge(scanner.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_may_become_whole() {
        assert!(will_be_whole(b"\x02\0\0\0\x03"));
        assert!(!will_be_whole(b"\x02\0\0\0\x03A") && !will_be_whole(b"\xff\xff\xff\0\x03A"));
    }
}
