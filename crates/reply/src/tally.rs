//! Reading an answer to its end, and what is counted of it: rows, and a checksum that does not
//! depend on their order.

use net::random::mix;
use session::definitions::{FNV, fnv};
use wire::frame::Pieces;
use wire::reply::{Answer, Event, Outcome, ReplyScanner};
use wire::{Capabilities, WireError};

/// An answer on its way.
#[derive(Debug)]
pub struct Tally {
    scanner: ReplyScanner,
    /// Nothing if rows are not looked at.
    rows: Option<Rows>,
}

/// What was seen of rows.
#[derive(Debug, Default)]
struct Rows {
    /// The sum of the hashes of all rows: the same in any order, and different if one comes twice.
    checksum: u64,
    seen: u64,
    /// The hash of what there is of the current message.
    hash: u64,
    pieces: Pieces,
}

impl Tally {
    /// The answer to a statement; its first packet has the sequence id `seq`. Rows are looked at if
    /// `checked`.
    pub fn new(capabilities: Capabilities, seq: u8, checked: bool) -> Self {
        let scanner = ReplyScanner::new(Answer::Result, capabilities).starting_at(seq);
        Self { scanner, rows: checked.then(|| Rows { hash: FNV, ..Rows::default() }) }
    }

    /// The checksum of the rows so far; 0 if they are not looked at.
    pub fn checksum(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.checksum)
    }

    /// The next bytes. When the answer is over: how it ended, and how many of the bytes belong to
    /// it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<(Outcome, usize)>, WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut behind = rest;
            let is_end = self.rows.as_mut().is_some_and(|checked| checked.read(&mut behind));
            if self.rows.is_none() {
                behind = &[];
            }
            let scan = self.scanner.scan(rest.get(..rest.len() - behind.len()).unwrap_or_default())?;
            let rows = self.scanner.rows();
            if let Some(checked) = self.rows.as_mut().filter(|_| is_end) {
                checked.end_message(rows);
            }
            match scan.event {
                Event::More | Event::Changed => rest = behind,
                Event::Done(outcome) => {
                    let behind = rest.len() - scan.len;
                    return Ok(Some((outcome, bytes.len() - behind)));
                }
                Event::LocalInfile => {
                    return Err(WireError::Unexpected { expected: "an answer", got: "a request for a file" });
                }
            }
        }
        Ok(None)
    }
}

impl Rows {
    /// Takes the next piece off `rest`; whether a message ends with it.
    fn read(&mut self, rest: &mut &[u8]) -> bool {
        let Some(piece) = self.pieces.take(rest) else { return false };
        self.hash = fnv(self.hash, piece.bytes);
        piece.ends_message()
    }

    /// A message is over. If there is a row more than before, it was one.
    fn end_message(&mut self, rows: u64) {
        if rows > self.seen {
            self.seen = rows;
            // Sums of plain FNV hashes of short rows are alike too easily.
            self.checksum = self.checksum.wrapping_add(mix(self.hash));
        }
        self.hash = FNV;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::frame::put_message;

    use super::*;

    /// An answer with one column and these rows, with EOF packets.
    fn answer(rows: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut seq = put_message(&mut bytes, 1, &[1]);
        seq = put_message(&mut bytes, seq, b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\0\0\0\0\0");
        seq = put_message(&mut bytes, seq, &[0xfe, 0, 0, 2, 0]);
        for row in rows {
            let mut cell = vec![u8::try_from(row.len()).unwrap()];
            cell.extend(row);
            seq = put_message(&mut bytes, seq, &cell);
        }
        put_message(&mut bytes, seq, &[0xfe, 0, 0, 2, 0]);
        bytes
    }

    /// Rows and checksum of an answer that comes in pieces of this length.
    fn tallied(bytes: &[u8], piece: usize) -> (u64, u64) {
        let mut tally = Tally::new(Capabilities::PROTOCOL_41, 1, true);
        let mut end = None;
        for piece in bytes.chunks(piece) {
            assert!(end.is_none());
            end = tally.read(piece).unwrap();
        }
        (end.unwrap().0.rows, tally.checksum())
    }

    proptest! {
        #[test]
        fn neither_the_order_of_rows_nor_cuts_matter(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9),
            piece in 1..40_usize,
        ) {
            let (count, sum) = tallied(&answer(&rows), usize::MAX);
            prop_assert_eq!(count, rows.len() as u64);
            prop_assert_eq!(tallied(&answer(&rows), piece), (count, sum));
            let reversed: Vec<_> = rows.iter().rev().cloned().collect();
            prop_assert_eq!(tallied(&answer(&reversed), 7), (count, sum));
            let mut other = rows.clone();
            other.push(b"another".to_vec());
            prop_assert_ne!(tallied(&answer(&other), 7).1, sum);
        }
    }

    #[test]
    fn a_row_twice_is_not_the_same_as_none() {
        let row = || b"x".to_vec();
        let sums: Vec<_> = (0..4).map(|n| tallied(&answer(&vec![row(); n]), 5).1).collect();
        assert!(sums.iter().enumerate().all(|(at, sum)| !sums[..at].contains(sum)));
    }

    #[test]
    fn bytes_behind_an_answer_are_not_of_it() {
        let mut bytes = answer(&[b"a".to_vec()]);
        let len = bytes.len();
        bytes.extend(b"more");
        for checked in [false, true] {
            let mut tally = Tally::new(Capabilities::PROTOCOL_41, 1, checked);
            assert_eq!(tally.read(&bytes).unwrap().unwrap().1, len);
        }
    }

    #[test]
    fn a_request_for_a_file_is_an_error() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, 1, b"\xfbname");
        assert!(Tally::new(Capabilities::PROTOCOL_41, 1, true).read(&bytes).is_err());
    }
}
