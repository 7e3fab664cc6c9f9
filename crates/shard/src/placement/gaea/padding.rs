//! Some digits of a padded number: `mycat_padding_mod`.

use super::number;
use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::placement::decimal::Decimal;
use crate::prune::{Reason, Shard};

/// End of a number at which zeros are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PadEnd {
    /// In front: negative numbers have no shard.
    Left,
    /// Behind.
    Right,
}

/// The digits from `begin` up to `end` of the number, padded to `length`, modulo the number of
/// shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    pad: PadEnd,
    length: usize,
    begin: usize,
    end: usize,
    shards: u32,
}

impl Padding {
    /// Fails unless `begin < end <= length`, and if there are less than two shards.
    pub fn new(pad: PadEnd, length: usize, [begin, end]: [usize; 2], shards: u32) -> Option<Self> {
        let valid = begin < end && end <= length && shards >= 2;
        valid.then_some(Self { pad, length, begin, end, shards })
    }

    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// Number of shards.
    pub(crate) fn shards(&self) -> u32 {
        self.shards
    }

    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let value = number(key)?;
        let text = Decimal::of(value);
        let text = text.as_str().as_bytes();
        let missing = self.length.saturating_sub(text.len());
        let zeros_in_front = match self.pad {
            PadEnd::Left if value < 0 && text.len() <= self.length => return Err(Reason::OutOfRange),
            PadEnd::Left => missing,
            PadEnd::Right => 0,
        };
        let at = |place: usize| match place.checked_sub(zeros_in_front) {
            Some(place) => text.get(place).copied().unwrap_or(b'0'),
            None => b'0',
        };
        segment((self.begin..self.end).map(at))
            .and_then(|value| count(value.unsigned_abs() % u64::from(self.shards)))
    }
}

/// The number that digits make. A sign counts only in front of digits.
fn segment(characters: impl Iterator<Item = u8>) -> Result<i64, Reason> {
    let mut characters = characters.peekable();
    let negative = characters.next_if_eq(&b'-').is_some();
    if characters.peek().is_none() {
        return Err(Reason::OutOfRange);
    }
    let value = characters.try_fold(0_i64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    });
    value.map(|value| if negative { -value } else { value }).ok_or(Reason::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_added_at_one_end() {
        let padding = |pad| Padding::new(pad, 6, [0, 3], 10).unwrap();
        assert_eq!(padding(PadEnd::Right).locate(Key::Integer(1_234)), Ok(3));
        assert_eq!(padding(PadEnd::Left).locate(Key::Integer(1_234)), Ok(1));
        assert_eq!(padding(PadEnd::Right).locate(Key::Integer(-12)), Ok(2));
        assert_eq!(padding(PadEnd::Left).locate(Key::Integer(-12)), Err(Reason::OutOfRange));
        assert_eq!(padding(PadEnd::Left).locate(Key::Bytes(b"x")), Err(Reason::OutOfRange));
        assert_eq!(Padding::new(PadEnd::Left, 3, [0, 4], 2), None);
    }
}
