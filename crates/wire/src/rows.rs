//! The rows of a reply whose bytes are all there.
//!
//! A result begins with the number of its columns and their definitions; then come its rows, one
//! message each, and the packet that ends them. Sources: "Text Resultset" and "Binary Protocol
//! Resultset" in MySQL's protocol documentation, "Result Set Packets" in MariaDB's.
//!
//! Without `DEPRECATE_EOF` an EOF packet of five bytes stands between definitions and rows. It is
//! told by its bytes: a row in text that begins with 0xfe has a value of more than 2^24 bytes, and
//! a row in binary begins with 0.

use crate::codec::Reader;
use crate::frame::{Packet, Packets};
use crate::packet::{Cells, Eof, Err};

/// Bytes of an EOF packet's payload.
const EOF_LEN: usize = 5;

/// The rows of one result, in text or in binary, in their order: the payload of each.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    definitions: Packets<'a>,
    columns: usize,
    packets: Packets<'a>,
    left: usize,
}

impl<'a> Rows<'a> {
    /// The rows of a reply; nothing if it is no result or ends with an error, if it is cut, or if
    /// one of its messages has several packets.
    pub fn of(reply: &'a [u8]) -> Option<Self> {
        let mut packets = Packets::new(reply);
        // OK packets begin with 0; errors, and requests for a file, with no number.
        let columns = Reader::new(packets.next()?.payload).lenenc("columns").ok()?;
        let columns = usize::try_from(columns).ok().filter(|columns| *columns > 0)?;
        let definitions = packets.clone();
        packets.nth(columns - 1)?;
        let end = Packet::last(packets.left())?;
        if end.payload.first() == Some(&Err::HEADER) || packets.clone().any(|one| one.header.continues()) {
            return None;
        }
        let mut left = packets.clone().count().saturating_sub(1);
        let is_eof =
            |one: Packet<'_>| one.payload.first() == Some(&Eof::HEADER) && one.payload.len() == EOF_LEN;
        if left > 0 && packets.clone().next().is_some_and(is_eof) {
            packets.next();
            left -= 1;
        }
        Some(Self { definitions, columns, packets, left })
    }

    /// The definitions of the columns, as payloads.
    pub fn definitions(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.definitions.clone().take(self.columns).map(|packet| packet.payload)
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        self.packets.next().map(|packet| packet.payload)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Rows<'_> {}

/// The cells of all rows of a reply in text; `None` is NULL. Nothing if the reply [has no
/// rows](Rows::of), or a row has not one cell for each column.
pub fn cells(reply: &[u8]) -> Option<Vec<Vec<Option<&[u8]>>>> {
    let rows = Rows::of(reply)?;
    let columns = rows.columns;
    rows.map(|row| Some(Cells::of(row).collect()).filter(|row: &Vec<_>| row.len() == columns)).collect()
}

/// The first cell of a reply in text; nothing if it is NULL, or there is none.
pub fn first_cell(reply: &[u8]) -> Option<&[u8]> {
    Cells::of(Rows::of(reply)?.next()?).next()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MAX_PAYLOAD, put_message};

    fn reply(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    const EOF: &[u8] = b"\xfe\0\0\x02\0";
    const OK: &[u8] = b"\xfe\0\0\x02\0\0\0";

    #[test]
    fn rows_are_read_with_and_without_the_end_of_columns() {
        for (behind, end) in [(Some(EOF), EOF), (None, EOF), (None, OK)] {
            for rows in [&[][..], &[&b"\x01a\xfb"[..], b"\x00\x02bc"]] {
                let mut payloads = vec![&b"\x02"[..], b"one", b"two"];
                payloads.extend(behind);
                payloads.extend(rows);
                payloads.push(end);
                let bytes = reply(&payloads);
                let read = Rows::of(&bytes).unwrap();
                assert_eq!((read.len(), rows), (rows.len(), &*read.clone().collect::<Vec<_>>()));
                assert_eq!(read.definitions().collect::<Vec<_>>(), [b"one", b"two"]);
                let expected = [[Some(&b"a"[..]), None], [Some(b""), Some(b"bc")]];
                assert_eq!(cells(&bytes).unwrap(), expected[..rows.len()]);
                assert_eq!(first_cell(&bytes), (!rows.is_empty()).then_some(&b"a"[..]));
                // What is cut between two packets may be a whole reply of fewer rows.
                assert!(
                    (0..bytes.len())
                        .all(|cut| Rows::of(&bytes[..cut]).is_none_or(|cut| cut.len() <= rows.len()))
                );
            }
        }
    }

    #[test]
    fn a_row_in_binary_is_its_payload() {
        let bytes = reply(&[b"\x01", b"definition", b"\0\0\x02ab", OK]);
        assert_eq!(Rows::of(&bytes).unwrap().collect::<Vec<_>>(), [b"\0\0\x02ab"]);
    }

    #[test]
    fn other_replies_have_no_rows() {
        for payloads in [
            &[][..],
            &[&b""[..]],
            &[&b"\0\0\0\x02\0\0\0"[..]],
            &[b"\xff\x10\x04"],
            &[b"\xfbfile"],
            &[b"\x01", b"definition"],
            &[b"\x01", b"definition", EOF, b"\x01a", b"\xff\x10\x04"],
            &[b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", EOF],
            &[b"\x01", b"definition", &vec![0; MAX_PAYLOAD], EOF],
        ] {
            assert!(Rows::of(&reply(payloads)).is_none());
        }
        assert_eq!(cells(&reply(&[b"\x02", b"one", b"two", b"\x01a", EOF])), None);
    }
}
