//! The live line.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use testkit::load::{Snapshot, Stats};

use super::{say, table::millis};

/// The last tick and the end may come at the same moment, and then their order is unknown.
const WORTH_A_LINE: Duration = Duration::from_millis(500);

/// Shows how the load goes: in place on a terminal, line by line elsewhere.
#[derive(Debug)]
pub(super) struct Display {
    in_place: bool,
    started: Instant,
    last: Instant,
    before: Stats,
}

impl Display {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let in_place = std::io::stdout().is_terminal();
        Self { in_place, started: now, last: now, before: Stats::default() }
    }

    /// Shows what has happened since the last time.
    pub(super) fn show(&mut self, snapshot: &Snapshot) {
        let now = Instant::now();
        let total = snapshot.total();
        self.put(&self.line(&total, snapshot.connections, now));
        (self.last, self.before) = (now, total);
    }

    /// Shows this in place of the last line.
    pub(super) fn put(&self, line: &str) {
        if self.in_place {
            let mut out = std::io::stdout().lock();
            let _ = write!(out, "\r{line}\x1b[K").and_then(|()| out.flush());
        } else {
            say!("{line}");
        }
    }

    /// Shows what is left of the last second.
    pub(super) fn show_rest(&mut self, snapshot: &Snapshot) {
        if self.last.elapsed() >= WORTH_A_LINE {
            self.show(snapshot);
        }
    }

    /// Leaves the live line as it is.
    pub(super) fn end(&self) {
        if self.in_place {
            say!();
        }
    }

    fn line(&self, total: &Stats, connections: usize, now: Instant) -> String {
        let latencies = total.latencies.since(&self.before.latencies);
        let seconds = (now - self.last).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let rate = (total.queries - self.before.queries) as f64 / seconds;
        let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|percent| millis(latencies.percentile(percent)));
        format!(
            "{:>5} s  {rate:>7.0} q/s   p50 {p50:>5} ms   p95 {p95:>5} ms   p99 {p99:>5} ms   \
             {connections} connections   {} errors",
            (now - self.started).as_secs_f64().round(),
            total.errors
        )
    }
}
