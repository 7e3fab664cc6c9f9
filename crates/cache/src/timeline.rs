//! Which moments there were in the past.
//!
//! An answer from the cache of a proxy behind this one may be exact as of some time before its
//! query was sent. It is stored with the [`Moment`] of that time, or with an earlier one: a write
//! that is not in the answer has ended later, and so makes it too old.
//!
//! Moments are sampled when queries are sent. Of the last milliseconds many samples are kept, of
//! the last seconds few.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use crate::versions::Moment;

/// Levels of samples, each with double the spacing of the one before.
const LEVELS: usize = 13;
/// Samples of a level.
const SAMPLES: usize = 16;
/// The time between two samples of the first level, in microseconds; at least.
const SPACING_US: u64 = 500;

/// The clocks of two machines differ by less than 1 in this.
const CLOCKS_DIFFER: u64 = 1024;

/// Samples of moments, shared by all workers. Nothing is sampled before an answer needs it.
#[derive(Debug, Default)]
pub struct Timeline {
    is_wanted: AtomicBool,
    samples: Mutex<Samples>,
}

impl Timeline {
    /// The moment was taken at `at_us` or before, which is cut to whole microseconds. Times are
    /// those of one clock.
    pub fn note(&self, moment: Moment, at_us: u64) {
        if !self.is_wanted.load(Relaxed) {
            return;
        }
        // One sample less does no harm: no session waits for the lock.
        if let Ok(mut samples) = self.samples.try_lock() {
            samples.note(Sample { at_us: at_us.saturating_add(1), writes: moment.0 });
        }
    }

    /// A moment not after `at_us - before_us`, where `before_us` is told by another machine. From
    /// the first such question on moments are sampled.
    #[must_use]
    pub fn moment_before(&self, at_us: u64, before_us: u64) -> Moment {
        self.is_wanted.store(true, Relaxed);
        let before_us = before_us.saturating_add(before_us / CLOCKS_DIFFER);
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        Moment(samples.writes_at(at_us.saturating_sub(before_us)))
    }
}

/// As many writes had ended when this was counted, at this time at the latest.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at_us: u64,
    writes: u64,
}

/// The samples of all levels, newest first. Those that were not taken yet are of the start, when no
/// write had ended.
#[derive(Debug, Default)]
struct Samples([[Sample; SAMPLES]; LEVELS]);

impl Samples {
    fn note(&mut self, sample: Sample) {
        let mut spacing_us = SPACING_US;
        for level in &mut self.0 {
            let [newest, ..] = level;
            if newest.at_us.saturating_add(spacing_us) > sample.at_us {
                return;
            }
            level.rotate_right(1);
            let [newest, ..] = level;
            *newest = sample;
            spacing_us *= 2;
        }
    }

    /// How many writes had ended at this time; not more.
    fn writes_at(&self, at_us: u64) -> u64 {
        let before = self.0.iter().flatten().filter(|sample| sample.at_us <= at_us);
        before.map(|sample| sample.writes).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_sampled_before_it_is_wanted() {
        let timeline = Timeline::default();
        timeline.note(Moment(5), 1_000_000);
        assert_eq!(timeline.moment_before(2_000_000, 0), Moment(0));
        timeline.note(Moment(6), 3_000_000);
        assert_eq!(timeline.moment_before(3_000_000, 0), Moment(0), "the time was cut");
        assert_eq!(timeline.moment_before(3_000_001, 0), Moment(6));
        assert_eq!(timeline.moment_before(3_000_001, 1), Moment(0));
        assert_eq!(timeline.moment_before(4_000_000, 999_000), Moment(6));
        assert_eq!(timeline.moment_before(4_000_000, 999_999), Moment(0), "clocks differ");
    }

    #[test]
    fn samples_of_the_last_seconds_are_there() {
        let mut samples = Samples::default();
        let now_us = 100_000_000;
        for at_us in (0..=now_us).step_by(100) {
            samples.note(Sample { at_us, writes: at_us });
        }
        for age_us in [1_000, 5_000, 25_000, 100_000, 1_000_000, 20_000_000] {
            let asked = now_us - age_us;
            let found = samples.writes_at(asked);
            assert!(found <= asked && asked - found <= age_us / 4 + SPACING_US, "{age_us}: {found}");
        }
    }

    proptest! {
        /// A write that had not ended by then is never among those that had.
        #[test]
        fn c20_a_moment_is_never_later_than_its_time(
            steps in prop::collection::vec((0_u64..3_000, 0_u64..4, any::<bool>()), 1..400),
            asked in 0_u64..1_200_000,
        ) {
            let mut samples = Samples::default();
            let (mut now_us, mut writes, mut truth) = (0, 0, 0);
            for (pause, ended, is_sampled) in steps {
                now_us += pause;
                if is_sampled {
                    samples.note(Sample { at_us: now_us, writes });
                }
                writes += ended;
                if now_us <= asked {
                    truth = writes;
                }
            }
            prop_assert!(samples.writes_at(asked) <= truth);
        }
    }
}
