//! `MOD` with offsets: some digits of the key, modulo the number of shards.

use smallvec::SmallVec;

use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::placement::decimal::Decimal;
use crate::prune::{Reason, Shard};

/// The key as text, without `start` characters in front and `stop` behind, as an integer of any
/// length modulo the number of shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutMod {
    /// Number of shards, at least 1.
    pub shards: u32,
    /// `start-offset`.
    pub start: usize,
    /// `stop-offset`.
    pub stop: usize,
}

impl CutMod {
    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        match key {
            Key::Integer(key) => self.remainder(Decimal::of(key).as_str().as_bytes()),
            Key::Bytes(text) => self.remainder(text),
            _ => Err(Reason::Kind),
        }
    }

    /// Offsets count UTF-16 units.
    fn remainder(&self, text: &[u8]) -> Result<Shard, Reason> {
        let text = std::str::from_utf8(text).map_err(|_| Reason::OutOfRange)?;
        let units: SmallVec<[u16; 24]> = text.encode_utf16().collect();
        let end = units.len().checked_sub(self.stop).ok_or(Reason::OutOfRange)?;
        let number = units.get(self.start..end).ok_or(Reason::OutOfRange)?;
        let (negative, digits) = match number {
            [sign, digits @ ..] if *sign == u16::from(b'-') => (true, digits),
            [sign, digits @ ..] if *sign == u16::from(b'+') => (false, digits),
            digits => (false, digits),
        };
        let shards = i64::from(self.shards);
        let digit = |unit: u16| char::from_u32(unit.into()).and_then(|c| c.to_digit(10)).map(i64::from);
        let remainder = digits.iter().try_fold(0, |rest, unit| Some((rest * 10 + digit(*unit)?) % shards));
        match remainder.filter(|_| !digits.is_empty()) {
            Some(remainder) if negative => count((-remainder).rem_euclid(shards)),
            Some(remainder) => count(remainder),
            None => Err(Reason::OutOfRange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_has_to_be_a_number() {
        let cut = CutMod { shards: 7, start: 1, stop: 2 };
        assert_eq!(cut.locate(Key::Integer(123_456)), Ok(234 % 7));
        assert_eq!(cut.locate(Key::Bytes(b"x16yz")), Ok(2));
        assert_eq!(cut.locate(Key::Integer(-1_234)), Ok(12 % 7));
        assert_eq!(cut.locate(Key::Integer(123)), Err(Reason::OutOfRange));
        assert_eq!(cut.locate(Key::Bytes(b"abcdef")), Err(Reason::OutOfRange));
    }
}
