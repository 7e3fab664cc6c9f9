//! The text of a statement that MariaDB has compressed.

use flate2::{Decompress, FlushDecompress, Status};
use wire::WireError;
use wire::codec::Reader;

use super::Statement;
use crate::kind::STATEMENT_MAX;

/// Bits of the first byte: compressed at all, with which algorithm (0 is zlib), and in how many
/// bytes the text's length follows, the highest first.
const COMPRESSED: u8 = 0x80;
const ALGORITHM: u8 = 0x70;
const LENGTH: u8 = 0x07;

/// Expands the text of a statement into `room`. The text is left out if it is too long.
pub(super) fn expand<'a>(
    statement: Statement<'a>,
    room: &'a mut Vec<u8>,
) -> Result<Statement<'a>, WireError> {
    let mut reader = Reader::new(statement.text.unwrap_or_default());
    let first = reader.u8("compression")?;
    if first & COMPRESSED == 0 || first & ALGORITHM != 0 {
        return Err(WireError::Invalid { field: "compression", value: first.into() });
    }
    let digits = reader.bytes((first & LENGTH).into(), "length of the text")?;
    let len = digits.iter().fold(0, |len: usize, digit| len << 8 | usize::from(*digit));
    if len > STATEMENT_MAX {
        return Ok(Statement { text: None, ..statement });
    }
    // One byte more, so that a longer text does not fit exactly.
    room.clear();
    room.resize(len + 1, 0);
    let mut zlib = Decompress::new(true);
    let end = zlib.decompress(reader.rest(), room, FlushDecompress::Finish);
    if !matches!(end, Ok(Status::StreamEnd)) || zlib.total_out() != len as u64 {
        return Err(WireError::BadFrame("the text cannot be uncompressed"));
    }
    Ok(Statement { text: room.get(..len), ..statement })
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() + 64);
        let mut zlib = Compress::new(Compression::default(), true);
        zlib.compress_vec(text, &mut bytes, FlushCompress::Finish).unwrap();
        let [.., high, low] = text.len().to_be_bytes();
        [&[COMPRESSED | 2, high, low][..], &bytes].concat()
    }

    #[test]
    fn texts_come_back() {
        let bytes = compressed(b"UPDATE t SET a = 1");
        let statement = Statement { schema: b"s", text: Some(&bytes), modes: None };
        let mut room = Vec::new();
        assert_eq!(expand(statement, &mut room).unwrap().text, Some(&b"UPDATE t SET a = 1"[..]));
        for (at, byte) in [(0, 0x02), (0, 0x92), (2, 17), (2, 19)] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            expand(Statement { text: Some(&wrong), ..statement }, &mut room).unwrap_err();
        }
        expand(Statement { text: Some(&bytes[..9]), ..statement }, &mut room).unwrap_err();
    }

    #[test]
    fn long_texts_are_left_out() {
        let bytes = [COMPRESSED | 3, 4, 0, 1];
        let statement = Statement { schema: b"s", text: Some(&bytes), modes: None };
        assert_eq!(expand(statement, &mut Vec::new()).unwrap().text, None);
    }
}
