//! Replies that the client gets as a whole, or not at all: of statements that were sent in a batch.
//! Such a statement may be sent again alone, and nothing of its reply may be relayed before.

use std::borrow::Cow;

use wire::reply::{Event, ReplyScanner};

use crate::limits::WITHHELD_MAX;

/// A reply, as far as it is withheld.
#[derive(Debug, Default)]
pub struct Withhold {
    is_on: bool,
    /// Bytes of the reply so far.
    bytes: usize,
    /// Those that wait for its end.
    kept: Vec<u8>,
}

impl Withhold {
    /// A reply before its first byte, which is withheld or not.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Whether nothing of the reply was relayed before its end.
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Bytes of the reply so far.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How much of a buffer of this many bytes may be read into: with what is kept it is no more
    /// than that.
    pub const fn room(&self, buffer: usize) -> usize {
        buffer.saturating_sub(self.kept.len())
    }

    /// What there is of the reply that `reply` reads, once it is whole, when this was read. A reply
    /// that is too large to be kept goes on as it comes.
    pub fn gather<'a>(&mut self, reply: Option<&mut ReplyScanner>, read: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        self.bytes = self.bytes.saturating_add(read.len());
        let reply = reply.filter(|_| self.is_on);
        let Some(reply) = reply else { return Some(Cow::Borrowed(read)) };
        if self.kept.is_empty() && has_end(reply, read) {
            return Some(Cow::Borrowed(read));
        }
        self.kept.extend_from_slice(read);
        if self.kept.len() > WITHHELD_MAX {
            self.is_on = false;
        } else if !has_end(reply, &self.kept) {
            return None;
        }
        Some(Cow::Owned(std::mem::take(&mut self.kept)))
    }
}

/// Whether the end of the answer that `reply` reads is in `bytes`, or something that makes no
/// sense.
fn has_end(reply: &ReplyScanner, bytes: &[u8]) -> bool {
    let (mut reply, mut rest) = (reply.clone(), bytes);
    loop {
        match reply.scan(rest) {
            Ok(scan) if scan.event == Event::More => return false,
            Ok(scan) if scan.event == Event::Changed => rest = rest.get(scan.len..).unwrap_or_default(),
            _ => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::Capabilities;
    use wire::frame::put_message;
    use wire::reply::Answer;

    use super::*;

    /// What a client gets after each read of a reply that comes in these pieces.
    fn gathered(pieces: &[&[u8]]) -> (Vec<Option<usize>>, bool) {
        let mut reply = ReplyScanner::new(Answer::Result, Capabilities::PROTOCOL_41);
        let mut withhold = Withhold::new(true);
        let lens = pieces.iter().map(|piece| {
            let whole = withhold.gather(Some(&mut reply), piece)?;
            // What is not withheld any more is read as it comes.
            let _ = reply.scan(&whole);
            Some(whole.len())
        });
        (lens.collect(), withhold.is_on())
    }

    #[test]
    fn a_reply_is_withheld_until_it_is_whole() {
        let mut packets = Vec::new();
        put_message(&mut packets, 1, b"\xff\x15\x04#28000No");
        let (first, second) = packets.split_at(5);
        assert_eq!(gathered(&[&packets]), (vec![Some(packets.len())], true), "nothing is copied");
        assert_eq!(gathered(&[first, second]), (vec![None, Some(packets.len())], true));
        let mut withhold = Withhold::new(false);
        assert_eq!(withhold.gather(None, first).as_deref(), Some(first));
        assert_eq!((withhold.bytes(), withhold.room(7)), (5, 7));
    }

    #[test]
    fn a_large_reply_is_not_kept() {
        let mut rows = Vec::new();
        put_message(&mut rows, 1, &[1]);
        put_message(&mut rows, 2, b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0");
        put_message(&mut rows, 3, b"\xfe\0\0\x02\0");
        let row = vec![b'a'; WITHHELD_MAX];
        assert_eq!(gathered(&[&rows, &row]), (vec![None, Some(rows.len() + row.len())], false));
    }
}
