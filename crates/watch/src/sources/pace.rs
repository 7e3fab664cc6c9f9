//! When a server is asked what is visible and where its log ends.

use cache::Demand;

/// A proof is asked for so often within the shortest bound of queries.
const PROOFS_IN_BOUND: u64 = 4;

/// The pause behind a question that has brought nothing new, in microseconds.
const PAUSE_US: u64 = 1_000;
/// The longest such pause: a commit may hang for seconds.
const PAUSE_MAX_US: u64 = 16_000;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    /// What is visible.
    pub(super) visible: bool,
    /// Where the log ends.
    pub(super) end: bool,
}

/// When something is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Now.
    Now(Ask),
    /// At this time, if nothing happens before.
    At(u64),
    /// When something happens.
    Later,
}

/// What was asked so far. Times are microseconds.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the end was asked for last; nothing before the first time.
    end_us: Option<u64>,
    /// Nothing is asked before that.
    paused_until_us: u64,
    /// Questions in a row that have brought nothing new.
    fruitless: u32,
}

impl Pace {
    /// What is to be asked when. `is_unsettled`: transactions were read that may not be visible.
    pub(super) fn next(&self, now_us: u64, is_unsettled: bool, demand: Demand) -> Next {
        let proof_us = match demand {
            Demand { is_waited_for: true, .. } => Some(now_us),
            Demand { bound_us: Some(bound), .. } => {
                Some(self.end_us.map_or(now_us, |end| end.saturating_add(bound / PROOFS_IN_BOUND)))
            }
            _ => None,
        };
        let visible_us = is_unsettled.then_some(now_us);
        let Some(due) = proof_us.into_iter().chain(visible_us).min() else { return Next::Later };
        let due = due.max(self.paused_until_us);
        if due > now_us {
            return Next::At(due);
        }
        Next::Now(Ask { visible: is_unsettled, end: proof_us.is_some_and(|proof| proof <= now_us) })
    }

    /// This was asked at `at_us`, and answered. `is_news`: something became visible, or the cache
    /// is exact as of a later moment.
    pub(super) fn note(&mut self, ask: Ask, at_us: u64, now_us: u64, is_news: bool) {
        if ask.end {
            self.end_us = Some(at_us);
        }
        self.fruitless = if is_news { 0 } else { self.fruitless.saturating_add(1) };
        let pause = match self.fruitless {
            0 => 0,
            times => (PAUSE_US << (times - 1).min(8)).min(PAUSE_MAX_US),
        };
        self.paused_until_us = now_us.saturating_add(pause);
    }

    /// More of the log was read: what was asked in vain may bring something now.
    pub(super) const fn resume(&mut self) {
        (self.paused_until_us, self.fruitless) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Demand = Demand { is_waited_for: false, bound_us: None };
    const WAITS: Demand = Demand { is_waited_for: true, bound_us: None };
    const BOUND: Demand = Demand { is_waited_for: false, bound_us: Some(20_000) };
    const BOTH: Ask = Ask { visible: true, end: true };
    const END: Ask = Ask { visible: false, end: true };
    const VISIBLE: Ask = Ask { visible: true, end: false };

    #[test]
    fn what_no_query_needs_is_not_asked() {
        assert_eq!(Pace::default().next(1_000_000, false, NONE), Next::Later);
        assert_eq!(Pace::default().next(1_000_000, true, NONE), Next::Now(VISIBLE));
        assert_eq!(Pace::default().next(1_000_000, true, WAITS), Next::Now(BOTH));
    }

    #[test]
    fn a_bound_has_four_proofs() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(1_000_000, false, BOUND), Next::Now(END));
        pace.note(END, 1_000_000, 1_000_100, true);
        assert_eq!(pace.next(1_000_200, false, BOUND), Next::At(1_005_000));
        assert_eq!(pace.next(1_005_000, false, BOUND), Next::Now(END));
        assert_eq!(pace.next(1_000_200, true, BOUND), Next::Now(VISIBLE));
        assert_eq!(pace.next(1_000_200, false, WAITS), Next::Now(END), "without delay");
    }

    #[test]
    fn the_first_proof_is_asked_for_at_once() {
        let hour = Demand { bound_us: Some(3_600_000_000), ..NONE };
        assert_eq!(Pace::default().next(1_000, false, hour), Next::Now(END));
    }

    #[test]
    fn a_commit_that_hangs_is_asked_for_less_and_less_often() {
        let mut pace = Pace::default();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            pace.note(VISIBLE, 0, 0, false);
            let Next::At(at) = pace.next(0, true, NONE) else { panic!("a pause") };
            pauses.push(at);
        }
        assert_eq!(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
        pace.resume();
        assert_eq!(pace.next(0, true, NONE), Next::Now(VISIBLE));
    }
}
