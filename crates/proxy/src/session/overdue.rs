//! Statements that take longer than they may: they are killed at their server, and the client hears
//! why.
//!
//! What a rule or a hint allows is kept to the millisecond, by a timer beside the answer. What
//! `mysql-default_query_timeout` allows the worker looks after once in a second, so that other
//! statements need no timer.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use tokio::time::{Instant, sleep_until};
use wire::Capabilities;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::{End, Event, Outcome};

use super::Session;
use crate::ending::Ending;
use crate::error::ClientError;

/// `ER_QUERY_INTERRUPTED`: what servers say of a statement that was killed.
pub(super) const INTERRUPTED: u16 = 1317;

impl Session {
    /// Relays answers as [`relay_answers`](Self::relay_answers) does; if they are not there by
    /// `deadline` the statement is killed.
    pub(super) async fn relay_until(&mut self, deadline: Instant, seq: u8) -> Result<(), Ending> {
        let (worker, control) = (Rc::clone(&self.worker), Rc::clone(&self.control));
        let mut timer = pin!(sleep_until(deadline));
        let mut is_over = false;
        let mut relaying = pin!(self.relay_answers(seq));
        poll_fn(|cx| {
            if !is_over && timer.as_mut().poll(cx).is_ready() {
                is_over = true;
                control.end_overdue(Instant::now(), worker.settings().patience.statement);
            }
            relaying.as_mut().poll(cx)
        })
        .await
    }
}

/// Whether an answer ends with what servers say of a statement that was killed.
pub(super) const fn is_interrupted(event: Event) -> bool {
    matches!(event, Event::Done(Outcome { end: End::Err { code: INTERRUPTED }, .. }))
}

/// The packets with another error in the place of the last one; nothing if they are not whole.
pub(super) fn timed_out(packets: &[u8], caps: Capabilities) -> Option<Vec<u8>> {
    let mut start = 0;
    loop {
        let header = packets.get(start..)?.first_chunk::<HEADER_LEN>().map(|bytes| Header::parse(*bytes))?;
        let end = start + HEADER_LEN + header.len as usize;
        if end > packets.len() {
            return None;
        }
        if end == packets.len() {
            let mut told = packets.get(..start)?.to_vec();
            told.extend(ClientError::QueryTimeout.to_packet(header.seq, caps));
            return Some(told);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::*;

    #[test]
    fn the_last_packet_is_another_error() {
        let caps = Capabilities::PROTOCOL_41;
        let mut packets = Vec::new();
        put_message(&mut packets, 5, b"a row");
        let rows = packets.len();
        put_message(&mut packets, 6, b"\xff\x25\x05#70100Query execution was interrupted");
        let told = timed_out(&packets, caps).unwrap();
        assert_eq!(told[..rows], packets[..rows]);
        assert_eq!(told[rows + 3], 6);
        assert!(told.ends_with(b"\xff\x73\x07#70100Query execution was interrupted, query_timeout exceeded"));
        assert_eq!(timed_out(&packets[..packets.len() - 1], caps), None);
        assert_eq!(timed_out(&[], caps), None);
    }
}
