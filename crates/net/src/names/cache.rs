//! Addresses by name, and when they were learned. Times are since the start of the proxy.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A name is not looked up again within this time because a server of it cannot be reached.
const DOUBT_PAUSE: Duration = Duration::from_secs(1);

/// An address that could not be connected to is used again with the others of its name after so
/// long.
const PUT_BACK: Duration = Duration::from_mins(1);

/// Time without a use after which a name is forgotten: no server is called so any more.
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
    /// So many of them are used in turn; those behind could not be connected to.
    well: usize,
    /// When that was so last.
    put_back: Duration,
    /// When they were learned.
    learned: Duration,
    /// When the name was looked up last, with whatever outcome.
    asked: Duration,
    /// When it was used last.
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
    /// The addresses of a name, however old they are; `refresh` sees to their age. Each is the
    /// first in turn, as in the answers of a resolver, but for those that were put back.
    pub(super) fn get(&mut self, name: &str, now: Duration) -> Option<Vec<SocketAddr>> {
        let record = self.names.get_mut(name)?;
        record.used = now;
        if now.saturating_sub(record.put_back) >= PUT_BACK {
            record.well = record.addresses.len();
        }
        let addresses = record.addresses.clone();
        if let Some(well) = record.addresses.get_mut(..record.well).filter(|well| !well.is_empty()) {
            well.rotate_left(1);
        }
        Some(addresses).filter(|addresses| !addresses.is_empty())
    }

    /// An address of a name cannot be connected to: the next connection tries the others first,
    /// as this one may swallow all that is sent there.
    pub(super) fn put_back(&mut self, name: &str, address: SocketAddr, now: Duration) {
        let Some(record) = self.names.get_mut(name) else { return };
        let Some(at) = record.addresses.iter().position(|known| known.ip() == address.ip()) else { return };
        let address = record.addresses.remove(at);
        record.addresses.push(address);
        record.put_back = now;
        record.well = record.well.saturating_sub(usize::from(at < record.well));
        if record.well == 0 {
            // One is as bad as another.
            record.well = record.addresses.len();
        }
    }

    /// How many addresses of a name are used in turn.
    #[cfg(test)]
    pub(super) fn well(&self, name: &str) -> Option<usize> {
        self.names.get(name).map(|record| record.well)
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
        // The same ones keep their turn, and those that were put back stay so.
        if before == now {
            return Learned::Nothing;
        }
        (record.addresses, record.well) = (addresses.to_vec(), addresses.len());
        if before.is_empty() { Learned::New } else { Learned::Other { before, now } }
    }

    /// A name is not kept any more.
    pub(super) fn forget(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// The names whose addresses are older than `ttl`, those first that were looked up longest ago:
    /// there may be more than can be looked up at once. Those that no connection has used are
    /// forgotten.
    pub(super) fn due(&mut self, ttl: Duration, now: Duration) -> Vec<String> {
        self.names.retain(|_, record| now.saturating_sub(record.used) < UNUSED);
        let is_due = |record: &Record| {
            record.has_failed || !record.addresses.is_empty() && now.saturating_sub(record.learned) >= ttl
        };
        let mut due: Vec<_> = self.names.iter().filter(|(_, record)| is_due(record)).collect();
        due.sort_unstable_by_key(|(_, record)| record.asked);
        due.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// No server of this name can be reached. Whether the name may be looked up because of that.
    pub(super) fn doubt(&self, name: &str, now: Duration) -> bool {
        self.names.get(name).is_some_and(|record| now.saturating_sub(record.asked) >= DOUBT_PAUSE)
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
    fn unused_names_are_forgotten() {
        let mut cache = Cache::default();
        cache.learn("a", Some(&[at(1)]), s(0));
        cache.learn("b", Some(&[at(2)]), s(0));
        cache.get("b", s(3_000));
        cache.due(s(60), s(4_000));
        assert_eq!((cache.get("a", s(4_000)), cache.get("b", s(4_000))), (None, Some(vec![at(2)])));
    }

    #[test]
    fn several_addresses_are_used_in_turn() {
        let mut cache = Cache::default();
        cache.learn("db", Some(&[at(1), at(2), at(3)]), s(0));
        for first in [1, 2, 3, 1] {
            let addresses = cache.get("db", s(1)).unwrap();
            assert_eq!((addresses[0], addresses.len()), (at(first), 3));
            // Resolvers answer in any order.
            cache.learn("db", Some(&[at(3), at(2), at(1)]), s(2));
        }
    }

    #[test]
    fn an_address_that_cannot_be_reached_is_the_last_one_for_a_while() {
        let mut cache = Cache::default();
        let first = |cache: &mut Cache, now| cache.get("db", now).unwrap()[0];
        cache.learn("db", Some(&[at(1), at(2), at(3)]), s(0));
        cache.put_back("db", ([10, 0, 0, 1], 3306).into(), s(1));
        cache.learn("db", Some(&[at(1), at(2), at(3)]), s(3));
        for order in [[2, 3, 1], [3, 2, 1], [2, 3, 1]] {
            assert_eq!(cache.get("db", s(60)), Some(order.map(at).to_vec()), "it is still tried");
        }
        let all: std::collections::HashSet<_> = (0..3).map(|_| first(&mut cache, s(61))).collect();
        assert_eq!(all.len(), 3, "its time is over");
        // If all of them are bad, none is worse.
        for last in [1, 2, 3] {
            cache.put_back("db", at(last), s(100));
        }
        let all: std::collections::HashSet<_> = (0..3).map(|_| first(&mut cache, s(101))).collect();
        assert_eq!(all.len(), 3);
        cache.put_back("db", at(9), s(102));
        cache.put_back("nobody", at(1), s(102));
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
