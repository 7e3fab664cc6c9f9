//! What follows from a finding for the server itself: whether it is there, takes writes, and keeps
//! up.

use std::hash::Hash;
use std::time::Duration;

use super::{Monitor, SEARCH_TIME};
use crate::watch::{Lagging, Watch};
use crate::{Check, Finding, Lag, Row, Told};

impl<E: Clone + Eq + Hash + Ord> Monitor<E> {
    /// Takes note of a finding. Says in words what it was.
    pub(super) fn learn(
        &mut self,
        server: &E,
        check: Check,
        finding: Finding,
        why: &str,
        now: Duration,
    ) -> String {
        let is_of_pair = self.wants(server, Check::ReadOnly);
        let settings = &self.plan.settings;
        let Some(watch) = self.watches.get_mut(server) else { return String::new() };
        let (was_returning, did_write) = (watch.returning, watch.writes());
        let ping_failures = settings.ping_failures.max(1);
        let read_only_timeouts = settings.read_only_timeouts.max(1);
        let cause = match check {
            Check::Ping if finding.is_miss() => watch.miss_ping(ping_failures, why),
            Check::ReadOnly => watch.learn_read_only(finding, read_only_timeouts),
            _ => None,
        };
        let cause = cause.unwrap_or_else(|| words_for(finding, why));
        // Whether it writes is known of a server that comes back before a session gets it. One that
        // refuses a login never says it; one that refuses a statement lacks a privilege for that.
        let refuses_login = finding == Finding::Refused && matches!(check, Check::Ping | Check::Connect);
        let says_its_role = check == Check::ReadOnly || refuses_login || !is_of_pair;
        if finding.is_sign_of_life() {
            watch.missed = 0;
            watch.returning = watch.down && !says_its_role;
            watch.down = watch.returning;
        }
        let (returning, missed) = (watch.returning, watch.missed);
        let writes = watch.writes();
        if let Finding::Well(Told::Lag(lag)) = finding {
            self.learn_lag(server, lag);
        }
        if did_write && !writes {
            self.look_for_writer(server, now);
        } else if writes && !self.searched.is_empty() && self.read_only(server) == Some(false) {
            for writer in self.writers_of(server) {
                self.searched.remove(&writer);
            }
        }
        // Once: if it does not say it then, it is asked again as usual.
        if returning && !was_returning {
            self.schedule.hurry(server, Check::ReadOnly, now);
        } else if check != Check::Ping && finding.is_miss() && missed == 0 {
            self.schedule.hurry(server, Check::Ping, now);
        }
        cause
    }

    /// A server takes no writes any more. If its pair is without a writer now, another server may
    /// have been promoted: they are all asked.
    fn look_for_writer(&mut self, server: &E, now: Duration) {
        let writers = self.writers_of(server);
        let is_beside = |row: &&Row<E>| {
            row.in_use && self.pairs.get(&row.hostgroup).is_some_and(|pair| writers.contains(&pair.writer))
        };
        let beside = || self.plan.rows.iter().filter(is_beside).map(|row| &row.server);
        // One that is held back says that it takes writes, and gets none.
        let gets_writes = |other: &E| {
            self.watches.get(other).is_some_and(Watch::writes) && self.read_only(other) == Some(false)
        };
        if beside().any(gets_writes) {
            return;
        }
        let others: Vec<E> = beside().filter(|other| *other != server).cloned().collect();
        let until = now.saturating_add(SEARCH_TIME);
        self.searched.extend(writers.iter().map(|writer| (*writer, until)));
        for other in &others {
            self.hurry(other, Check::ReadOnly, now);
        }
    }

    /// The writer hostgroups of the pairs of a server.
    fn writers_of(&self, server: &E) -> Vec<u32> {
        self.rows_of(server).filter_map(|row| Some(self.pairs.get(&row.hostgroup)?.writer)).collect()
    }

    fn learn_lag(&mut self, server: &E, lag: Lag) {
        let enough = self.plan.settings.lag_checks.max(1);
        let limits: Vec<(u32, Duration, Duration)> =
            self.limited(server).map(|(row, max)| (row.hostgroup, max, row.lag_when_unknown)).collect();
        let Some(watch) = self.watches.get_mut(server) else { return };
        for (hostgroup, max, when_unknown) in limits {
            let lagging: &mut Lagging = watch.lags.entry(hostgroup).or_default();
            lagging.see(lag, max, when_unknown, enough);
        }
    }
}

impl Watch {
    /// A ping was missed. What follows in words, if it was the last of so many.
    fn miss_ping(&mut self, enough: u32, why: &str) -> Option<String> {
        self.missed = self.missed.saturating_add(1);
        self.returning = false;
        if self.missed < enough {
            return None;
        }
        self.down = true;
        Some(format!("{} pings in a row missed: {why}", self.missed))
    }

    /// Takes note of whether the server is read-only. What follows in words, if so many checks in a
    /// row have timed out.
    fn learn_read_only(&mut self, finding: Finding, enough: u32) -> Option<String> {
        match finding {
            Finding::Well(Told::ReadOnly(read_only)) => {
                (self.read_only, self.is_assumed) = (Some(read_only), false);
                self.read_only_timeouts = 0;
            }
            Finding::TimedOut => {
                self.read_only_timeouts = self.read_only_timeouts.saturating_add(1);
                let times = self.read_only_timeouts;
                if times >= enough {
                    (self.read_only, self.is_assumed) = (Some(true), true);
                    // Nothing more is waited for: it answers, if not to this.
                    if self.returning {
                        (self.down, self.returning) = (false, false);
                    }
                    return Some(format!(
                        "{times} read_only checks in a row timed out: it counts as read-only"
                    ));
                }
            }
            Finding::Void => {}
            _ => self.read_only_timeouts = 0,
        }
        None
    }
}

/// What was found, in words.
fn words_for(finding: Finding, why: &str) -> String {
    match finding {
        Finding::Well(Told::ReadOnly(read_only)) => format!("read_only={}", u8::from(read_only)),
        Finding::Well(Told::Lag(Lag::Behind(lag))) => format!("a lag of {} s", lag.as_secs()),
        Finding::Well(Told::Lag(Lag::Unknown)) => "a lag that the replica does not know".to_owned(),
        Finding::Well(Told::Lag(Lag::NoReplica)) => "it is no replica".to_owned(),
        Finding::Well(Told::Alive) => "it answers".to_owned(),
        Finding::Refused => format!("it answers: {why}"),
        Finding::TimedOut | Finding::Unreachable | Finding::Void => why.to_owned(),
    }
}
