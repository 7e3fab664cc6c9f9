//! When a server is asked what is visible and where its log ends.

use cache::Demand;

/// A proof is asked for so often within the shortest bound of queries.
const PROOFS_IN_BOUND: u64 = 4;

/// The pause behind a question that has brought nothing new, in microseconds.
const PAUSE_US: u64 = 1_000;
/// The longest such pause: a commit may hang for seconds.
const PAUSE_MAX_US: u64 = 16_000;

/// The next question to the end of the log waits so long for sessions that the answer before has
/// released, in microseconds: they will wait again, and one question serves all.
const GATHER_US: u64 = 200;
/// Sessions that come later than this behind that answer, in microseconds, are not waited for.
const GATHER_WITHIN_US: u64 = 1_000;

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
    /// When that was answered.
    answered_us: u64,
    /// Nothing is asked before that.
    paused_until_us: u64,
    /// Questions in a row that have brought nothing new.
    fruitless: u32,
}

impl Pace {
    /// What is to be asked when. `is_unsettled`: transactions were read that may not be visible.
    pub(super) fn next(&self, now_us: u64, is_unsettled: bool, demand: Demand) -> Next {
        let again_us = |bound| self.end_us.map_or(now_us, |end| end.saturating_add(bound / PROOFS_IN_BOUND));
        let bounded_us = demand.bound_us.map(again_us);
        let strict_us = (demand.waiting > 0).then(|| self.gathered_us(now_us, demand));
        let proof_us = bounded_us.into_iter().chain(strict_us).min();
        let visible_us = is_unsettled.then_some(now_us);
        let Some(due) = proof_us.into_iter().chain(visible_us).min() else { return Next::Later };
        let due = due.max(self.paused_until_us);
        if due > now_us {
            return Next::At(due);
        }
        // Where something is asked anyway, sessions need not wait for others.
        let end = demand.waiting > 0 || proof_us.is_some_and(|proof| proof <= now_us);
        Next::Now(Ask { visible: is_unsettled, end })
    }

    /// When sessions have waited long enough for those that are likely to join them.
    fn gathered_us(&self, now_us: u64, demand: Demand) -> u64 {
        let expected_until_us = self.answered_us.saturating_add(GATHER_WITHIN_US);
        if demand.is_gathered() || demand.since_us >= expected_until_us {
            return now_us;
        }
        demand.since_us.max(self.answered_us).saturating_add(GATHER_US).min(expected_until_us)
    }

    /// This was asked at `at_us`, and answered. `is_news`: something became visible, or the cache
    /// is exact as of a later moment.
    pub(super) fn note(&mut self, ask: Ask, at_us: u64, now_us: u64, is_news: bool) {
        if ask.end {
            (self.end_us, self.answered_us) = (Some(at_us), now_us);
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

    const NONE: Demand = Demand { waiting: 0, crowd: 0, since_us: 0, bound_us: None };
    const WAITS: Demand = Demand { waiting: 1, crowd: 1, ..NONE };
    const BOUND: Demand = Demand { bound_us: Some(20_000), ..NONE };
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
    fn sessions_that_waited_together_are_gathered_again() {
        let mut pace = Pace::default();
        pace.note(END, 1_000_000, 1_000_080, true);
        let next = |now, waiting, since_us| {
            pace.next(now, false, Demand { waiting, crowd: 16, since_us, bound_us: None })
        };
        let late = 1_000_100 + GATHER_US;
        assert_eq!(next(1_000_080, 1, 1_000_020), Next::At(late - 20), "it came before the answer");
        assert_eq!(next(1_000_100, 1, 1_000_100), Next::At(late));
        assert_eq!(next(1_000_110, 11, 1_000_100), Next::At(late));
        assert_eq!(next(1_000_110, 12, 1_000_100), Next::Now(END), "most of them are there");
        assert_eq!(next(late, 1, 1_000_100), Next::Now(END), "the others may not come");
        assert_eq!(next(1_001_070, 1, 1_001_070), Next::At(1_001_080));
        assert_eq!(next(1_001_080, 1, 1_001_080), Next::Now(END), "they would have come by now");
    }

    #[test]
    fn a_session_waits_for_no_other_where_something_is_asked_anyway() {
        let mut pace = Pace::default();
        pace.note(END, 1_000_000, 1_000_080, true);
        let few = Demand { waiting: 1, crowd: 16, since_us: 1_000_090, bound_us: None };
        assert_eq!(pace.next(1_000_100, true, few), Next::Now(BOTH));
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
