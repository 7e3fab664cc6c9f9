//! Harnesses that assert what must hold for any bytes at all.
//!
//! They run as bounded property tests with the other tests of this crate, and without bounds as the
//! libFuzzer target in the folder `fuzz`.

use wire::frame::put_message;

use crate::checksum::{Checksum, crc32};
use crate::error::Broken;
use crate::header::HEADER_LEN;
use crate::reader::Reader;
use crate::transactions::{Fact, Tables, Transactions};

/// Tables that a transaction names, at most.
const TABLES_MAX: usize = 1024;

/// A stream of any bytes, or of events with any bodies: the pieces in which the stream comes make
/// no difference, and nothing panics.
pub fn stream(data: &[u8]) {
    let Some(([choice, piece], rest)) = data.split_first_chunk::<2>() else { return };
    let checksum = if choice & 1 == 0 { Checksum::Crc32 } else { Checksum::None };
    let bytes = if choice & 2 == 0 { rest.to_vec() } else { events(rest, checksum) };
    let whole = facts(checksum, std::iter::once(&bytes[..]));
    let len = usize::from(*piece).max(1);
    assert_eq!(whole, facts(checksum, bytes.chunks(len)));
    for fact in &whole.0 {
        if let Fact::Transaction(transaction) = fact
            && let Tables::These(tables) = &transaction.tables
        {
            assert!(tables.len() <= TABLES_MAX);
        }
    }
}

/// The facts of a stream, and whether it ends between two events.
fn facts<'a>(
    checksum: Checksum,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Fact>, Result<bool, Broken>) {
    let (mut reader, mut transactions) = (Reader::new(checksum), Transactions::default());
    let mut facts = Vec::new();
    for piece in pieces {
        let fed = reader.feed(piece, |logged| transactions.take(&logged, |fact| facts.push(fact)));
        if let Err(broken) = fed {
            return (facts, Err(broken));
        }
    }
    (facts, Ok(reader.is_between()))
}

/// A stream of right events: of each a type, its flags, the length of its body, and the body.
fn events(data: &[u8], checksum: Checksum) -> Vec<u8> {
    let (mut rest, mut bytes, mut seq) = (data, Vec::new(), 1);
    while let Some(([kind, flags, len], after)) = rest.split_first_chunk::<3>() {
        let (body, after) = after.split_at_checked((*len).into()).unwrap_or((after, &[]));
        rest = after;
        let event_len = u32::try_from(HEADER_LEN + body.len() + checksum.len()).unwrap_or(u32::MAX);
        let [a, b, c, d] = event_len.to_le_bytes();
        let mut message = vec![0, 0, 0, 0, 0, *kind, 7, 0, 0, 0, a, b, c, d, *flags, 1, 0, 0, *flags, 0];
        message.extend_from_slice(body);
        if checksum == Checksum::Crc32 {
            let sum = crc32(&[message.get(1..).unwrap_or_default()]);
            message.extend(sum.to_le_bytes());
        }
        seq = put_message(&mut bytes, seq, &message);
    }
    bytes
}
