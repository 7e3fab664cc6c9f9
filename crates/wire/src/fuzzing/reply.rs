//! The ends of answers in any bytes, split in any way, and the rows in them.

use super::input::{pieces, split_capabilities};
use crate::{
    Capabilities, WireError,
    reply::{Answer, Event, Outcome, ReplyScanner},
    rows::{Rows, cells},
};

/// Bytes behind the capabilities that say which answer it is, and how the rest is split.
const SETTING: usize = 5;

const ANSWERS: [Answer; 10] = [
    Answer::None,
    Answer::Result,
    Answer::Cursor,
    Answer::Prepare,
    Answer::FieldList,
    Answer::Fetch,
    Answer::Statistics,
    Answer::Single,
    Answer::Auth,
    Answer::Endless,
];

/// Scans `data` as the answer to a command: after the capabilities, a byte for the kind of answer
/// and four lengths, in one piece and in pieces of those lengths. Reads the rows in it.
pub fn reply(data: &[u8]) {
    let (caps, data) = split_capabilities(data);
    let Some((&[kind, ref lengths @ ..], bytes)) = data.split_first_chunk::<SETTING>() else { return };
    let Some(&answer) = ANSWERS.get(usize::from(kind) % ANSWERS.len()) else { return };
    if let Some(rows) = Rows::of(bytes) {
        assert_eq!((rows.clone().count(), rows.definitions().count() > 0), (rows.len(), true));
        assert!(
            cells(bytes).is_none_or(|all| all.iter().flatten().count() <= bytes.len()),
            "a cell has a byte"
        );
    }
    let whole = scan(answer, caps, bytes, &[]);
    assert_eq!(whole, scan(answer, caps, bytes, lengths), "the end depends on the split");
    let Ok((len, Some(outcome))) = whole else { return };
    assert!(outcome.rows <= len as u64, "a row has a header");
    let again = bytes.get(..len).map(|bytes| scan(answer, caps, bytes, &[]));
    assert_eq!(again, Some(whole), "bytes behind the end were looked at");
}

/// The length of the answer and its outcome, if it ends. A file that the server asks for has no
/// packets.
fn scan(
    answer: Answer,
    caps: Capabilities,
    bytes: &[u8],
    lengths: &[u8],
) -> Result<(usize, Option<Outcome>), WireError> {
    let mut scanner = ReplyScanner::new(answer, caps);
    let mut total = 0;
    for mut piece in pieces(bytes, lengths).chain([&[][..]]) {
        loop {
            let scan = scanner.scan(piece)?;
            assert!(scan.len <= piece.len(), "more bytes than there are");
            piece = piece.get(scan.len..).unwrap_or_default();
            total += scan.len;
            match scan.event {
                Event::Done(outcome) => return Ok((total, Some(outcome))),
                Event::LocalInfile => scanner.file_sent(scanner.next_seq()),
                Event::Changed => {}
                Event::More => break,
            }
        }
        assert!(piece.is_empty(), "an answer that goes on has all the bytes");
    }
    Ok((total, None))
}
