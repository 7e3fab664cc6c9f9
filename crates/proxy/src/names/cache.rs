//! Addresses by name, and when they were learned. Times are since the start of the proxy.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A name is not looked up again within this time because a server of it cannot be reached.
const DOUBT_PAUSE: Duration = Duration::from_secs(1);

/// A name is forgotten that nobody has wanted to know for so long: no server is called so any more.
const UNUSED: Duration = Duration::from_hours(1);

/// The addresses of all names.
#[derive(Debug, Default)]
pub(super) struct Cache {
    names: HashMap<String, Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// Empty as long as none is known.
    addresses: Vec<SocketAddr>,
    /// When they were learned.
    learned: Duration,
    /// When the name was looked up last, with whatever outcome.
    asked: Duration,
    /// When somebody wanted to know it last.
    used: Duration,
    /// Whether the last answer was none.
    has_failed: bool,
}

/// What follows from an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// Nothing that was not known.
    Nothing,
    /// The name had no address before.
    New,
    /// It has other addresses.
    Other { before: Vec<SocketAddr>, now: Vec<SocketAddr> },
    /// There was no answer, and the one before was one.
    Failed,
}

impl Cache {
    /// The addresses of a name, however old they are: who looks after that is somebody else.
    pub(super) fn get(&mut self, name: &str, now: Duration) -> Option<Vec<SocketAddr>> {
        let record = self.names.get_mut(name)?;
        record.used = now;
        Some(record.addresses.clone()).filter(|addresses| !addresses.is_empty())
    }

    /// A name is looked up.
    pub(super) fn note_asked(&mut self, name: &str, now: Duration) {
        let new = || Record { used: now, ..Record::default() };
        self.names.entry(name.to_owned()).or_insert_with(new).asked = now;
    }

    /// A lookup has found these addresses, or has failed.
    pub(super) fn learn(&mut self, name: &str, addresses: Option<&[SocketAddr]>, now: Duration) -> Learned {
        let record = self.names.entry(name.to_owned()).or_default();
        let Some(addresses) = addresses else {
            let is_known = std::mem::replace(&mut record.has_failed, true);
            return if is_known { Learned::Nothing } else { Learned::Failed };
        };
        (record.learned, record.has_failed) = (now, false);
        // Resolvers answer in another order each time.
        let sorted = |addresses: &[SocketAddr]| {
            let mut addresses = addresses.to_vec();
            addresses.sort_unstable();
            addresses
        };
        let (before, now) = (sorted(&record.addresses), sorted(addresses));
        // The same ones keep their order, in which the first one is not in doubt.
        if before == now {
            return Learned::Nothing;
        }
        record.addresses = addresses.to_vec();
        if before.is_empty() { Learned::New } else { Learned::Other { before, now } }
    }

    /// A name is not kept any more.
    pub(super) fn forget(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// The names whose addresses are older than `ttl`, those first that were looked up longest ago: there may be more than can be
    /// looked up at once. Those that nobody wants to know are forgotten.
    pub(super) fn due(&mut self, ttl: Duration, now: Duration) -> Vec<String> {
        self.names.retain(|_, record| now.saturating_sub(record.used) < UNUSED);
        let is_due = |record: &Record| {
            record.has_failed || !record.addresses.is_empty() && now.saturating_sub(record.learned) >= ttl
        };
        let mut due: Vec<_> = self.names.iter().filter(|(_, record)| is_due(record)).collect();
        due.sort_unstable_by_key(|(_, record)| record.asked);
        due.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// A server of this name cannot be reached: whoever comes next tries another of its addresses first, as the first one may be one that
    /// swallows all that is sent there. Whether the name may be looked up because of that.
    pub(super) fn doubt(&mut self, name: &str, now: Duration) -> bool {
        let Some(record) = self.names.get_mut(name) else { return false };
        if !record.addresses.is_empty() {
            record.addresses.rotate_left(1);
        }
        now.saturating_sub(record.asked) >= DOUBT_PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(last: u8) -> SocketAddr {
        ([10, 0, 0, last], 0).into()
    }

    #[test]
    fn the_old_addresses_hold_until_there_are_others() {
        let mut cache = Cache::default();
        assert_eq!(cache.get("db", s(0)), None);
        cache.note_asked("db", s(0));
        assert_eq!(cache.get("db", s(0)), None);
        assert_eq!(cache.learn("db", None, s(0)), Learned::Failed);
        assert_eq!(cache.learn("db", Some(&[at(2), at(1)]), s(1)), Learned::New);
        assert_eq!(cache.learn("db", Some(&[at(1), at(2)]), s(2)), Learned::Nothing, "the same");
        assert_eq!(cache.learn("db", None, s(3)), Learned::Failed);
        assert_eq!(cache.learn("db", None, s(4)), Learned::Nothing, "it was told");
        assert_eq!(cache.get("db", s(1_000)), Some(vec![at(2), at(1)]));
        let other = Learned::Other { before: vec![at(1), at(2)], now: vec![at(3)] };
        assert_eq!(cache.learn("db", Some(&[at(3)]), s(1_001)), other);
        assert_eq!(cache.get("db", s(1_002)), Some(vec![at(3)]));
    }

    #[test]
    fn names_are_looked_up_anew_when_they_are_old_or_have_failed() {
        let mut cache = Cache::default();
        for name in ["old", "young", "failed"] {
            cache.note_asked(name, s(0));
        }
        cache.learn("old", Some(&[at(1)]), s(0));
        cache.learn("young", Some(&[at(2)]), s(90));
        cache.learn("failed", Some(&[at(3)]), s(90));
        cache.learn("failed", None, s(95));
        assert_eq!(cache.due(s(60), s(100)).len(), 2);
        // Those that wait longest come first.
        for (first, second) in [("old", "failed"), ("failed", "old")] {
            cache.note_asked(second, s(101));
            cache.note_asked(first, s(100));
            assert_eq!(cache.due(s(60), s(102)), [first, second]);
        }
    }

    #[test]
    fn names_that_nobody_wants_to_know_are_forgotten() {
        let mut cache = Cache::default();
        cache.learn("a", Some(&[at(1)]), s(0));
        cache.learn("b", Some(&[at(2)]), s(0));
        cache.get("b", s(3_000));
        cache.due(s(60), s(4_000));
        assert_eq!((cache.get("a", s(4_000)), cache.get("b", s(4_000))), (None, Some(vec![at(2)])));
    }

    #[test]
    fn the_next_address_comes_first_when_one_cannot_be_reached() {
        let mut cache = Cache::default();
        cache.learn("db", Some(&[at(1), at(2)]), s(0));
        cache.doubt("db", s(1));
        assert_eq!(cache.get("db", s(2)), Some(vec![at(2), at(1)]));
        cache.learn("db", Some(&[at(1), at(2)]), s(3));
        assert_eq!(cache.get("db", s(4)), Some(vec![at(2), at(1)]), "the first one is still in doubt");
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_no_storm_of_lookups() {
        let mut cache = Cache::default();
        assert!(!cache.doubt("db", s(5)), "nobody has ever asked");
        cache.note_asked("db", s(5));
        assert!(!cache.doubt("db", s(5) + s(1) / 2));
        assert!(cache.doubt("db", s(6)));
    }
}
