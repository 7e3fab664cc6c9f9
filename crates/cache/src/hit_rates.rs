//! How many of the last lookups hit, by rule and digest.

use crate::stats::{Lookups, RowKey};

/// Rows that are told apart. A row has one place; another one with the same place takes it.
const PLACES: usize = 256;
/// Lookups after which it is judged anew whether few of them hit.
const WINDOW: u64 = 1024;
/// Hits are rare if there are fewer than one in this many lookups.
const RARE: u64 = 64;

/// The last lookups of one row.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    row: RowKey,
    /// The row's counters when the window began.
    since: Lookups,
    /// Lookups of keys that came for the second time: they had hit if all answers were stored.
    seconds: u64,
    is_rare: bool,
}

/// Hit rates of one worker.
#[derive(Debug)]
pub struct HitRates(Box<[Place]>);

impl Default for HitRates {
    fn default() -> Self {
        Self(vec![Place::default(); PLACES].into())
    }
}

impl HitRates {
    /// Whether few lookups of `row` hit, by its counters so far.
    pub fn are_rare(&mut self, row: RowKey, so_far: Lookups) -> bool {
        let Some(place) = self.place(row) else { return false };
        if place.row != row || so_far.lookups < place.since.lookups {
            *place = Place { row, since: so_far, ..Place::default() };
        }
        let lookups = so_far.lookups - place.since.lookups;
        if lookups >= WINDOW {
            let hits = so_far.hits.saturating_sub(place.since.hits) + place.seconds;
            *place = Place { row, since: so_far, seconds: 0, is_rare: hits < lookups / RARE };
        }
        place.is_rare
    }

    /// A key of `row` has come for the second time.
    pub fn note_second(&mut self, row: RowKey) {
        if let Some(place) = self.place(row).filter(|place| place.row == row) {
            place.seconds += 1;
        }
    }

    fn place(&mut self, row: RowKey) -> Option<&mut Place> {
        // Digests are hashes.
        let number = row.digest.unwrap_or_default() ^ row.rule.unwrap_or_default().cast_unsigned();
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below PLACES")]
        self.0.get_mut((number % PLACES as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: RowKey = RowKey { rule: Some(1), digest: Some(5) };

    const fn so_far(lookups: u64, hits: u64) -> Lookups {
        Lookups { lookups, hits }
    }

    #[test]
    fn hits_are_rare_by_the_last_window() {
        let mut rates = HitRates::default();
        assert!(!rates.are_rare(ROW, so_far(1, 0)));
        assert!(!rates.are_rare(ROW, so_far(WINDOW, 0)), "the window is not over");
        assert!(rates.are_rare(ROW, so_far(WINDOW + 1, 0)));
        assert!(rates.are_rare(ROW, so_far(WINDOW + 2, 1)));
        let often = so_far(2 * WINDOW + 1, WINDOW / RARE);
        assert!(!rates.are_rare(ROW, often));
        assert!(rates.are_rare(ROW, so_far(3 * WINDOW + 1, often.hits + WINDOW / RARE - 1)));
    }

    #[test]
    fn keys_that_come_again_end_it() {
        let mut rates = HitRates::default();
        assert!(!rates.are_rare(ROW, so_far(1, 0)));
        assert!(rates.are_rare(ROW, so_far(WINDOW + 1, 0)));
        (0..WINDOW / RARE).for_each(|_| rates.note_second(ROW));
        assert!(!rates.are_rare(ROW, so_far(2 * WINDOW + 1, 0)));
        assert!(rates.are_rare(ROW, so_far(3 * WINDOW + 1, 0)), "the next window has its own");
    }

    #[test]
    fn another_row_and_counters_that_were_taken_away_begin_anew() {
        let mut rates = HitRates::default();
        assert!(!rates.are_rare(ROW, so_far(1, 0)));
        assert!(rates.are_rare(ROW, so_far(WINDOW + 1, 0)));
        assert!(!rates.are_rare(ROW, so_far(1, 0)), "the counters began anew");
        assert!(rates.are_rare(ROW, so_far(WINDOW + 1, 0)));
        let other = RowKey { digest: Some(5 + PLACES as u64), ..ROW };
        assert!(!rates.are_rare(other, so_far(2 * WINDOW, 0)));
        assert!(!rates.are_rare(ROW, so_far(WINDOW + 2, 0)), "the other one has its place");
    }
}
