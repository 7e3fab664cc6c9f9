//! What a limit allows: pure, with the time in nanoseconds of a clock that comes in.

use std::fmt;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Of the statements of a second, this part may come at once; one in any case.
const BURSTS_PER_SECOND: u64 = 10;

/// What a limit allows; `None` is everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Most statements in a second. A tenth of them may come at once, so in a single second there
    /// may be a tenth more.
    pub max_qps: Option<u64>,
    /// Most statements at a time.
    pub max_concurrent: Option<u64>,
}

impl Rates {
    /// Whether they limit anything.
    pub const fn is_any(self) -> bool {
        self.max_qps.is_some() || self.max_concurrent.is_some()
    }

    /// Most statements at a time; all that there can be if there is no limit.
    pub(super) fn most(self) -> u32 {
        self.max_concurrent.and_then(|most| u32::try_from(most).ok()).unwrap_or(u32::MAX)
    }

    /// When the next statement may come, which is `due` if all come at even distances ("theoretical
    /// arrival time").
    pub(super) fn earliest(self, due: u64) -> u64 {
        let Some(qps) = self.max_qps else { return 0 };
        let burst = (qps / BURSTS_PER_SECOND).max(1);
        due.saturating_sub((burst - 1).saturating_mul(self.interval()))
    }

    /// When the one behind a statement is due that comes `now`, and is due itself at `due`.
    pub(super) fn due_behind(self, due: u64, now: u64) -> u64 {
        due.max(now).saturating_add(self.interval())
    }

    /// Nanoseconds between two statements.
    fn interval(self) -> u64 {
        self.max_qps.map_or(0, |qps| SECOND_NS / qps.max(1))
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(max) = self.max_concurrent {
            write!(f, "{max} statements at a time (max_concurrent)")?;
        }
        if let Some(max) = self.max_qps {
            let and = if self.max_concurrent.is_some() { ", " } else { "" };
            write!(f, "{and}{max} statements in a second (max_qps)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = SECOND_NS / 1000;

    /// Has a statement come at this time, if it may.
    fn comes(rates: Rates, due: &mut u64, now: u64) -> bool {
        let may = rates.earliest(*due) <= now;
        if may {
            *due = rates.due_behind(*due, now);
        }
        may
    }

    #[test]
    fn a_tenth_of_a_second_may_come_at_once() {
        let rates = Rates { max_qps: Some(100), max_concurrent: None };
        let mut due = 0;
        let mut at = |now| (0..1000).take_while(|_| comes(rates, &mut due, now)).count();
        assert_eq!(at(0), 10);
        assert_eq!(at(9 * MS), 0);
        assert_eq!(at(10 * MS), 1);
        assert_eq!(at(60 * MS), 5);
        assert_eq!(at(10_000 * MS), 10, "what was not used is gone");
    }

    proptest! {
        #[test]
        fn never_more_come_in_a_second_than_are_allowed(
            qps in 1_u64..40,
            steps in prop::collection::vec((0_u64..400, 0_usize..20), 0..100),
        ) {
            let rates = Rates { max_qps: Some(qps), max_concurrent: None };
            let (mut now, mut due, mut came) = (0, 0, Vec::new());
            for (later, tries) in steps {
                now += later * MS;
                came.extend((0..tries).filter(|_| comes(rates, &mut due, now)).map(|_| now));
                let allowed = usize::try_from(qps + (qps / BURSTS_PER_SECOND).max(1)).unwrap();
                let recent = came.iter().filter(|at| **at + SECOND_NS > now).count();
                prop_assert!(recent <= allowed, "{recent} of {allowed}");
                prop_assert!(rates.earliest(due) <= now + rates.interval(), "the next one comes in time");
            }
        }
    }
}
