//! A row of a result as text.

use crate::{
    Capabilities, Codec, WireError,
    codec::{NULL, Reader, put_lenenc_bytes},
};

/// A row of the answer to `COM_QUERY`: its cells as text, or NULL.
///
/// Source: `ProtocolText::ResultsetRow`. How many cells there are is not in the packet; decoding
/// takes all that are there, and checks that the last one ends with the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRow<'a> {
    /// Whole cells only.
    raw: &'a [u8],
}

impl<'a> TextRow<'a> {
    /// The cells from left to right; `None` is NULL.
    pub const fn iter(&self) -> Cells<'a> {
        Cells::of(self.raw)
    }

    /// Appends a row with these cells.
    pub fn put<T: AsRef<[u8]>>(out: &mut Vec<u8>, cells: impl IntoIterator<Item = Option<T>>) {
        for cell in cells {
            match cell {
                None => out.push(NULL),
                Some(text) => put_lenenc_bytes(out, text.as_ref()),
            }
        }
    }
}

impl<'a> IntoIterator for TextRow<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = Cells<'a>;

    fn into_iter(self) -> Cells<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &TextRow<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = Cells<'a>;

    fn into_iter(self) -> Cells<'a> {
        self.iter()
    }
}

impl<'a> Codec<'a> for TextRow<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        let raw = reader.rest();
        let mut cells = Reader::new(raw);
        while !cells.is_empty() {
            cells.cell("cell")?;
        }
        Ok(Self { raw })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.extend_from_slice(self.raw);
    }
}

/// Iterator over the cells of a row in text; `None` is NULL.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    left: Reader<'a>,
}

impl<'a> Cells<'a> {
    /// The cells of a row that was not decoded. They end in front of bytes that are no cell.
    pub const fn of(row: &'a [u8]) -> Self {
        Self { left: Reader::new(row) }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.cell("cell").ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPS: Capabilities = Capabilities::PROTOCOL_41;

    proptest! {
        #[test]
        fn round_trips(cells: Vec<Option<Vec<u8>>>) {
            let mut bytes = Vec::new();
            TextRow::put(&mut bytes, cells.iter().map(Option::as_deref));
            let row = TextRow::decode(&bytes, CAPS).unwrap();
            let read: Vec<_> = row.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
            prop_assert_eq!(read, cells);
            prop_assert_eq!(row.encode(CAPS), bytes);
        }
    }

    #[test]
    fn it_is_what_servers_send() {
        let row = TextRow::decode(b"\x011\xfb\x00\x03abc", CAPS).unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), [Some(&b"1"[..]), None, Some(b""), Some(b"abc")]);
    }

    #[test]
    fn a_cell_cannot_leave_the_packet() {
        for bytes in [&b"\x02a"[..], b"\xfc\x01", b"\xff", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffa"] {
            assert!(TextRow::decode(bytes, CAPS).is_err());
        }
    }
}
