//! Answers that tell the client that a prepared statement has other columns than it was told: so
//! servers do it whose tables have changed, and so it is if the statement had to be prepared anew
//! over another connection. Where it was prepared with others than the client knows, what its
//! server says of that is about those: it becomes what the client has to hear.

use wire::codec::Reader;
use wire::frame::Pieces;
use wire::packet::{Eof, Err};
use wire::{Capabilities, StatusFlags};

/// Bytes of an OK packet up to and including its status: a header and two numbers of up to 9 bytes
/// in front of it.
const HEAD_MAX: usize = 21;

/// The answer to an execution, while it passes.
#[derive(Debug)]
pub struct Columns {
    capabilities: Capabilities,
    pieces: Pieces,
    /// The beginning of a payload that is not complete enough to be judged.
    held: Vec<u8>,
    /// Whether the next packet continues the message of the one before it.
    continued: bool,
    /// How many packets that end something are still to come.
    ends: u8,
    /// How many columns the client knows of.
    known: u16,
    /// Whether the result has others; nothing before its first packet.
    are_others: Option<bool>,
}

impl Columns {
    /// An answer of rows before its first byte, for a client with these capabilities that knows of
    /// so many columns; `cursor` says whether the rows are fetched later.
    pub const fn new(capabilities: Capabilities, cursor: bool, known: u16) -> Self {
        let is_classic = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        let ends = if is_classic && !cursor { 2 } else { 1 };
        Self {
            capabilities,
            pieces: Pieces::new(),
            held: Vec::new(),
            continued: false,
            ends,
            known,
            are_others: None,
        }
    }

    /// The bytes for the client, in place of these, the next ones of the server.
    pub(crate) fn rewrite(&mut self, mut input: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(input.len() + self.held.len());
        while self.ends > 0
            && let Some(piece) = self.pieces.take(&mut input)
        {
            if piece.at > self.held.len() {
                out.extend_from_slice(piece.bytes);
                continue;
            }
            self.held.extend_from_slice(piece.bytes);
            let len = piece.header.len as usize;
            if self.held.len() >= len.min(HEAD_MAX) {
                out.extend_from_slice(&piece.header.to_bytes());
                let begin = out.len();
                out.append(&mut self.held);
                if !std::mem::replace(&mut self.continued, piece.header.continues()) {
                    self.judge(len, out.get_mut(begin..).unwrap_or_default());
                }
            }
        }
        out.extend_from_slice(input);
        out
    }

    /// Puts the flag into a packet that ends something, or takes it out. `payload` is the beginning
    /// of one of `len` bytes.
    fn judge(&mut self, len: usize, payload: &mut [u8]) {
        match payload.first() {
            Some(&Err::HEADER) => self.ends = 0,
            // The first packet is the number of columns.
            _ if self.are_others.is_none() => {
                let columns = Reader::new(payload).lenenc("columns").ok();
                self.are_others = Some(columns != Some(self.known.into()));
            }
            // A row in binary begins with 0, a definition with the length of `def`.
            Some(&Eof::HEADER) => {
                self.ends = self.ends.saturating_sub(1);
                let at = if len < Eof::BYTES_END && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                    Some(3)
                } else {
                    status_of_ok(payload)
                };
                let high = at.and_then(|at| payload.get_mut(at + 1));
                let flag = StatusFlags::METADATA_CHANGED.bits().to_le_bytes()[1];
                match (high, self.are_others) {
                    (Some(high), Some(false)) => *high &= !flag,
                    (Some(high), _) => *high |= flag,
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }
}

/// Where in an OK packet its status is.
fn status_of_ok(payload: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(payload);
    reader.u8("header").ok()?;
    reader.lenenc("affected rows").ok()?;
    reader.lenenc("last insert id").ok()?;
    Some(payload.len() - reader.left())
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::*;

    fn answer(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    /// Whatever the reads are, the packets that end something have the flag, and all others are as
    /// they were.
    fn becomes(capabilities: Capabilities, cursor: bool, before: &[&[u8]], behind: &[&[u8]]) {
        becomes_for(3, capabilities, cursor, before, behind);
    }

    /// The same for a client that knows of so many columns.
    fn becomes_for(known: u16, capabilities: Capabilities, cursor: bool, before: &[&[u8]], behind: &[&[u8]]) {
        let (before, behind) = (answer(before), answer(behind));
        for cut in 0..before.len() {
            let mut changed = Columns::new(capabilities, cursor, known);
            let (first, second) = before.split_at(cut);
            let told = [changed.rewrite(first), changed.rewrite(second)].concat();
            assert_eq!(told, behind, "cut at {cut}");
        }
    }

    const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
    const ROW: &[u8] = b"\0\0\xfe\0\0\0";
    const EOF: &[u8] = b"\xfe\0\0\x02\0";
    const EOF_CHANGED: &[u8] = b"\xfe\0\0\x02\x04";

    #[test]
    fn c15_the_flag_is_in_all_packets_that_end_something() {
        let none = Capabilities::PROTOCOL_41;
        let rows = [&[1][..], COLUMN, EOF, ROW, ROW, EOF];
        becomes(none, false, &rows, &[&[1], COLUMN, EOF_CHANGED, ROW, ROW, EOF_CHANGED]);
        becomes(none, true, &[&[1], COLUMN, EOF], &[&[1], COLUMN, EOF_CHANGED]);
        let ok = |status: u8| [b"\xfe\0\0\x02", &[status][..], b"\0\0and more than a header"].concat();
        let caps = none.union(Capabilities::DEPRECATE_EOF);
        becomes(caps, false, &[&[1], COLUMN, ROW, &ok(0)], &[&[1], COLUMN, ROW, &ok(4)]);
        let refusal = b"\xff\x7a\x04#42S02There is no such table".as_slice();
        becomes(none, false, &[refusal, EOF], &[refusal, EOF]);
    }

    #[test]
    fn c15_a_client_that_knows_the_columns_is_not_told() {
        let none = Capabilities::PROTOCOL_41;
        let rows = [&[1][..], COLUMN, EOF_CHANGED, ROW, EOF_CHANGED];
        becomes_for(1, none, false, &rows, &[&[1], COLUMN, EOF, ROW, EOF]);
        becomes_for(1, none, true, &[&[1], COLUMN, EOF_CHANGED], &[&[1], COLUMN, EOF]);
        let caps = none.union(Capabilities::DEPRECATE_EOF);
        let ok = |status: u8| [b"\xfe\0\0\x02", &[status][..], b"\0\0"].concat();
        becomes_for(1, caps, false, &[&[1], COLUMN, ROW, &ok(4)], &[&[1], COLUMN, ROW, &ok(0)]);
    }

    #[test]
    fn c15_the_second_packet_of_a_row_ends_nothing() {
        let none = Capabilities::PROTOCOL_41;
        let row = [vec![0; wire::frame::MAX_PAYLOAD], b"\xfe\0\0\x02\0 of a value".to_vec()].concat();
        let before = answer(&[&[1], COLUMN, EOF, &row, EOF]);
        let mut changed = Columns::new(none, false, 3);
        assert!(changed.rewrite(&before) == answer(&[&[1], COLUMN, EOF_CHANGED, &row, EOF_CHANGED]));
    }
}
