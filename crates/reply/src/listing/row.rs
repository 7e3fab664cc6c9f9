//! Where in a row the ids are: in text, or in binary, as executions of prepared statements have it.

use std::ops::Range;

use wire::codec::{NULL, Reader, put_lenenc_bytes};
use wire::command::Width;

/// Columns that are told apart; those behind them are no ids.
pub(super) const COLUMNS_MAX: usize = 64;

/// Bytes of an id in a binary row. Ids have 32 bits: if the column's type has more, they are 0.
const ID_LEN: usize = 4;

/// The columns of a result.
#[derive(Debug)]
pub(super) struct Columns {
    /// Bit n: column n is an id.
    ids: u64,
    /// The types of the first ones, if rows are binary; it ends with the first that is not known.
    kinds: Option<Vec<u8>>,
    /// How many were defined.
    defined: usize,
    /// How many there are.
    count: usize,
}

/// What is seen of a row of which the beginning is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Where ids are.
    pub(super) ids: Vec<Range<usize>>,
    /// So many bytes of the row have to be there for more.
    pub(super) needed: Option<usize>,
}

/// Where a value ends that begins at `at`; or how many bytes have to be there to say so.
fn end(width: Width, payload: &[u8], at: usize) -> Result<usize, usize> {
    let lead = match width {
        Width::Fixed(len) => return Ok(at + len),
        Width::Short | Width::Long => *payload.get(at).ok_or(at + 1)?,
    };
    let head = match lead {
        NULL if width == Width::Long => return Ok(at + 1),
        0xfc if width == Width::Long => 3,
        0xfd if width == Width::Long => 4,
        0xfe if width == Width::Long => 9,
        _ => return Ok(at + 1 + usize::from(lead)),
    };
    let bytes = payload.get(at..at + head).ok_or(at + head)?;
    let len = Reader::new(bytes).lenenc("length").unwrap_or_default();
    Ok(usize::try_from(len).ok().and_then(|len| len.checked_add(at + head)).unwrap_or(usize::MAX))
}

impl Columns {
    /// Those of a result of which these are ids.
    pub(super) const fn new(ids: u64, is_binary: bool) -> Self {
        let kinds = if is_binary { Some(Vec::new()) } else { None };
        Self { ids, kinds, defined: 0, count: 0 }
    }

    /// So many there are.
    pub(super) fn set_count(&mut self, count: u64) {
        self.count = usize::try_from(count).unwrap_or(usize::MAX);
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The next one has this type, and is an id by its definition.
    pub(super) fn define(&mut self, kind: Option<u8>, is_id: bool) {
        if self.defined < COLUMNS_MAX {
            self.ids |= u64::from(is_id) << self.defined;
            if let Some((kinds, kind)) = self.kinds.as_mut().zip(kind)
                && kinds.len() == self.defined
            {
                kinds.push(kind);
            }
        }
        self.defined += 1;
    }

    /// Where ids are in a row of `len` bytes that begins with these. There are none in what makes
    /// no sense.
    pub(super) fn look(&self, payload: &[u8], len: usize) -> Look {
        let last = COLUMNS_MAX - self.ids.leading_zeros() as usize;
        let (mut look, mut at) = (Look::default(), self.begin());
        if last > 0 && at > payload.len() {
            look.needed = (at <= len).then_some(at);
            return look;
        }
        for n in 0..last.min(self.count) {
            if self.is_null(payload, n) {
                continue;
            }
            let Some(width) = self.width(n) else { break };
            let is_id = self.ids & (1 << n) != 0 && self.is_number(n);
            let seen = end(width, payload, at).and_then(|end| {
                let place = at..if self.kinds.is_some() { at + ID_LEN } else { end };
                if is_id && place.end > payload.len() { Err(place.end) } else { Ok((place, end)) }
            });
            match seen {
                Err(needed) => {
                    look.needed = (needed <= len).then_some(needed);
                    break;
                }
                Ok((place, end)) => {
                    look.ids.extend(is_id.then_some(place));
                    at = end;
                }
            }
        }
        look
    }

    /// Where the first value begins: in binary behind a 0 and a bit for each NULL.
    fn begin(&self) -> usize {
        if self.kinds.is_some() { 1 + self.count.saturating_add(9) / 8 } else { 0 }
    }

    /// Whether column `n` of a binary row is NULL.
    fn is_null(&self, payload: &[u8], n: usize) -> bool {
        // The first two bits are of no column.
        let bits = payload.get(1 + (n + 2) / 8).filter(|_| self.kinds.is_some());
        bits.is_some_and(|bits| bits & (1 << ((n + 2) % 8)) != 0)
    }

    /// How column `n` is written. Where columns are not defined, the first one is an id.
    fn width(&self, n: usize) -> Option<Width> {
        match &self.kinds {
            None => Some(Width::Long),
            Some(_) if self.defined == 0 => (n == 0).then_some(Width::Fixed(ID_LEN)),
            Some(kinds) => Width::of(*kinds.get(n)?),
        }
    }

    /// Whether the value of column `n` begins with the bytes of an id: `LONG`, `LONGLONG`, text.
    fn is_number(&self, n: usize) -> bool {
        self.kinds.as_ref().and_then(|kinds| kinds.get(n)).is_none_or(|kind| matches!(kind, 3 | 8))
    }

    /// The number that a value is.
    pub(super) fn id_in(&self, value: &[u8]) -> Option<u64> {
        if self.kinds.is_some() {
            return value.try_into().ok().map(u32::from_le_bytes).map(u64::from);
        }
        let text = Reader::new(value).lenenc_bytes("id").ok()?;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// Puts a number as a value.
    pub(super) fn put_id(&self, id: u32, out: &mut Vec<u8>) {
        if self.kinds.is_some() {
            out.extend_from_slice(&id.to_le_bytes());
        } else {
            put_lenenc_bytes(out, id.to_string().as_bytes());
        }
    }
}
