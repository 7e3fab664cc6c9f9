//! The command that the backlog begins with: looking at it, having all of it, and changing it.

use std::future::poll_fn;
use std::task::{Poll, ready};

pub(super) use wire::frame::front;
use wire::frame::{Header, MessageScanner, Packet};

use super::Session;
use super::ids::Look;
use super::route::is_enough;
use crate::ending::Ending;
use crate::worker::Worker;

/// The payload of the command that bytes begin with, if all of it is there, in one packet.
pub(super) fn whole_front(bytes: &[u8]) -> Option<&[u8]> {
    let (packet, _) = Packet::split(bytes)?;
    (!packet.header.continues()).then_some(packet.payload)
}

/// Whether more of a command will come, and all of it fits into one packet.
fn will_be_whole(bytes: &[u8]) -> bool {
    let header = bytes.first_chunk().map(|header| Header::parse(*header));
    header.is_some_and(|header| !header.continues()) && whole_front(bytes).is_none()
}

impl Session {
    /// Reads on until it is clear what the command is, and as much of it is there as a decision
    /// takes.
    pub(super) async fn complete_command(&mut self) -> Result<(), Ending> {
        let lacks = |session: &Self| {
            let command = session.io.command(session.state.identity.capabilities);
            command.is_none_or(|command| session.look(command) == Look::Cut || !is_enough(command))
        };
        self.read_while(lacks).await
    }

    /// Reads on until all of the front is there, unless it is larger than one packet.
    pub(super) async fn complete_front(&mut self) -> Result<(), Ending> {
        self.read_while(|session| will_be_whole(&session.io.backlog)).await
    }

    async fn read_while(&mut self, lacks: impl Fn(&Self) -> bool) -> Result<(), Ending> {
        self.set_slow();
        poll_fn(|cx| {
            self.obey(true)?;
            while lacks(self) {
                ready!(self.io.poll_more(cx, &self.worker.net.scratch))?;
                // Each piece counts as a sign of life; between two the client may be as slow as an
                // idle one.
                self.set_slow();
            }
            Poll::Ready(Ok::<_, Ending>(()))
        })
        .await?;
        self.control.set_busy();
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
    fn a_front_may_be_cut() {
        for (bytes, there, whole) in [
            (&b""[..], &b""[..], None),
            (b"\x02\0", b"", None),
            (b"\x02\0\0\0", b"", None),
            (b"\x02\0\0\0\x03", b"\x03", None),
            (b"\x02\0\0\0\x03Abehind", b"\x03A", Some(&b"\x03A"[..])),
            (b"\0\0\0\0behind", b"", Some(b"")),
            (b"\xff\xff\xff\0\x03A", b"\x03A", None),
        ] {
            assert_eq!((front(bytes), whole_front(bytes)), (there, whole), "{bytes:?}");
        }
        assert!(will_be_whole(b"\x02\0\0\0\x03"));
        assert!(!will_be_whole(b"\x02\0\0\0\x03A") && !will_be_whole(b"\xff\xff\xff\0\x03A"));
    }
}
