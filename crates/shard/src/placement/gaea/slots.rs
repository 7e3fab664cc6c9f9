//! 1024 slots, divided among the shards: `mycat_long` and `mycat_string`.

use super::{number, with_text};
use crate::key::{Key, KeyKind};
use crate::prune::{Reason, Shard};

/// Number of slots.
const SLOTS: usize = 1_024;

/// Part of a text that is hashed, as in `start:end`. Negative ends count from the end of the text
/// in bytes; an upper end of 0 is the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// First character.
    pub start: i32,
    /// Character behind the last.
    pub end: i32,
}

impl Slice {
    /// Reads `n`, `start:end`, or the latter without one or both of the numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let end = |text: &str| if text.is_empty() { Some(0) } else { text.parse().ok() };
        match text.trim().split_once(':') {
            Some((start, until)) => Some(Self { start: end(start)?, end: end(until)? }),
            None => match text.trim().parse().ok()? {
                until @ 0.. => Some(Self { start: 0, end: until }),
                start => Some(Self { start, end: 0 }),
            },
        }
    }
}

/// Slots with their shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    shards: Vec<Shard>,
    /// Hash this part of a text, rather than take an integer.
    slice: Option<Slice>,
}

impl Slots {
    /// `counts[i]` shards have `lengths[i]` slots each; all together have 1024. Fails otherwise.
    /// With `slice`, keys are texts of which that part is hashed.
    pub fn new(counts: &[u32], lengths: &[u32], slice: Option<Slice>) -> Option<Self> {
        let mut shards = Vec::with_capacity(SLOTS);
        let mut next = 0;
        for (count, length) in counts.iter().zip(lengths) {
            for _ in 0..*count {
                let length = usize::try_from(*length).ok()?;
                if length == 0 || length > SLOTS - shards.len() {
                    return None;
                }
                shards.extend(std::iter::repeat_n(next, length));
                next += 1;
            }
        }
        let valid = counts.len() == lengths.len() && shards.len() == SLOTS;
        valid.then_some(Self { shards, slice })
    }

    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// Number of shards.
    pub(crate) fn shards(&self) -> u32 {
        self.shards.last().map_or(0, |last| last + 1)
    }

    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let hash = match self.slice {
            None => number(key)?,
            Some(slice) => with_text(key, |text| hash(text, slice))?,
        };
        let slot = usize::try_from(hash & 1_023).ok();
        slot.and_then(|slot| self.shards.get(slot)).copied().ok_or(Reason::OutOfRange)
    }
}

/// `h * 31 + c` over the characters of a part of `text`.
fn hash(text: &str, slice: Slice) -> i64 {
    let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let (start, end) = (i64::from(slice.start), i64::from(slice.end));
    let start = if start >= 0 { start } else { bytes + start };
    let end = if end > 0 { end } else { bytes + end };
    let first = usize::try_from(start).unwrap_or(0);
    let length = usize::try_from(end).unwrap_or(0).saturating_sub(first);
    text.chars()
        .skip(first)
        .take(length)
        .fold(0, |hash: i64, c| (hash << 5).wrapping_sub(hash).wrapping_add(i64::from(u32::from(c))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_written_in_mycats_ways() {
        let slice = |text: &str| Slice::parse(text).map(|slice| (slice.start, slice.end));
        assert_eq!(slice("2"), Some((0, 2)));
        assert_eq!(slice("-2"), Some((-2, 0)));
        assert_eq!(slice("1:"), Some((1, 0)));
        assert_eq!(slice(":-1"), Some((0, -1)));
        assert_eq!(slice(":"), Some((0, 0)));
        assert_eq!(slice("a:b"), None);
        assert_eq!(slice(""), None);
    }

    #[test]
    fn slots_have_to_be_1024() {
        assert!(Slots::new(&[2, 1], &[256, 512], None).is_some());
        assert!(Slots::new(&[2, 1], &[256, 256], None).is_none());
        assert!(Slots::new(&[2], &[512, 0], None).is_none());
        assert!(Slots::new(&[u32::MAX], &[1], None).is_none());
    }
}
