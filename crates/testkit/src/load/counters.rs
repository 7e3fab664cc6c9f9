//! What the load has done so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Histogram, Operation};

/// Different errors that are told apart.
const ERRORS_MAX: usize = 32;

/// Queries of one kind of operation.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Queries that succeeded.
    pub queries: u64,
    /// Queries that failed.
    pub errors: u64,
    /// Times of the queries that succeeded.
    pub latencies: Histogram,
}

impl Stats {
    fn merge(&mut self, other: &Self) {
        self.queries += other.queries;
        self.errors += other.errors;
        self.latencies.merge(&other.latencies);
    }
}

/// A copy of the counters.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    operations: [Stats; Operation::ALL.len()],
    /// Connections that are open.
    pub connections: usize,
    /// Connections that could not be opened, or broke between operations.
    pub connection_errors: u64,
    /// The text of the first error of any kind.
    pub first_error: Option<String>,
    /// How often there was which error, for a limited number of texts.
    pub errors: BTreeMap<String, u64>,
    /// When something was written last.
    pub last_write: Option<Instant>,
    /// The longest time from one write to the next.
    pub longest_write_pause: Duration,
}

impl Snapshot {
    /// The queries of one kind of operation.
    pub const fn operation(&self, operation: Operation) -> &Stats {
        &self.operations[operation as usize]
    }

    fn note_error(&mut self, text: String) {
        if self.errors.len() < ERRORS_MAX || self.errors.contains_key(&text) {
            *self.errors.entry(text.clone()).or_default() += 1;
        }
        self.first_error.get_or_insert(text);
    }

    /// All queries together. Its errors include connections that could not be opened.
    pub fn total(&self) -> Stats {
        let mut total = Stats { errors: self.connection_errors, ..Stats::default() };
        for stats in &self.operations {
            total.merge(stats);
        }
        total
    }
}

/// The counters that all connections and the observer share. The lock is held for a few additions,
/// by one thread at a time but for the rare observer.
#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<Snapshot>);

impl Counters {
    pub(super) fn snapshot(&self) -> Snapshot {
        self.lock().clone()
    }

    pub(super) fn succeeded(&self, operation: Operation, time: Duration) {
        let mut counters = self.lock();
        let stats = &mut counters.operations[operation as usize];
        stats.queries += 1;
        stats.latencies.record(time);
        if matches!(operation, Operation::Update | Operation::Insert) {
            let now = Instant::now();
            let pause = counters.last_write.map_or(Duration::ZERO, |last| now - last);
            counters.longest_write_pause = counters.longest_write_pause.max(pause);
            counters.last_write = Some(now);
        }
    }

    pub(super) fn failed(&self, operation: Operation, error: &dyn std::fmt::Display) {
        let mut counters = self.lock();
        counters.operations[operation as usize].errors += 1;
        counters.note_error(format!("{}: {error}", operation.name()));
    }

    pub(super) fn connection_failed(&self, error: &dyn std::fmt::Display) {
        let mut counters = self.lock();
        counters.connection_errors += 1;
        counters.note_error(format!("connect: {error}"));
    }

    pub(super) fn connected(&self) {
        self.lock().connections += 1;
    }

    pub(super) fn disconnected(&self) {
        self.lock().connections -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        // Additions leave nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
