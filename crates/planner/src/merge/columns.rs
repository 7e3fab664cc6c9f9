//! The columns of a shard's rows: those that the client sees, and the hidden keys behind them.

use wire::WireError;
use wire::codec::Reader;
use wire::command::take_value;
use wire::packet::Column;

use super::Key;
use super::form::{Form, UNSIGNED};
use super::key::{KeyError, Value};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Text: the answer to `COM_QUERY`.
    Text,
    /// Binary: the answer to `COM_STMT_EXECUTE`.
    Binary,
}

/// The types of all columns of a result whose last ones are hidden keys.
#[derive(Clone, Debug)]
pub struct Columns {
    protocol: Protocol,
    kinds: Vec<u8>,
    keys: Vec<Form>,
    /// The visible columns as the client was told of them, in binary rows. Empty if all integers
    /// are as wide.
    told: Vec<Told>,
}

/// A column as the client was told of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    /// Bytes of its integers; none if it has others, or the shard's are as wide.
    bytes: Option<usize>,
    is_unsigned: bool,
}

/// Why rows cannot be merged, or a row cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// There are fewer columns than keys.
    #[error("a shard sends {columns} columns, of which {keys} should be sort keys")]
    TooFew {
        /// Columns of the result.
        columns: usize,
        /// Hidden keys of the statement.
        keys: usize,
    },
    /// A key whose values do not compare by themselves: text in a collation, FLOAT, JSON.
    #[error("a sort key of a shard has the type {kind} in collation {collation}, which has no order here")]
    NoOrder {
        /// `MYSQL_TYPE_*`.
        kind: u8,
        /// Of the values.
        collation: u16,
    },
    /// The row is not what the columns say.
    #[error("a row of a shard cannot be read: {0}")]
    Row(#[from] WireError),
    /// An integer does not fit into the type that the client was told.
    #[error("a number of a shard is larger than the type that the client was told")]
    TooWide,
    /// A key has a value that is not of its type.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Columns {
    /// The columns with these definitions, of which the last `keys` are hidden.
    pub fn new(protocol: Protocol, columns: &[Column<'_>], keys: usize) -> Result<Self, ColumnsError> {
        let too_few = ColumnsError::TooFew { columns: columns.len(), keys };
        let visible = columns.len().checked_sub(keys).ok_or_else(|| too_few.clone())?;
        let hidden = columns.get(visible..).ok_or(too_few)?;
        let keys = hidden.iter().map(Form::of).collect::<Result<_, _>>()?;
        let kinds = columns.iter().map(|column| column.kind).collect();
        Ok(Self { protocol, kinds, keys, told: Vec::new() })
    }

    /// The same columns for a client that was told of `shown`, whose integers may have other
    /// widths.
    #[must_use]
    pub fn shown_as(mut self, shown: &[Column<'_>]) -> Self {
        let told = |(kind, shown): (&u8, &Column<'_>)| {
            let widths = width(*kind).zip(width(shown.kind)).filter(|(own, other)| own != other);
            Told { bytes: widths.map(|(_, other)| other), is_unsigned: shown.flags & UNSIGNED != 0 }
        };
        let all: Vec<_> = self.kinds.iter().zip(shown).take(self.visible()).map(told).collect();
        if self.protocol == Protocol::Binary && all.iter().any(|told| told.bytes.is_some()) {
            self.told = all;
        }
        self
    }

    /// How many columns the client sees.
    pub fn visible(&self) -> usize {
        self.kinds.len() - self.keys.len()
    }

    /// Reads the hidden keys of a row.
    pub fn read_key(&self, row: &[u8], key: &mut Key) -> Result<(), ColumnsError> {
        key.clear();
        let mut cells = self.cells(row)?;
        for _ in 0..self.visible() {
            cells.next()?;
        }
        for form in &self.keys {
            let value = match (cells.next()?, self.protocol) {
                (None, _) => Value::Null,
                (Some(cell), Protocol::Text) => form.text(Reader::new(cell).lenenc_bytes("key")?)?,
                (Some(cell), Protocol::Binary) => form.binary(cell)?,
            };
            key.push(value);
        }
        Ok(())
    }

    /// Appends the row without its hidden columns.
    pub fn put_visible(&self, row: &[u8], out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        if !self.told.is_empty() {
            return self.put_told(row, out);
        }
        if self.keys.is_empty() {
            out.extend_from_slice(row);
            return Ok(());
        }
        let mut cells = self.cells(row)?;
        let all = cells.left.left();
        for _ in 0..self.visible() {
            cells.next()?;
        }
        let len = all - cells.left.left();
        let begin = row.len() - all;
        let values = row.get(begin..begin + len).unwrap_or_default();
        if self.protocol == Protocol::Binary {
            out.push(0);
            put_nulls(cells.nulls, self.visible(), out);
        }
        out.extend_from_slice(values);
        Ok(())
    }

    /// Appends the visible part of a binary row, with integers as wide as the client's.
    fn put_told(&self, row: &[u8], out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        let mut cells = self.cells(row)?;
        out.push(0);
        put_nulls(cells.nulls, self.visible(), out);
        for told in &self.told {
            let Some(cell) = cells.next()? else { continue };
            match told.bytes {
                None => out.extend_from_slice(cell),
                Some(bytes) => put_integer(cell, bytes, told.is_unsigned, out)?,
            }
        }
        Ok(())
    }

    fn cells<'a>(&'a self, row: &'a [u8]) -> Result<Cells<'a>, WireError> {
        let mut left = Reader::new(row);
        let nulls = match self.protocol {
            Protocol::Text => &[],
            Protocol::Binary => {
                left.u8("header of a row")?;
                left.bytes(nulls_len(self.kinds.len()), "NULL bits")?
            }
        };
        Ok(Cells { protocol: self.protocol, kinds: self.kinds.iter(), nulls, left, at: NULLS_OFFSET })
    }
}

/// Appends an integer in so many bytes, into which it has to fit.
fn put_integer(cell: &[u8], bytes: usize, is_unsigned: bool, out: &mut Vec<u8>) -> Result<(), ColumnsError> {
    let (kept, left_out) = cell.split_at_checked(bytes).unwrap_or((cell, &[]));
    let has_sign = |bytes: &[u8]| !is_unsigned && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if has_sign(cell) { 0xff } else { 0 };
    if has_sign(kept) != has_sign(cell) || left_out.iter().any(|byte| *byte != fill) {
        return Err(ColumnsError::TooWide);
    }
    out.extend_from_slice(kept);
    out.resize(out.len() + bytes.saturating_sub(kept.len()), fill);
    Ok(())
}

/// Bytes of an integer of a type in a binary row; nothing for other types.
const fn width(kind: u8) -> Option<usize> {
    Some(match kind {
        0x01 => 1,
        0x02 | 0x0d => 2,
        0x03 | 0x09 => 4,
        0x08 => 8,
        _ => return None,
    })
}

/// Bits in front of those of the columns.
const NULLS_OFFSET: usize = 2;

/// Bytes of the NULL bits of a binary row with so many columns.
const fn nulls_len(columns: usize) -> usize {
    (columns + NULLS_OFFSET).div_ceil(8)
}

/// Appends the NULL bits of the first columns.
fn put_nulls(nulls: &[u8], columns: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend(nulls.iter().take(nulls_len(columns)));
    let used = (columns + NULLS_OFFSET) % 8;
    if used != 0
        && let Some(last) = out.get_mut(begin..).and_then(<[u8]>::last_mut)
    {
        *last &= (1 << used) - 1;
    }
}

/// The cells of a row from left to right.
struct Cells<'a> {
    protocol: Protocol,
    kinds: std::slice::Iter<'a, u8>,
    nulls: &'a [u8],
    left: Reader<'a>,
    /// The bit of the next cell among the NULL bits.
    at: usize,
}

impl<'a> Cells<'a> {
    /// The bytes of the next cell as they are; `None` is NULL.
    fn next(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        let kind = self.kinds.next().copied().unwrap_or_default();
        match self.protocol {
            Protocol::Text => {
                let mut ahead = self.left.clone();
                let is_null = ahead.cell("cell")?.is_none();
                let bytes = self.left.bytes(self.left.left() - ahead.left(), "cell")?;
                Ok((!is_null).then_some(bytes))
            }
            Protocol::Binary => {
                let bits = self.nulls.get(self.at / 8).copied().unwrap_or_default();
                let is_null = bits & (1 << (self.at % 8)) != 0;
                self.at += 1;
                if is_null { Ok(None) } else { take_value(&mut self.left, kind.into()).map(Some) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::packet::TextRow;

    use super::super::form::BINARY;
    use super::*;
    use crate::merge::{Order, Part};

    fn column(kind: u8) -> Column<'static> {
        Column { kind, ..Column::text(b"k", BINARY) }
    }

    fn text_row(cells: &[Option<&str>]) -> Vec<u8> {
        let mut row = Vec::new();
        TextRow::put(&mut row, cells.iter().copied());
        row
    }

    /// The key of a row whose only column is hidden.
    fn key_of(protocol: Protocol, kind: u8, row: &[u8]) -> Result<Key, ColumnsError> {
        let mut key = Key::default();
        Columns::new(protocol, &[column(kind)], 1)?.read_key(row, &mut key)?;
        Ok(key)
    }

    /// Keys of rows in text with one hidden column, in the order that they were given in.
    fn assert_ascending(protocol: Protocol, kind: u8, rows: &[Vec<u8>]) {
        let order = Order::new(vec![Part::ASCENDING]);
        let keys: Vec<_> = rows.iter().map(|row| key_of(protocol, kind, row).unwrap()).collect();
        for (n, pair) in keys.windows(2).enumerate() {
            assert!(order.compare(&pair[0], &pair[1]).is_lt(), "{kind}: {n}");
            assert!(order.compare(&pair[1], &pair[0]).is_gt(), "{kind}: {n}");
        }
    }

    #[test]
    fn values_in_text_compare_as_their_type() {
        for (kind, values) in [
            (0x08, &["-10", "-9", "0", "9", "10", "18446744073709551615"][..]),
            (0x05, &["-1e100", "-0.5", "1e-7", "3", "20"]),
            (0xf6, &["-10.00", "-9.50", "0.00", "9.05", "9.50", "10.00"]),
            (0x0c, &["0000-00-00 00:00:00", "1999-12-31 23:59:59", "2026-11-27 00:00:00"]),
            (0x0b, &["-838:59:59", "-00:00:00.000001", "00:00:00", "00:00:00.5", "100:00:00"]),
            (0xfd, &["", "a", "ab", "b"]),
        ] {
            let rows = std::iter::once(None).chain(values.iter().copied().map(Some));
            let rows: Vec<_> = rows.map(|cell| text_row(&[cell])).collect();
            assert_ascending(Protocol::Text, kind, &rows);
        }
    }

    #[test]
    fn values_in_binary_compare_as_their_type() {
        let row = |value: &[u8]| [&b"\0\0"[..], value].concat();
        for (kind, values) in [
            (0x08, &[(-1_i64).to_le_bytes().to_vec(), 1_i64.to_le_bytes().to_vec()][..]),
            (0x01, &[b"\x80".to_vec(), b"\xff".to_vec(), b"\x01".to_vec()]),
            (0x05, &[(-1.5_f64).to_le_bytes().to_vec(), 0.25_f64.to_le_bytes().to_vec()]),
            (0xf6, &[b"\x03-10".to_vec(), b"\x02-9".to_vec()]),
            (0xfd, &[b"\0".to_vec(), b"\x02ab".to_vec()]),
            // 0000-00-00, 2026-11-27, the same at 01:00:00, and a microsecond later.
            (
                0x0c,
                &[
                    b"\0".to_vec(),
                    b"\x04\xea\x07\x0b\x1b".to_vec(),
                    b"\x07\xea\x07\x0b\x1b\x01\0\0".to_vec(),
                    b"\x0b\xea\x07\x0b\x1b\x01\0\0\x01\0\0\0".to_vec(),
                ],
            ),
            // A day and an hour less than nothing, nothing, a microsecond.
            (
                0x0b,
                &[
                    b"\x08\x01\x01\0\0\0\x01\0\0".to_vec(),
                    b"\0".to_vec(),
                    b"\x0c\0\0\0\0\0\0\0\0\x01\0\0\0".to_vec(),
                ],
            ),
        ] {
            let null = std::iter::once(b"\0\x04".to_vec());
            let rows: Vec<_> = null.chain(values.iter().map(|value| row(value))).collect();
            assert_ascending(Protocol::Binary, kind, &rows);
        }
        let unsigned = Column { flags: UNSIGNED, ..column(0x08) };
        let columns = Columns::new(Protocol::Binary, &[unsigned], 1).unwrap();
        let mut key = Key::default();
        columns.read_key(&row(&u64::MAX.to_le_bytes()), &mut key).unwrap();
        assert_eq!(key.values().collect::<Vec<_>>(), [Value::Integer(u64::MAX.into())]);
    }

    #[test]
    fn c22_what_has_no_order_by_itself_is_refused() {
        let text = Column::text(b"k", 255);
        for column in [column(0x04), column(0xf5), column(0xff), text] {
            let refused = Columns::new(Protocol::Text, &[column], 1).unwrap_err();
            assert!(matches!(refused, ColumnsError::NoOrder { .. }), "{refused}");
        }
        let refused = Columns::new(Protocol::Text, &[column(0x03)], 2).unwrap_err();
        assert_eq!(refused, ColumnsError::TooFew { columns: 1, keys: 2 });
    }

    #[test]
    fn values_that_are_not_of_their_type_are_refused() {
        let refused = key_of(Protocol::Text, 0x03, &text_row(&[Some("x")]));
        assert_eq!(refused.unwrap_err(), ColumnsError::Key(KeyError::NotANumber));
        let refused = key_of(Protocol::Text, 0x0b, &text_row(&[Some("1:x")]));
        assert_eq!(refused.unwrap_err(), ColumnsError::Key(KeyError::NotATime));
    }

    #[test]
    fn hidden_cells_are_cut_off_in_text() {
        let columns = Columns::new(Protocol::Text, &[column(0xfd), column(0xfd), column(0x03)], 1).unwrap();
        let mut out = b"ahead".to_vec();
        columns.put_visible(&text_row(&[Some("abc"), None, Some("7")]), &mut out).unwrap();
        assert_eq!(out, [b"ahead", &text_row(&[Some("abc"), None])[..]].concat());
    }

    #[test]
    fn hidden_cells_are_cut_off_in_binary_with_their_null_bits() {
        // Seven columns have two bytes of NULL bits, six have one.
        let kinds = vec![column(0x01); 7];
        let columns = Columns::new(Protocol::Binary, &kinds, 1).unwrap();
        let mut out = Vec::new();
        // The first and the hidden one are NULL.
        columns.put_visible(b"\0\x04\x01\x02\x03\x04\x05\x06", &mut out).unwrap();
        assert_eq!(out, b"\0\x04\x02\x03\x04\x05\x06");
        // Three columns stay in one byte, whose upper bits are cleared.
        let columns = Columns::new(Protocol::Binary, &kinds[..3], 1).unwrap();
        let mut out = Vec::new();
        columns.put_visible(b"\0\x18\x01", &mut out).unwrap();
        assert_eq!(out, b"\0\x08\x01");
    }

    #[test]
    fn integers_are_as_wide_as_the_client_was_told() {
        let unsigned = Column { flags: UNSIGNED, ..column(0x08) };
        let shown = [column(0x08), unsigned, column(0xfd)];
        let own = [column(0x03), Column { flags: UNSIGNED, ..column(0x01) }, column(0xfd), column(0x01)];
        let columns = Columns::new(Protocol::Binary, &own, 1).unwrap().shown_as(&shown);
        let mut out = Vec::new();
        columns.put_visible(b"\0\0\xfe\xff\xff\xff\xff\x01a\x05", &mut out).unwrap();
        assert_eq!(out, b"\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x01a");
        let mut out = Vec::new();
        columns.put_visible(b"\0\x04\x07\0\x05", &mut out).unwrap();
        assert_eq!(out, b"\0\x04\x07\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn integers_that_are_wider_than_the_client_was_told_have_to_fit() {
        let shown = [column(0x02), Column { flags: UNSIGNED, ..column(0x01) }];
        let own = [column(0x08), Column { flags: UNSIGNED, ..column(0x03) }];
        let columns = Columns::new(Protocol::Binary, &own, 0).unwrap().shown_as(&shown);
        let row = |one: i64, other: u32| [&b"\0\0"[..], &one.to_le_bytes(), &other.to_le_bytes()].concat();
        let told = |one, other| {
            let mut out = Vec::new();
            columns.put_visible(&row(one, other), &mut out).map(|()| out)
        };
        assert_eq!(told(-2, 255).unwrap(), b"\0\0\xfe\xff\xff");
        assert_eq!(told(0x7fff, 0).unwrap(), b"\0\0\xff\x7f\0");
        for (one, other) in [(0x8000, 0), (-0x8001, 0), (i64::MIN, 0), (0, 256)] {
            assert_eq!(told(one, other), Err(ColumnsError::TooWide), "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(row: Vec<u8>, kinds: Vec<u8>, keys in 0_usize..4, binary: bool) {
            let protocol = if binary { Protocol::Binary } else { Protocol::Text };
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind)).collect();
            if let Ok(columns) = Columns::new(protocol, &columns, keys) {
                let _ = columns.read_key(&row, &mut Key::default());
                let _ = columns.put_visible(&row, &mut Vec::new());
            }
        }

        #[test]
        fn cutting_text_is_what_the_visible_cells_are(cells: Vec<Option<String>>, keys in 0_usize..3) {
            prop_assume!(keys <= cells.len());
            let kinds = vec![column(0xfd); cells.len()];
            let columns = Columns::new(Protocol::Text, &kinds, keys).unwrap();
            let cells: Vec<_> = cells.iter().map(Option::as_deref).collect();
            let mut out = Vec::new();
            columns.put_visible(&text_row(&cells), &mut out).unwrap();
            prop_assert_eq!(out, text_row(&cells[..cells.len() - keys]));
        }
    }
}
