//! What bounds the connections of a hostgroup beside the limits of its servers: how many there may
//! be, and how many may be begun in a second.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::policy::Policy;
use crate::server::micros;

/// Microseconds of a second.
const SECOND_US: u64 = 1_000_000;

/// Of the connections of a second, this part may be begun at once; one in any case.
const BURSTS_PER_SECOND: u32 = 10;

/// The connections of one hostgroup.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Those that are open or being opened.
    open: AtomicU32,
    /// The microsecond in which the next one would be begun if all were at even distances
    /// ("theoretical arrival time").
    due: AtomicU64,
}

/// Why no connection may be begun in a hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It has all that it may have.
    Full {
        /// Those it has.
        open: u32,
        /// Those it may have.
        max: u32,
    },
    /// Too many were begun just now.
    Throttled {
        /// How many may be begun in a second.
        per_second: u32,
        /// Time until the next one may be.
        left: Duration,
    },
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { open, max } => write!(f, "its hostgroup has {open} of {max} connections"),
            Self::Throttled { per_second, left } => {
                write!(
                    f,
                    "only {per_second} connections in a second are opened in its hostgroup, the next one in {left:.1?}"
                )
            }
        }
    }
}

impl Gate {
    /// Why no connection may be begun at `now`; `None`: one may be.
    pub(crate) fn closed(&self, policy: &Policy, now: Duration) -> Option<Closed> {
        let (open, max) = (self.open.load(Ordering::SeqCst), policy.max_open);
        if open >= max {
            return Some(Closed::Full { open, max });
        }
        let per_second = policy.opened_per_second?;
        let earliest = self.due.load(Ordering::SeqCst).saturating_sub(tolerance(per_second));
        let left = Duration::from_micros(earliest.saturating_sub(micros(now)));
        (!left.is_zero()).then_some(Closed::Throttled { per_second, left })
    }

    /// Counts a connection that is begun at `now`, if one may be.
    pub(crate) fn try_enter(&self, policy: &Policy, now: Duration) -> bool {
        let more = |open| (open < policy.max_open).then_some(open + 1);
        if self.open.try_update(Ordering::SeqCst, Ordering::SeqCst, more).is_err() {
            return false;
        }
        let Some(per_second) = policy.opened_per_second else { return true };
        let now = micros(now);
        let next = |due: u64| {
            (due.saturating_sub(tolerance(per_second)) <= now).then(|| due.max(now) + interval(per_second))
        };
        let enters = self.due.try_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok();
        if !enters {
            self.leave();
        }
        enters
    }

    /// A connection that was counted has ended.
    pub(crate) fn leave(&self) {
        let before = self.open.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a connection has ended that was never begun");
    }

    /// A connection that was counted was not begun after all.
    pub(crate) fn give_back(&self, policy: &Policy) {
        self.leave();
        if let Some(per_second) = policy.opened_per_second {
            let earlier = |due: u64| Some(due.saturating_sub(interval(per_second)));
            let _ = self.due.try_update(Ordering::SeqCst, Ordering::SeqCst, earlier);
        }
    }
}

/// Microseconds between two connections.
fn interval(per_second: u32) -> u64 {
    SECOND_US / u64::from(per_second.max(1))
}

/// How much earlier than at even distances a connection may be begun, in microseconds.
fn tolerance(per_second: u32) -> u64 {
    let burst = (per_second / BURSTS_PER_SECOND).max(1);
    u64::from(burst - 1) * interval(per_second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(max_open: u32, opened_per_second: Option<u32>) -> Policy {
        Policy { max_open, opened_per_second, ..Policy::default() }
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn connections_are_begun_at_even_distances() {
        let (gate, policy) = (Gate::default(), policy(u32::MAX, Some(5)));
        assert!(gate.try_enter(&policy, ms(1_000)) && !gate.try_enter(&policy, ms(1_000)));
        let closed = gate.closed(&policy, ms(1_050));
        assert_eq!(closed, Some(Closed::Throttled { per_second: 5, left: ms(150) }));
        assert!(gate.closed(&policy, ms(1_200)).is_none() && gate.try_enter(&policy, ms(1_200)));
        assert!(!gate.try_enter(&policy, ms(1_399)));
        assert!(
            gate.try_enter(&policy, ms(9_000)) && !gate.try_enter(&policy, ms(9_000)),
            "nothing is saved up"
        );
    }

    #[test]
    fn a_tenth_of_a_second_comes_at_once() {
        let (gate, policy) = (Gate::default(), policy(u32::MAX, Some(50)));
        let at_once = (0..100).filter(|_| gate.try_enter(&policy, ms(7))).count();
        assert_eq!(at_once, 5);
        gate.give_back(&policy);
        assert!(
            gate.try_enter(&policy, ms(7)) && !gate.try_enter(&policy, ms(7)),
            "what was not used is there"
        );
    }

    #[test]
    fn there_are_no_more_than_may_be() {
        let (gate, policy) = (Gate::default(), policy(2, None));
        assert!(gate.try_enter(&policy, ms(0)) && gate.try_enter(&policy, ms(0)));
        assert!(!gate.try_enter(&policy, ms(0)));
        assert_eq!(gate.closed(&policy, ms(0)), Some(Closed::Full { open: 2, max: 2 }));
        gate.leave();
        assert!(gate.try_enter(&policy, ms(0)));
    }

    proptest! {
        /// In no second more are begun than may be, and the tenth that may come at once.
        #[test]
        fn no_second_has_too_many(per_second in 1..200u32, steps in proptest::collection::vec(0..50u64, 1..400)) {
            let (gate, policy) = (Gate::default(), policy(u32::MAX, Some(per_second)));
            let (mut now, mut begun) = (0, Vec::new());
            for step in steps {
                now += step;
                let closed = gate.closed(&policy, ms(now)).is_some();
                let enters = gate.try_enter(&policy, ms(now));
                prop_assert_eq!(closed, !enters);
                if enters {
                    begun.push(now);
                }
            }
            let most = (per_second + (per_second / BURSTS_PER_SECOND).max(1)) as usize;
            for first in &begun {
                let within = begun.iter().filter(|at| (*first..first + 1_000).contains(at)).count();
                prop_assert!(within <= most, "{within} in a second, {per_second} may be");
            }
        }
    }
}
