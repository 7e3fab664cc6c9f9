//! Tests of the scanner: every kind of answer, every split, and a second implementation.

mod answers;
mod generated;
mod hostile;
mod large;
mod script;
mod slow;

use super::{Answer, End, Event, Outcome, ReplyScanner};
use crate::{Capabilities, StatusFlags, WireError};

/// Results end with EOF packets.
const CLASSIC: Capabilities = Capabilities::PROTOCOL_41;
/// Results end with OK packets.
const DEPRECATE: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF);
const BOTH: [Capabilities; 2] = [CLASSIC, DEPRECATE];

/// Scans `pieces` one after the other; the bytes that belong to the answer, and what came last.
fn scan_pieces<'a>(
    scanner: &mut ReplyScanner,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(usize, Event), WireError> {
    let mut total = 0;
    for piece in pieces {
        let scan = scanner.scan(piece)?;
        assert!(scan.len <= piece.len());
        total += scan.len;
        if scan.event != Event::More {
            return Ok((total, scan.event));
        }
        assert_eq!(scan.len, piece.len(), "the whole input of an answer that goes on belongs to it");
    }
    Ok((total, Event::More))
}

/// Scans `bytes` whole, byte by byte, and in two pieces cut at every place, with other bytes behind
/// them: all must find the same.
fn scan_all_splits(answer: Answer, caps: Capabilities, bytes: &[u8]) -> Result<(usize, Event), WireError> {
    let whole = scan_pieces(&mut ReplyScanner::new(answer, caps), [bytes]);
    let single = scan_pieces(&mut ReplyScanner::new(answer, caps), bytes.chunks(1));
    assert_eq!(single, whole, "byte by byte");
    for cut in 0..=bytes.len() {
        let (front, back) = bytes.split_at(cut);
        let two = scan_pieces(&mut ReplyScanner::new(answer, caps), [front, back]);
        assert_eq!(two, whole, "cut at {cut}");
    }
    if let Ok((len, Event::Done(_) | Event::LocalInfile)) = whole {
        let longer = [bytes, &[0xff; 9]].concat();
        let more = scan_pieces(&mut ReplyScanner::new(answer, caps), [longer.as_slice()]);
        assert_eq!(more, whole, "the next bytes from the server are not of this answer");
        assert!(len <= bytes.len());
    }
    whole
}

/// The outcome of an answer that `bytes` are exactly.
fn outcome(answer: Answer, caps: Capabilities, bytes: &[u8]) -> Outcome {
    match scan_all_splits(answer, caps, bytes) {
        Ok((len, Event::Done(outcome))) => {
            assert_eq!(len, bytes.len(), "all bytes are of the answer");
            outcome
        }
        other => panic!("{other:?}"),
    }
}

fn ok_end(status: StatusFlags) -> End {
    End::Ok { affected_rows: 0, last_insert_id: 0, status, warnings: 0 }
}
