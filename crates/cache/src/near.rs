//! A worker's own first level.
//!
//! It has a part of the answers of the [`Store`](crate::Store), small ones, each in the one place
//! that its key has: a hit takes no lock and writes nothing that other workers read. Its answers
//! are part of the store's budget: those that the store has evicted count as lingering there.

use crate::answer::Answer;
use crate::key::Key;
use crate::store::{Age, Hit, Life};
use crate::versions::Moment;

/// Places.
const PLACES: usize = 1024;
/// Larger answers are left to the store: 4 MiB at most for each worker.
const ANSWER_MAX: usize = 4096;
/// So often an answer is given here before the store is asked again, which counts by this what is
/// worth keeping.
const HITS_MAX: u8 = 32;

/// One answer.
#[derive(Debug)]
struct Place {
    key: Key,
    answer: Answer,
    moment: Moment,
    stored: u32,
    ttl_ms: u32,
    hits: u8,
}

/// Answers that one worker has asked for.
#[derive(Debug)]
pub struct Near {
    places: Box<[Option<Place>]>,
}

impl Default for Near {
    fn default() -> Self {
        Self { places: std::iter::repeat_with(|| None).take(PLACES).collect() }
    }
}

impl Near {
    /// The answer for `key` and its age in milliseconds, under the same conditions as
    /// [`Store::get`](crate::Store::get). Nothing means that the store is to be asked.
    #[inline]
    pub fn get(
        &mut self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Option<(&Answer, u32)> {
        let place = self.place(key)?.as_mut().filter(|place| place.key == key)?;
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
        let age_ms = (now_ms as u32).wrapping_sub(place.stored);
        // From the soft part of its life on, the store says which client is to refresh it.
        let is_fresh = life.of(age_ms, place.ttl_ms) == Age::Fresh;
        if !is_fresh || place.hits == HITS_MAX || !allows(place.moment) {
            return None;
        }
        place.hits += 1;
        Some((&place.answer, age_ms))
    }

    /// Keeps what the store has given, in place of what was there.
    pub fn put(&mut self, key: Key, hit: &Hit) {
        if hit.answer.packets().len() > ANSWER_MAX {
            return;
        }
        let Hit { answer, moment, stored, ttl_ms, .. } = hit;
        if let Some(place) = self.place(key) {
            *place = Some(Place {
                key,
                answer: answer.clone(),
                moment: *moment,
                stored: *stored,
                ttl_ms: *ttl_ms,
                hits: 0,
            });
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below PLACES")]
    fn place(&mut self, key: Key) -> Option<&mut Option<Place>> {
        self.places.get_mut((key.low % PLACES as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;
    use crate::store::Store;

    const LIFE: Life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 0 };

    fn key(number: u64) -> Key {
        Keys::new([1, 2]).builder().number(number).finish()
    }

    /// A first level with what a store has under the key 1, read at the moment 7.
    fn near(len: usize, life: Life) -> Near {
        let (store, mut near) = (Store::new(1 << 20), Near::default());
        store.put(key(1), Answer::from_shared(vec![0; len + 8].into()), 0, life, Moment(7)).unwrap();
        near.put(key(1), &store.get(key(1), 0, life, |_| true).unwrap());
        near
    }

    #[test]
    fn an_answer_is_given_under_the_conditions_of_the_store() {
        let mut near = near(100, LIFE);
        let age = |near: &mut Near, now, life| near.get(key(1), now, life, |_| true).map(|(_, age)| age);
        assert_eq!(age(&mut near, 5, LIFE), Some(5));
        assert_eq!(age(&mut near, 1000, LIFE), None, "its time is over");
        assert_eq!(age(&mut near, 5, Life { ttl_ms: 5, ..LIFE }), None, "the rule's time is over");
        let soft = Life { soft_ttl_ms: 500, ..LIFE };
        assert!(age(&mut near, 400, soft).is_some());
        assert_eq!(age(&mut near, 500, soft), None, "the store says which client refreshes it");
        assert!(near.get(key(1), 5, LIFE, |moment| moment > Moment(7)).is_none(), "a write has ended since");
        assert!(near.get(key(2), 5, LIFE, |_| true).is_none(), "another key");
    }

    #[test]
    fn the_store_is_asked_again_after_some_hits() {
        let mut near = near(100, LIFE);
        let hits = (0..100).filter(|_| near.get(key(1), 0, LIFE, |_| true).is_some()).count();
        assert_eq!(hits, usize::from(HITS_MAX));
    }

    #[test]
    fn c29_large_answers_are_left_to_the_store() {
        assert!(near(ANSWER_MAX, LIFE).get(key(1), 0, LIFE, |_| true).is_some());
        assert!(near(ANSWER_MAX + 1, LIFE).get(key(1), 0, LIFE, |_| true).is_none());
    }
}
