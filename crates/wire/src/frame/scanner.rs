//! Finds where one message ends without keeping its bytes.

use super::Pieces;
use crate::WireError;

/// Follows one message through any number of reads, looking at its packet headers only.
///
/// For messages that are passed on as they come, of any size. After an error it is of no further
/// use: the connection has no defined next byte any more.
#[derive(Debug, Clone)]
pub struct MessageScanner {
    pieces: Pieces,
    /// Payload bytes that the headers have announced.
    announced: u64,
    seq: u8,
    /// Whether the header of the current packet was seen.
    is_in_packet: bool,
    done: bool,
}

const _: () = assert!(size_of::<MessageScanner>() <= 32, "one is held per session");

/// What [`MessageScanner::scan`] found in its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Bytes of the input, headers included, that belong to the message.
    pub len: usize,
    /// Whether the message ends there; else all of the input belongs to it.
    pub done: bool,
}

impl MessageScanner {
    /// A scanner for a message whose first packet carries the sequence id `first_seq`.
    pub const fn new(first_seq: u8) -> Self {
        Self { pieces: Pieces::new(), announced: 0, seq: first_seq, is_in_packet: false, done: false }
    }

    /// Goes on with the bytes that follow the ones of the last call.
    ///
    /// Once the message has ended, nothing belongs to it any more: `len` is 0 and `done` stays
    /// true.
    pub fn scan(&mut self, input: &[u8]) -> Result<Scanned, WireError> {
        let mut rest = input;
        while !self.done {
            let piece = self.pieces.take(&mut rest);
            if let Some(header) = piece.map(|piece| piece.header).or_else(|| self.pieces.header())
                && !std::mem::replace(&mut self.is_in_packet, true)
            {
                if header.seq != self.seq {
                    return Err(WireError::OutOfOrder { expected: self.seq, got: header.seq });
                }
                self.seq = self.seq.wrapping_add(1);
                self.announced += u64::from(header.len);
            }
            let Some(piece) = piece else { return Ok(Scanned { len: input.len(), done: false }) };
            self.is_in_packet = !piece.ends();
            self.done = piece.ends_message();
        }
        Ok(Scanned { len: input.len() - rest.len(), done: true })
    }

    /// The sequence id after the last header seen: the one that an answer starts with.
    pub const fn next_seq(&self) -> u8 {
        self.seq
    }

    /// Payload bytes that the headers seen so far announce, to be compared with
    /// `max_allowed_packet`.
    pub const fn payload_len(&self) -> u64 {
        self.announced
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::frame::{MAX_PAYLOAD, put_message};

    /// Scans `bytes` in pieces of the `cuts`' lengths; returns how many belong to the message, and
    /// whether it ended.
    fn scan_all(
        scanner: &mut MessageScanner,
        bytes: &[u8],
        cuts: &[usize],
    ) -> Result<(usize, bool), WireError> {
        let mut rest = bytes;
        let mut cuts = cuts.iter();
        let mut total = 0;
        while !rest.is_empty() {
            let len = cuts.next().map_or(rest.len(), |&cut| cut.min(rest.len()));
            let (piece, after) = rest.split_at(len);
            rest = after;
            let Scanned { len, done } = scanner.scan(piece)?;
            total += len;
            if done {
                return Ok((total, true));
            }
            assert_eq!(len, piece.len(), "everything belongs to a message that has not ended");
        }
        Ok((total, false))
    }

    proptest! {
        #[test]
        fn any_split_finds_the_same_end(
            payload: Vec<u8>,
            behind: Vec<u8>,
            seq: u8,
            cuts in vec(0usize..9, 0..60),
        ) {
            let mut bytes = Vec::new();
            let next = put_message(&mut bytes, seq, &payload);
            let end = bytes.len();
            bytes.extend_from_slice(&behind);
            let mut scanner = MessageScanner::new(seq);
            prop_assert_eq!(scan_all(&mut scanner, &bytes, &cuts), Ok((end, true)));
            prop_assert_eq!(scanner.next_seq(), next);
            prop_assert_eq!(scanner.payload_len(), payload.len() as u64);
            prop_assert_eq!(scanner.scan(&behind), Ok(Scanned { len: 0, done: true }));
        }

        #[test]
        fn a_wrong_sequence_id_is_refused_at_any_split(
            expected: u8,
            got: u8,
            cuts in vec(0usize..4, 0..6),
        ) {
            prop_assume!(expected != got);
            let mut bytes = Vec::new();
            put_message(&mut bytes, got, b"select 1");
            let result = scan_all(&mut MessageScanner::new(expected), &bytes, &cuts);
            prop_assert_eq!(result, Err(WireError::OutOfOrder { expected, got }));
        }
    }

    #[test]
    fn messages_of_every_size_around_a_full_packet() {
        let sizes = [0, 1, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, MAX_PAYLOAD + 2, 2 * MAX_PAYLOAD];
        for size in sizes {
            let mut bytes = Vec::new();
            let next = put_message(&mut bytes, 254, &vec![0xff; size]);
            let end = bytes.len();
            bytes.extend_from_slice(b"behind");
            for cuts in [
                &[][..],
                &[1, 1, 1, 1, MAX_PAYLOAD - 1, 1, 1, 1, 1, 1],
                &[2, MAX_PAYLOAD + 4, 2, MAX_PAYLOAD],
                &[4, MAX_PAYLOAD, 4],
            ] {
                let mut scanner = MessageScanner::new(254);
                assert_eq!(scan_all(&mut scanner, &bytes, cuts), Ok((end, true)), "{size} bytes");
                assert_eq!((scanner.next_seq(), scanner.payload_len()), (next, size as u64));
                let mut scanner = MessageScanner::new(254);
                let part = scan_all(&mut scanner, &bytes[..end - 1], cuts);
                assert_eq!(part, Ok((end - 1, false)), "{size} bytes but one");
            }
        }
    }

    #[test]
    fn the_packets_of_one_message_are_in_order() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, 0, &vec![1; MAX_PAYLOAD]);
        *bytes.last_mut().unwrap() = 0;
        let result = scan_all(&mut MessageScanner::new(0), &bytes, &[]);
        assert_eq!(result, Err(WireError::OutOfOrder { expected: 1, got: 0 }));
    }

    #[test]
    fn no_input_changes_nothing() {
        let mut scanner = MessageScanner::new(0);
        assert_eq!(scanner.scan(&[]), Ok(Scanned { len: 0, done: false }));
        assert_eq!(scanner.scan(&[0, 0, 0, 0]), Ok(Scanned { len: 4, done: true }));
        assert_eq!(scanner.scan(&[]), Ok(Scanned { len: 0, done: true }));
    }
}
