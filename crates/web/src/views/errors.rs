//! Errors by their maker and code, and how many of them are recent.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use observe::rows::{ErrorStats, NO_HOSTGROUP};
use serde_json::{Value, json};

use crate::limits::{ROWS_MAX, SLOW_INTERVAL};
use crate::reading::{Reading, ServerKey, address};

/// What counts as recent.
const RECENT: Duration = Duration::from_mins(1);

/// Names of users that a row shows.
const USERS_SHOWN: usize = 3;

/// A server, without a host for the proxy itself, and the number of an error.
type Key = (ServerKey, u16);

/// The counts of the last minute, to compare with.
#[derive(Debug, Default)]
pub(crate) struct Errors(VecDeque<Then>);

/// The counts at one moment.
#[derive(Debug)]
struct Then {
    at: Instant,
    counts: HashMap<Key, u64>,
}

/// Errors of one server, or of the proxy in one hostgroup, with one number.
#[derive(Debug, Default)]
struct Sum<'a> {
    users: BTreeSet<&'a str>,
    count: u64,
    first_seen: u64,
    last_seen: u64,
    message: String,
}

impl Errors {
    /// Takes note of a reading, every few seconds.
    pub(crate) fn note(&mut self, reading: &Reading) {
        let age = |then: &Then| reading.at.saturating_duration_since(then.at);
        if self.0.back().is_some_and(|last| age(last) < SLOW_INTERVAL) {
            return;
        }
        // The oldest one stays as long as the next one is younger than a minute.
        while self.0.get(1).is_some_and(|next| age(next) >= RECENT) {
            self.0.pop_front();
        }
        let counts = sums(&reading.errors).into_iter().map(|(key, sum)| (key, sum.count)).collect();
        self.0.push_back(Then { at: reading.at, counts });
    }

    /// The rows of the view, those with the most recent errors first. Messages of servers may have
    /// literals of statements: only an admin sees them.
    pub(crate) fn rows(&self, reading: &Reading, is_admin: bool) -> Vec<Value> {
        let then = self.0.front();
        let recent = |key: &Key, count: u64| {
            count.saturating_sub(then.map_or(count, |then| then.counts.get(key).copied().unwrap_or(0)))
        };
        let mut rows: Vec<(u64, u64, Value)> = sums(&reading.errors)
            .into_iter()
            .map(|(key, sum)| {
                let recent = recent(&key, sum.count);
                let ((hostgroup, host, port), code) = key;
                let is_own = host.is_empty();
                let value = json!({
                    "hostgroup": (hostgroup != NO_HOSTGROUP).then_some(hostgroup),
                    "server": (!is_own).then(|| address(&host, port)),
                    "users": users(&sum.users),
                    "code": code,
                    "count": sum.count,
                    "recent": recent,
                    "first_ms": sum.first_seen.saturating_mul(1000),
                    "last_ms": sum.last_seen.saturating_mul(1000),
                    "message": is_admin.then_some(sum.message),
                });
                (recent, sum.last_seen, value)
            })
            .collect();
        rows.sort_by_key(|(recent, last, _)| std::cmp::Reverse((*recent, *last)));
        rows.into_iter().take(ROWS_MAX).map(|(.., value)| value).collect()
    }
}

/// Names of users, as many as fit in a cell.
fn users(names: &BTreeSet<&str>) -> String {
    let shown: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).take(USERS_SHOWN).collect();
    match names.len().saturating_sub(USERS_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn sums(errors: &[ErrorStats]) -> BTreeMap<Key, Sum<'_>> {
    let mut sums: BTreeMap<Key, Sum<'_>> = BTreeMap::new();
    for error in errors {
        let key = ((error.hostgroup, error.host.clone(), error.port), error.code);
        let sum = sums.entry(key).or_default();
        sum.users.insert(&error.user);
        sum.count = sum.count.saturating_add(error.count);
        sum.first_seen =
            if sum.first_seen == 0 { error.first_seen } else { sum.first_seen.min(error.first_seen) };
        if error.last_seen >= sum.last_seen {
            sum.last_seen = error.last_seen;
            sum.message.clone_from(&error.message);
        }
    }
    sums
}
