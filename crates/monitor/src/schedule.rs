//! Which checks are due: a heap of moments, not a clock for each server.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// Whether the server is read-only.
    ReadOnly,
    /// Whether it answers a ping.
    Ping,
    /// How far it is behind.
    Lag,
    /// Whether it takes a new connection and a login.
    Connect,
    /// How it stands in its replication group.
    Group,
    /// How it stands in its Galera cluster.
    Galera,
    /// How its Aurora cluster is.
    Aurora,
    /// Who it is, and which replicas follow it.
    Replicas,
    /// Who it is, and of which servers its RDS Multi-AZ cluster consists.
    Rds,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ReadOnly,
        Self::Ping,
        Self::Lag,
        Self::Connect,
        Self::Group,
        Self::Galera,
        Self::Aurora,
        Self::Replicas,
        Self::Rds,
    ];

    /// Those that ask servers of clusters.
    pub const OF_CLUSTERS: [Self; 3] = [Self::Group, Self::Galera, Self::Aurora];

    /// Those that find servers of pairs which the operator has not named.
    pub const OF_FAMILIES: [Self; 2] = [Self::Replicas, Self::Rds];

    /// Whether it finds servers of pairs which the operator has not named.
    pub fn is_of_family(self) -> bool {
        Self::OF_FAMILIES.contains(&self)
    }

    /// Whether it asks servers of clusters.
    pub fn is_of_cluster(self) -> bool {
        Self::OF_CLUSTERS.contains(&self)
    }
}

/// A check that is to be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order<E> {
    /// The server.
    pub server: E,
    /// What is checked.
    pub check: Check,
    /// The longest time for it.
    pub limit: Duration,
}

/// When a check of a server is made next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Then.
    Due(Duration),
    /// It runs since then; `again`: the next one is to follow at once.
    Runs { since: Duration, again: bool },
}

/// The checks of all servers.
#[derive(Debug)]
pub(crate) struct Schedule<E> {
    /// Moments, some of which do not hold any more: `states` says which do.
    heap: BinaryHeap<Reverse<(Duration, u64, Check)>>,
    states: HashMap<(u64, Check), State>,
    /// Servers by their number in the heap.
    servers: HashMap<u64, E>,
    numbers: HashMap<E, u64>,
    last: u64,
}

impl<E> Default for Schedule<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            states: HashMap::new(),
            servers: HashMap::new(),
            numbers: HashMap::new(),
            last: 0,
        }
    }
}

impl<E: Clone + Eq + Hash> Schedule<E> {
    /// The check is made at `at`, unless it is planned for an earlier moment or runs.
    pub(crate) fn plan(&mut self, server: &E, check: Check, at: Duration) {
        let number = self.number(server);
        match self.states.get_mut(&(number, check)) {
            Some(State::Runs { .. }) => {}
            Some(State::Due(due)) if *due <= at => {}
            _ => self.put(number, check, at),
        }
    }

    /// The check is made at `now` at the latest, or at once after the one that runs.
    pub(crate) fn hurry(&mut self, server: &E, check: Check, now: Duration) {
        let number = self.number(server);
        if let Some(State::Runs { again, .. }) = self.states.get_mut(&(number, check)) {
            *again = true;
            return;
        }
        self.plan(server, check, now);
    }

    /// The check that ran is over at `now`: the next one begins `interval` after it began. Says
    /// whether it did run.
    pub(crate) fn done(&mut self, server: &E, check: Check, now: Duration, interval: Duration) -> bool {
        let Some(&number) = self.numbers.get(server) else { return false };
        let Some(&State::Runs { since, again }) = self.states.get(&(number, check)) else { return false };
        let next = if again { now } else { since.saturating_add(interval).max(now) };
        self.put(number, check, next);
        true
    }

    /// The check is not made any more.
    pub(crate) fn stop(&mut self, server: &E, check: Check) {
        if let Some(number) = self.numbers.get(server) {
            self.states.remove(&(*number, check));
        }
    }

    /// Whether the check is planned or runs.
    pub(crate) fn has(&self, server: &E, check: Check) -> bool {
        self.numbers.get(server).is_some_and(|number| self.states.contains_key(&(*number, check)))
    }

    /// Nothing of this server is checked any more.
    pub(crate) fn forget(&mut self, server: &E) {
        if let Some(number) = self.numbers.remove(server) {
            self.servers.remove(&number);
            for check in Check::ALL {
                self.states.remove(&(number, check));
            }
        }
    }

    /// The next check that is due by `now`, which runs from now on.
    pub(crate) fn take(&mut self, now: Duration) -> Option<(E, Check)> {
        while self.next_due()? <= now {
            let Reverse((_, number, check)) = self.heap.pop()?;
            if let Some(server) = self.servers.get(&number) {
                self.states.insert((number, check), State::Runs { since: now, again: false });
                return Some((server.clone(), check));
            }
        }
        None
    }

    /// When the next check is due.
    pub(crate) fn next_due(&mut self) -> Option<Duration> {
        loop {
            let Reverse((at, number, check)) = *self.heap.peek()?;
            if self.states.get(&(number, check)) == Some(&State::Due(at)) {
                return Some(at);
            }
            self.heap.pop();
        }
    }

    fn put(&mut self, number: u64, check: Check, at: Duration) {
        self.states.insert((number, check), State::Due(at));
        self.heap.push(Reverse((at, number, check)));
    }

    fn number(&mut self, server: &E) -> u64 {
        if let Some(number) = self.numbers.get(server) {
            return *number;
        }
        self.last += 1;
        self.numbers.insert(server.clone(), self.last);
        self.servers.insert(self.last, server.clone());
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_check_begins_an_interval_after_the_one_before() {
        let mut schedule = Schedule::default();
        schedule.plan(&"a", Check::Ping, s(5));
        assert_eq!((schedule.next_due(), schedule.take(s(4))), (Some(s(5)), None));
        assert_eq!(schedule.take(s(6)), Some(("a", Check::Ping)));
        assert_eq!((schedule.next_due(), schedule.take(s(100))), (None, None), "it runs");
        assert!(schedule.done(&"a", Check::Ping, s(7), s(10)));
        assert_eq!(schedule.next_due(), Some(s(16)));
        // One that took longer than the interval is followed by the next at once.
        schedule.take(s(16));
        schedule.done(&"a", Check::Ping, s(40), s(10));
        assert_eq!(schedule.next_due(), Some(s(40)));
    }

    #[test]
    fn what_is_in_a_hurry_comes_once_and_early() {
        let mut schedule = Schedule::default();
        schedule.plan(&"a", Check::Ping, s(50));
        schedule.hurry(&"a", Check::Ping, s(1));
        schedule.hurry(&"a", Check::Ping, s(2));
        assert_eq!(schedule.take(s(60)), Some(("a", Check::Ping)));
        assert_eq!(schedule.take(s(60)), None);
        schedule.hurry(&"a", Check::Ping, s(60));
        schedule.done(&"a", Check::Ping, s(61), s(10));
        assert_eq!(schedule.next_due(), Some(s(61)));
    }

    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let mut schedule = Schedule::default();
        for check in Check::ALL {
            schedule.plan(&"a", check, s(1));
        }
        schedule.stop(&"a", Check::Lag);
        assert!(schedule.has(&"a", Check::Ping) && !schedule.has(&"a", Check::Lag));
        assert_eq!(schedule.take(s(1)), Some(("a", Check::ReadOnly)));
        schedule.forget(&"a");
        assert!(!schedule.done(&"a", Check::ReadOnly, s(2), s(1)));
        assert_eq!(schedule.next_due(), None);
    }
}
