//! Messages out of any bytes, split in any way.

use super::input::pieces;
use crate::{
    WireError,
    frame::{MessageReader, MessageScanner, Scanned, put_message},
};

/// Bytes of the longest message that is assembled.
const MESSAGE_LEN_MAX: usize = 1 << 20;

/// Bytes at the front that say how the rest is split.
const LENGTHS: usize = 4;

/// Reads `data` behind its first four bytes as messages, in one piece and in pieces of those
/// lengths.
pub fn frame(data: &[u8]) {
    let (lengths, bytes) = data.split_at_checked(LENGTHS).unwrap_or((&[], data));
    let read = read(bytes, &[]);
    assert_eq!(read, self::read(bytes, lengths), "messages depend on the split");
    let scan = scan(bytes, &[]);
    assert_eq!(scan, self::scan(bytes, lengths), "the end of a message depends on the split");
    let first = read.messages.first();
    match scan {
        Ok(Scanned { len, done: true }) => {
            if let Some(message) = first {
                let mut again = Vec::new();
                put_message(&mut again, 0, message);
                assert_eq!(Some(&*again), bytes.get(..len), "the reader and the scanner disagree");
            } else {
                let limit = MESSAGE_LEN_MAX;
                assert_eq!(read.error, Some(WireError::TooLong { limit }), "the reader found no message");
            }
        }
        Ok(Scanned { len, done: false }) => {
            assert_eq!(len, bytes.len(), "an incomplete message has all the bytes");
            assert_eq!(first, None, "the scanner missed the end of a message");
        }
        Err(_) => assert_eq!(first, None, "the scanner refused a message"),
    }
}

/// What came out of a [`MessageReader`].
#[derive(Debug, PartialEq, Eq)]
struct Read {
    messages: Vec<Vec<u8>>,
    error: Option<WireError>,
    next_seq: u8,
}

fn read(bytes: &[u8], lengths: &[u8]) -> Read {
    let mut reader = MessageReader::new(MESSAGE_LEN_MAX);
    let mut messages = Vec::new();
    let mut error = None;
    'pieces: for piece in pieces(bytes, lengths) {
        reader.feed(piece);
        loop {
            match reader.message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(refusal) => {
                    assert_eq!(reader.message(), Err(refusal), "a refused message was read after all");
                    error = Some(refusal);
                    break 'pieces;
                }
            }
        }
    }
    Read { messages, error, next_seq: reader.next_seq() }
}

fn scan(bytes: &[u8], lengths: &[u8]) -> Result<Scanned, WireError> {
    let mut scanner = MessageScanner::new(0);
    let mut total = Scanned { len: 0, done: false };
    for piece in pieces(bytes, lengths) {
        let Scanned { len, done } = scanner.scan(piece)?;
        assert!(done || len == piece.len(), "bytes in the middle of a message do not belong to it");
        total.len += len;
        total.done = done;
        if done {
            break;
        }
    }
    Ok(total)
}
