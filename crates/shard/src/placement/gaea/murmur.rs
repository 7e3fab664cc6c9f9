//! Consistent hash: a ring of points by Murmur3 of 32 bits, as `mycat_murmur` has it.

use super::with_text;
use crate::key::{Key, KeyKind};
use crate::limits::RING_POINTS_MAX;
use crate::placement::decimal::Decimal;
use crate::prune::{Reason, Shard};

/// Ring of points, each of which belongs to a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Murmur {
    seed: i32,
    shards: u32,
    /// Points in rising order. The first at or above the hash of a key has its shard.
    ring: Vec<(i32, Shard)>,
}

impl Murmur {
    /// A ring with `points` points for each of `shards` shards; Gaea's default is 160 points. Fails
    /// if there would be none, or more than [`RING_POINTS_MAX`].
    pub fn new(seed: i32, shards: u32, points: u32) -> Option<Self> {
        let total = usize::try_from(u64::from(shards) * u64::from(points)).ok()?;
        if total == 0 || total > RING_POINTS_MAX {
            return None;
        }
        let mut ring = Vec::with_capacity(total);
        for shard in 0..shards {
            // Each point is named by the names of those before it: MyCat's code does the same.
            let mut state = State::new(seed);
            state.take_all("SHARD-");
            state.take_all(Decimal::of(shard).as_str());
            for point in 0..points {
                state.take_all("-NODE-");
                state.take_all(Decimal::of(point).as_str());
                ring.push((state.finish(), shard));
            }
        }
        // Of equal points the one that came last counts.
        ring.reverse();
        ring.sort_by_key(|(hash, _)| *hash);
        ring.dedup_by_key(|(hash, _)| *hash);
        Some(Self { seed, shards, ring })
    }

    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// Number of shards.
    pub(crate) fn shards(&self) -> u32 {
        self.shards
    }

    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let hash = with_text(key, |text| {
            let mut state = State::new(self.seed);
            state.take_all(text);
            state.finish()
        })?;
        let at = self.ring.partition_point(|(point, _)| *point < hash);
        self.ring.get(at).or(self.ring.first()).map(|(_, shard)| *shard).ok_or(Reason::OutOfRange)
    }
}

/// Murmur3 over characters, two at a time.
#[derive(Clone, Copy)]
struct State {
    hash: u32,
    /// Character without its second.
    odd: Option<u32>,
    characters: u32,
}

impl State {
    fn new(seed: i32) -> Self {
        Self { hash: seed.cast_unsigned(), odd: None, characters: 0 }
    }

    fn take_all(&mut self, text: &str) {
        for c in text.chars().map(u32::from) {
            self.characters = self.characters.wrapping_add(1);
            self.odd = match self.odd {
                None => Some(c),
                Some(first) => {
                    let mixed = (self.hash ^ mix(first | c << 16)).rotate_left(13);
                    self.hash = mixed.wrapping_mul(5).wrapping_add(0xE654_6B64);
                    None
                }
            };
        }
    }

    fn finish(self) -> i32 {
        let hash = self.hash ^ self.odd.map_or(0, mix) ^ self.characters.wrapping_mul(2);
        let hash = (hash ^ hash >> 16).wrapping_mul(0x85EB_CA6B);
        let hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
        (hash ^ hash >> 16).cast_signed()
    }
}

fn mix(pair: u32) -> u32 {
    pair.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_bounded() {
        assert_eq!(Murmur::new(0, 0, 160), None);
        assert_eq!(Murmur::new(0, u32::MAX, u32::MAX), None);
        assert_eq!(Murmur::new(0, 3, 160).unwrap().shards(), 3);
    }
}
