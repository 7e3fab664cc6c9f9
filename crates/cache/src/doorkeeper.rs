//! Keys that were asked for lately, and of which no answer was stored.
//!
//! Where few lookups hit, to store each answer costs more than the hits save. A doorkeeper lets an
//! answer in when its key comes for the second time (Einziger et al., "`TinyLFU`: A Highly
//! Efficient Cache Admission Policy", ACM Transactions on Storage 2017). This one knows when a key
//! came: it has come before only if an answer from that time could still be served.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::key::Key;
use crate::store::{Age, Life};
use crate::versions::Moment;

/// Keys that are remembered at most. A key has one place; another one with the same place takes it.
const PLACES: usize = 1 << 15;
/// The smallest budget of a cache with a doorkeeper, in bytes: below, each answer is stored.
const BUDGET_MIN: usize = 8 * PLACES * size_of::<Place>();

/// When a key came. The two numbers may be of two keys, if these come at once: then an answer is
/// stored too early or too late, nothing worse.
#[derive(Debug, Default)]
struct Place {
    /// 32 bits of the key above 32 bits of the time in milliseconds.
    sight: AtomicU64,
    moment: AtomicU64,
}

/// The last keys of all workers.
#[derive(Debug, Default)]
pub struct Doorkeeper(OnceLock<Box<[Place]>>);

impl Doorkeeper {
    /// Whether a cache with this budget has one.
    #[must_use]
    pub const fn is_within(budget: usize) -> bool {
        budget >= BUDGET_MIN
    }

    /// Takes note that `key` was asked for at `now_ms` and `moment`. Returns whether it was before,
    /// such that an answer from then could be served now.
    pub fn has_seen(
        &self,
        key: Key,
        now_ms: u64,
        life: Life,
        moment: Moment,
        allows: impl FnOnce(Moment) -> bool,
    ) -> bool {
        let places = self.0.get_or_init(|| std::iter::repeat_with(Place::default).take(PLACES).collect());
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below PLACES")]
        let Some(place) = places.get((key.low % PLACES as u64) as usize) else { return false };
        let (print, now) = (key.high & !u64::from(u32::MAX), now_ms & u64::from(u32::MAX));
        let before = Moment(place.moment.swap(moment.0, Relaxed));
        let sight = place.sight.swap(print | now, Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
        let age_ms = (now as u32).wrapping_sub(sight as u32);
        let is_same = sight & !u64::from(u32::MAX) == print;
        is_same && life.of(age_ms, life.ttl_ms) != Age::Over && allows(before)
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.get().map_or(0, |places| size_of_val(&**places))
    }

    /// Bytes that it may take of this budget.
    pub(crate) fn bytes_max(&self, budget: usize) -> usize {
        if Self::is_within(budget) { PLACES * size_of::<Place>() } else { self.bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;

    const LIFE: Life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 0 };

    fn key(number: u64) -> Key {
        Keys::new([1, 2]).builder().number(number).finish()
    }

    #[test]
    fn a_key_has_come_before_if_an_answer_from_then_could_be_served() {
        let doorkeeper = Doorkeeper::default();
        let comes = |number, now_ms, is_newest| {
            doorkeeper.has_seen(key(number), now_ms, LIFE, Moment(7), |moment| {
                assert_eq!(moment, Moment(7));
                is_newest
            })
        };
        assert!(!comes(1, 5000, true), "for the first time");
        assert!(!comes(2, 5000, true), "another key");
        assert!(comes(1, 5999, true));
        assert!(!comes(1, 6999, true), "its time would be over");
        assert!(!comes(1, 7000, false), "a write has ended since");
        assert!(comes(1, 7000, true));
    }

    #[test]
    fn c29_its_memory_is_bounded_and_taken_when_it_is_needed() {
        let doorkeeper = Doorkeeper::default();
        assert_eq!(doorkeeper.bytes(), 0);
        for number in 0..2 * PLACES as u64 {
            doorkeeper.has_seen(key(number), 0, LIFE, Moment(0), |_| true);
        }
        assert_eq!(doorkeeper.bytes(), 1 << 19);
        assert_eq!(doorkeeper.bytes_max(0), doorkeeper.bytes());
    }
}
