//! What the monitor has found, for the admin port: as much of it as there is room for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use config::Endpoint;
use monitor::Check;
use net::clock::unix_us;
use net::lock;
use observe::counts::report::address;
use observe::rows::{CheckStats, Detail, ServerEvent};

use crate::aurora_records::AuroraRecords;
use crate::cluster::details;
use crate::complaints::{Complaints, Remark};
use crate::limits::{CHECKS_KEPT_MAX, SERVER_EVENTS_MAX};
use crate::probe::Outcome;

/// What was found.
#[derive(Debug, Default)]
pub struct Records {
    checks: [Checked; Check::ALL.len()],
    events: Mutex<Events>,
    /// What is kept of Aurora clusters.
    pub aurora: Mutex<AuroraRecords>,
    pub(crate) complaints: Mutex<Complaints>,
}

/// Changes of servers: the newest ones, and how many of each kind there were.
#[derive(Debug, Default)]
struct Events {
    kept: VecDeque<ServerEvent>,
    counts: BTreeMap<&'static str, u64>,
}

/// What came of the checks of one kind.
#[derive(Debug, Default)]
struct Checked {
    entries: Mutex<VecDeque<Entry>>,
    well: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    server: Endpoint,
    start_us: u64,
    took_us: u64,
    value: Option<i64>,
    details: Box<[Detail]>,
    error: Option<Box<str>>,
}

impl Records {
    fn of(&self, check: Check) -> &Checked {
        let [first, ..] = &self.checks;
        let mut all = Check::ALL.iter().zip(&self.checks);
        all.find(|(other, _)| **other == check).map_or(first, |(_, checked)| checked)
    }

    /// Keeps the result of a check for `history`.
    pub(crate) fn note(&self, check: Check, server: &Endpoint, outcome: &Outcome, history: Duration) {
        let checked = self.of(check);
        let well = outcome.error.is_none();
        let count = if well { &checked.well } else { &checked.failed };
        count.fetch_add(1, Ordering::Relaxed);
        self.complain(check, server, outcome);
        if check.is_of_family() {
            // No table shows them.
            return;
        }
        let took_us = u64::try_from(outcome.took.as_micros()).unwrap_or(u64::MAX);
        let mut entries = lock(&checked.entries);
        let oldest = outcome.start_us.saturating_sub(u64::try_from(history.as_micros()).unwrap_or(u64::MAX));
        let mut rows = outcome.word.as_ref().map(details).unwrap_or_default();
        if rows.is_empty() {
            rows.push(Vec::new());
        }
        for details in rows {
            while entries.front().is_some_and(|entry| entry.start_us < oldest)
                || entries.len() >= CHECKS_KEPT_MAX
            {
                entries.pop_front();
            }
            entries.push_back(Entry {
                server: server.clone(),
                start_us: outcome.start_us,
                took_us: if well { took_us } else { 0 },
                value: outcome.value(),
                details: details.into(),
                error: outcome.error.as_deref().map(Box::from),
            });
        }
    }

    /// Logs what a server has against a check, if it is new, and that this is over.
    fn complain(&self, check: Check, server: &Endpoint, outcome: &Outcome) {
        let error = outcome.error.as_deref();
        match lock(&self.complaints).note(server, check, outcome.finding, error) {
            Some(Remark::New) => {
                let error = error.unwrap_or_default();
                tracing::warn!(%server, %error, "the monitor cannot check a server (mysql-monitor_username)");
            }
            Some(Remark::Over) => tracing::info!(%server, "the monitor can check a server again"),
            None => {}
        }
    }

    /// Logs that a server cannot be reached that others name: an operator who waits for it to be
    /// found has to know.
    pub(crate) fn complain_of_candidate(&self, check: Check, server: &Endpoint, outcome: &Outcome) {
        let Some(error) = outcome.error.as_deref().filter(|_| outcome.finding.is_miss()) else { return };
        let remark = lock(&self.complaints).note_out_of_reach(server, check);
        if remark == Some(Remark::New) {
            match check {
                Check::Rds => {
                    tracing::warn!(%server, %error, "a cluster names a server that cannot be reached");
                }
                _ => {
                    tracing::warn!(%server, %error, "a primary names a replica that may be here, and it cannot be reached");
                }
            }
        }
    }

    /// Keeps an event.
    pub(crate) fn note_event(&self, hostgroup: u32, server: &Endpoint, event: &'static str, cause: String) {
        let (host, port) = address(server);
        let mut events = lock(&self.events);
        *events.counts.entry(event).or_default() += 1;
        if events.kept.len() >= SERVER_EVENTS_MAX {
            events.kept.pop_front();
        }
        events.kept.push_back(ServerEvent { time_us: unix_us(), hostgroup, host, port, event, cause });
    }

    /// Results of checks of this kind, the oldest first.
    pub fn checks(&self, check: Check) -> Vec<CheckStats> {
        let row = |entry: &Entry| {
            let (host, port) = address(&entry.server);
            let Entry { start_us, took_us, value, .. } = *entry;
            CheckStats {
                host,
                port,
                start_us,
                took_us,
                value,
                details: entry.details.to_vec(),
                error: entry.error.as_deref().map(str::to_owned),
            }
        };
        lock(&self.of(check).entries).iter().map(row).collect()
    }

    /// Events, the oldest first.
    pub fn events(&self) -> Vec<ServerEvent> {
        lock(&self.events).kept.iter().cloned().collect()
    }

    /// How many events of each kind there were.
    pub fn event_counts(&self) -> Vec<(&'static str, u64)> {
        lock(&self.events).counts.iter().map(|(event, count)| (*event, *count)).collect()
    }

    /// Checks that went well, and those that did not, by kind.
    pub fn counts(&self) -> [[u64; 2]; Check::ALL.len()] {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        self.checks.each_ref().map(|checked| [count(&checked.well), count(&checked.failed)])
    }
}
