//! What is known of one server, whatever hostgroups it is in.

use std::collections::HashMap;
use std::time::Duration;

use crate::Lag;

/// What is known of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    /// Pings missed in a row.
    pub(crate) missed: u32,
    pub(crate) down: bool,
    /// It is down and has shown a sign of life; it comes back when it has said whether it is
    /// read-only.
    pub(crate) returning: bool,
    /// What it has said last, or what is assumed of it.
    pub(crate) read_only: Option<bool>,
    /// Whether that is assumed.
    pub(crate) is_assumed: bool,
    /// Timeouts of that check in a row.
    pub(crate) read_only_timeouts: u32,
    /// By the hostgroup of its row.
    pub(crate) lags: HashMap<u32, Lagging>,
}

impl Watch {
    /// Whether it takes writes, as far as is known.
    pub(crate) fn writes(&self) -> bool {
        self.read_only == Some(false) && !self.down
    }

    /// Whether it is read-only, if it has said so itself.
    pub(crate) fn said(&self) -> Option<bool> {
        self.read_only.filter(|_| !self.is_assumed)
    }

    /// Whether the same follows from both.
    pub(crate) fn means_the_same_as(&self, other: &Self) -> bool {
        let lag = |watch: &Self, hostgroup| watch.lags.get(hostgroup).is_some_and(|row| row.lag.is_some());
        self.down == other.down
            && (self.read_only, self.is_assumed) == (other.read_only, other.is_assumed)
            && self.lags.keys().all(|hostgroup| lag(self, hostgroup) == lag(other, hostgroup))
    }
}

/// What is known of the lag of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lagging {
    /// What the last look has seen.
    last: Option<Lag>,
    /// Looks in a row that saw too much.
    over: u32,
    /// The lag, if it is passed over for it.
    pub(crate) lag: Option<Duration>,
}

impl Lagging {
    /// A look has seen this lag, of which `max` is allowed; `enough` looks in a row that see more
    /// are too many.
    pub(crate) fn see(&mut self, lag: Lag, max: Duration, when_unknown: Duration, enough: u32) {
        self.last = Some(lag);
        let lag = counted(lag, when_unknown);
        if lag <= max {
            (self.over, self.lag) = (0, None);
            return;
        }
        self.over = self.over.saturating_add(1);
        if self.over >= enough {
            self.lag = Some(lag);
        }
    }

    /// This is allowed from now on. A lag that it allows is none any more; one that it does not
    /// allow has to be seen.
    pub(crate) fn allow(&mut self, max: Duration, when_unknown: Duration) {
        if self.last.is_some_and(|lag| counted(lag, when_unknown) <= max) {
            (self.over, self.lag) = (0, None);
        }
    }
}

/// The time that a lag counts as.
const fn counted(lag: Lag, when_unknown: Duration) -> Duration {
    match lag {
        Lag::NoReplica => Duration::ZERO,
        Lag::Unknown => when_unknown,
        Lag::Behind(lag) => lag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn it_lags_after_enough_looks_in_a_row_and_keeps_up_after_one() {
        let mut lagging = Lagging::default();
        let mut see = |lag| {
            lagging.see(lag, s(10), s(60), 3);
            lagging.lag
        };
        let over = Lag::Behind(s(11));
        assert_eq!([see(over), see(over), see(Lag::Behind(s(10)))], [None; 3]);
        assert_eq!([see(over), see(Lag::Unknown), see(over)], [None, None, Some(s(11))]);
        assert_eq!(see(Lag::Unknown), Some(s(60)));
        assert_eq!([see(Lag::NoReplica), see(over)], [None; 2]);
    }
}
