//! Reading an answer to its end, and what is counted of it: rows, and a checksum that does not
//! depend on their order.

use wire::frame::{HEADER_LEN, Header};
use wire::reply::{Answer, Event, Outcome, ReplyScanner};
use wire::{Capabilities, WireError};

use crate::random::mix;

/// FNV-1a's start and factor.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Tally {
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
    header: [u8; HEADER_LEN],
    header_len: usize,
    /// Bytes of the current packet that did not come yet.
    left: usize,
    continued: bool,
}

impl Tally {
    /// The answer to a statement; its first packet has the sequence id `seq`. Rows are looked at if
    /// `checked`.
    pub(crate) fn new(capabilities: Capabilities, seq: u8, checked: bool) -> Self {
        let scanner = ReplyScanner::new(Answer::Result, capabilities).starting_at(seq);
        Self { scanner, rows: checked.then(|| Rows { hash: OFFSET, ..Rows::default() }) }
    }

    /// The checksum of the rows so far; 0 if they are not looked at.
    pub(crate) fn checksum(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.checksum)
    }

    /// The next bytes. When the answer is over: how it ended, and how many of the bytes belong to
    /// it.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<(Outcome, usize)>, WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let len = self.rows.as_ref().map_or(rest.len(), |rows| rows.piece(rest));
            let (piece, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let scan = self.scanner.scan(piece)?;
            let rows = self.scanner.rows();
            let is_end = self.rows.as_mut().is_some_and(|checked| checked.read(piece));
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
    /// How many of the next bytes belong to the same header, or the same payload.
    fn piece(&self, rest: &[u8]) -> usize {
        if self.left > 0 { self.left.min(rest.len()) } else { (HEADER_LEN - self.header_len).min(rest.len()) }
    }

    /// Takes note of a piece; whether a message ends with it.
    fn read(&mut self, piece: &[u8]) -> bool {
        if self.left > 0 {
            for byte in piece {
                self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(PRIME);
            }
            self.left -= piece.len();
        } else {
            if let Some(place) = self.header.get_mut(self.header_len..self.header_len + piece.len()) {
                place.copy_from_slice(piece);
            }
            self.header_len += piece.len();
            if self.header_len < HEADER_LEN {
                return false;
            }
            let header = Header::parse(self.header);
            (self.left, self.continued) = (header.len as usize, header.continues());
        }
        if self.left > 0 {
            return false;
        }
        self.header_len = 0;
        !self.continued
    }

    /// A message is over. If there is a row more than before, it was one.
    fn end_message(&mut self, rows: u64) {
        if rows > self.seen {
            self.seen = rows;
            // Sums of plain FNV hashes of short rows are alike too easily.
            self.checksum = self.checksum.wrapping_add(mix(self.hash));
        }
        self.hash = OFFSET;
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
