//! Which statements are logged.

use std::cell::Cell;

/// Logs that a record goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logs {
    /// The query log.
    pub events: bool,
    /// The slow log.
    pub slow: bool,
}

impl Logs {
    /// Whether it is any.
    pub const fn is_any(self) -> bool {
        self.events || self.slow
    }
}

/// What the configuration says. Without a log nothing is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether there is a query log.
    pub events: bool,
    /// Whether it gets statements that no rule decides about (`mysql-eventslog_default_log`).
    pub default_log: bool,
    /// Of these, one in so many; at least 1.
    pub events_sample: u32,
    /// Whether there is a slow log.
    pub slow: bool,
    /// Of slow statements that no rule decides about, one in so many; at least 1.
    pub slow_sample: u32,
}

/// Which of many statements are taken; one for each worker and log.
///
/// Of every `n` statements it takes one, at a place that is drawn anew each time: exactly its
/// share, and no pattern of an application can hide from it.
#[derive(Debug, Default)]
pub struct Sampler {
    /// Statements that are left of the current `n`.
    left: Cell<u32>,
    /// How many are left when one is taken; 0 if it was.
    take_at: Cell<u32>,
}

impl Policy {
    /// Whether there is any log: if not, nothing needs to be asked.
    pub const fn is_any(&self) -> bool {
        self.events || self.slow
    }

    /// The logs of a statement. `rule` is what a query rule says about it (`log`), `is_slow`
    /// whether it took longer than `mysql-long_query_time`; `random` makes a number.
    ///
    /// A rule decides for both logs, whatever a sampler says.
    pub fn logs(
        &self,
        rule: Option<bool>,
        is_slow: bool,
        [events, slow]: [&Sampler; 2],
        mut random: impl FnMut() -> u64,
    ) -> Logs {
        match rule {
            Some(log) => Logs { events: self.events && log, slow: self.slow && log },
            None => Logs {
                events: self.events && self.default_log && events.takes(self.events_sample, &mut random),
                slow: self.slow && is_slow && slow.takes(self.slow_sample, &mut random),
            },
        }
    }
}

impl Sampler {
    /// Whether it takes the next one, as one in `n`; `random` makes a number.
    pub fn takes(&self, n: u32, mut random: impl FnMut() -> u64) -> bool {
        if n <= 1 {
            return true;
        }
        let left = self.left.get();
        // The second is so when `n` was changed.
        if left == 0 || left > n {
            self.left.set(n);
            // The remainder is smaller than `n`.
            self.take_at.set(u32::try_from(random() % u64::from(n)).unwrap_or(0) + 1);
        }
        let takes = self.left.get() == self.take_at.get();
        self.left.set(self.left.get() - 1);
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Policy =
        Policy { events: true, default_log: true, events_sample: 1, slow: true, slow_sample: 1 };

    fn logs(policy: &Policy, rule: Option<bool>, is_slow: bool) -> (bool, bool) {
        let logs = policy.logs(rule, is_slow, [&Sampler::default(), &Sampler::default()], || 7);
        (logs.events, logs.slow)
    }

    #[test]
    fn a_rule_decides_for_both_logs() {
        for is_slow in [false, true] {
            assert_eq!(logs(&ALL, Some(true), is_slow), (true, true));
            assert_eq!(logs(&ALL, Some(false), is_slow), (false, false));
            let sampled = Policy { events_sample: 1000, slow_sample: 1000, default_log: false, ..ALL };
            assert_eq!(logs(&sampled, Some(true), is_slow), (true, true));
        }
    }

    #[test]
    fn without_a_rule_it_is_the_variables() {
        assert_eq!(logs(&ALL, None, false), (true, false));
        assert_eq!(logs(&ALL, None, true), (true, true));
        assert_eq!(logs(&Policy { default_log: false, ..ALL }, None, true), (false, true));
        assert_eq!(logs(&Policy { slow: false, ..ALL }, Some(true), true), (true, false));
        assert_eq!(logs(&Policy::default(), Some(true), true), (false, false));
    }

    #[test]
    fn a_sampler_takes_its_share_and_not_always_the_same_one() {
        let (sampler, mut state) = (Sampler::default(), 1_u64);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let mut places = [0; 10];
        for _ in 0..1000 {
            let taken: Vec<usize> = (0..10).filter(|_| sampler.takes(10, &mut random)).collect();
            assert_eq!(taken.len(), 1);
            places[taken[0]] += 1;
        }
        assert!(places.iter().all(|&count| count > 50), "{places:?}");
        // Another share from now on.
        assert_eq!((0..30).filter(|_| sampler.takes(3, &mut random)).count(), 10);
    }
}
