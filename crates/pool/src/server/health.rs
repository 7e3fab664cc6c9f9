//! What is observed of a server, unlike what is configured: errors, lag, latency.
//!
//! Times are counted from any moment that the caller chooses and keeps. What is read when a server
//! is chosen is atomic; only errors take a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a latency counts. One that is above the limit keeps sessions away from its server, and
/// with them new measurements: without an end it would hold for good.
pub(crate) const LATENCY_LASTS: Duration = Duration::from_secs(10);

/// What is observed of one server.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// 0 unless it is shunned; otherwise the microsecond of its last error, plus 1.
    shunned: AtomicU64,
    /// The microsecond of the last error in which it has not said a word, plus 1; 0 if there was
    /// none.
    silent: AtomicU64,
    /// Whether it does not answer who watches it.
    down: AtomicBool,
    /// Whether it has left the hostgroup, and connections are to leave it.
    left: AtomicBool,
    /// 0 unless it lags too much; otherwise the lag in seconds, plus 1.
    lag: AtomicU64,
    /// 0 unless it has too many transactions to apply; otherwise their number, plus 1.
    behind: AtomicU64,
    latency_us: AtomicU64,
    /// The microsecond in which that was measured.
    measured: AtomicU64,
    failing: Mutex<Failing>,
}

/// The second of the last error, and the errors in it.
#[derive(Debug, Default)]
struct Failing {
    second: u64,
    errors: u32,
}

/// Microseconds; those of more than half a million years are all alike.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Health {
    /// Takes note of an error. The server is shunned when it is the `enough`th in the same second;
    /// whether that is news.
    pub(crate) fn note_error(&self, now: Duration, enough: u32) -> bool {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if failing.second != now.as_secs() {
            *failing = Failing { second: now.as_secs(), errors: 0 };
        }
        failing.errors = failing.errors.saturating_add(1);
        let shunned = self.shunned_since().is_some();
        let enough = failing.errors >= enough;
        if shunned || enough {
            self.shun(now);
        }
        enough && !shunned
    }

    /// The server has not said a word when it was asked.
    pub(crate) fn note_silent(&self, now: Duration) {
        self.silent.fetch_max(micros(now).saturating_add(1), Ordering::SeqCst);
    }

    /// When it has not said a word for the last time.
    pub(crate) fn silent_since(&self) -> Option<Duration> {
        self.silent.load(Ordering::SeqCst).checked_sub(1).map(Duration::from_micros)
    }

    /// The server is shunned from now on.
    pub(crate) fn shun(&self, now: Duration) {
        self.shunned.store(micros(now).saturating_add(1), Ordering::SeqCst);
    }

    /// It is not shunned any more, and its errors are forgotten.
    pub(crate) fn unshun(&self) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = Failing::default();
        self.shunned.store(0, Ordering::SeqCst);
    }

    /// The last error of a server that is shunned.
    pub(crate) fn shunned_since(&self) -> Option<Duration> {
        self.shunned.load(Ordering::SeqCst).checked_sub(1).map(Duration::from_micros)
    }

    /// The server does not answer, or does again.
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// Whether it does not answer.
    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }

    /// The server has left the hostgroup, or is back.
    pub(crate) fn set_left(&self, left: bool) {
        self.left.store(left, Ordering::SeqCst);
    }

    /// Whether it has left.
    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// The server lags this much, which is too much; `None`: it does not.
    pub(crate) fn set_lag(&self, lag: Option<Duration>) {
        self.lag.store(lag.map_or(0, |lag| lag.as_secs().saturating_add(1)), Ordering::SeqCst);
    }

    /// How much a server lags that lags too much.
    pub(crate) fn lag(&self) -> Option<Duration> {
        self.lag.load(Ordering::SeqCst).checked_sub(1).map(Duration::from_secs)
    }

    /// The server has so many transactions to apply, which are too many; `None`: it has not.
    pub(crate) fn set_behind(&self, behind: Option<u64>) {
        self.behind.store(behind.map_or(0, |behind| behind.saturating_add(1)), Ordering::SeqCst);
    }

    /// How many transactions a server has to apply that has too many.
    pub(crate) fn behind(&self) -> Option<u64> {
        self.behind.load(Ordering::SeqCst).checked_sub(1)
    }

    /// Whether it lags, in time or in transactions, more than it may.
    pub(crate) fn is_late(&self) -> bool {
        self.lag().is_some() || self.behind().is_some()
    }

    pub(crate) fn note_latency(&self, latency: Duration, now: Duration) {
        self.latency_us.store(micros(latency), Ordering::Relaxed);
        self.measured.store(micros(now), Ordering::Relaxed);
    }

    /// The latency that was measured last; zero if none was.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency_us.load(Ordering::Relaxed))
    }

    /// The latency that counts, zero if none does, and until when it does.
    pub(crate) fn current_latency(&self, now: Duration) -> (Duration, Duration) {
        let end = Duration::from_micros(self.measured.load(Ordering::Relaxed)) + LATENCY_LASTS;
        (if now < end { self.latency() } else { Duration::ZERO }, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_within_one_second() {
        let health = Health::default();
        let at = Duration::from_millis;
        assert!(!health.note_error(at(900), 3));
        assert!(!health.note_error(at(950), 3));
        // The next second begins anew.
        assert!(!health.note_error(at(1_000), 3));
        assert!(!health.note_error(at(1_100), 3));
        assert_eq!(health.shunned_since(), None);
        assert!(health.note_error(at(1_999), 3));
        assert_eq!(health.shunned_since(), Some(at(1_999)));
        // Another error of a server that is shunned is no news, and prolongs it.
        assert!(!health.note_error(at(4_000), 3));
        assert_eq!(health.shunned_since(), Some(at(4_000)));
        health.unshun();
        assert!(!health.note_error(at(4_000), 3));
        assert_eq!(health.shunned_since(), None);
    }

    #[test]
    fn a_latency_counts_for_a_while() {
        let health = Health::default();
        assert_eq!(health.current_latency(Duration::ZERO).0, Duration::ZERO);
        let (latency, now) = (Duration::from_millis(7), Duration::from_secs(3));
        health.note_latency(latency, now);
        assert_eq!(health.current_latency(now), (latency, now + LATENCY_LASTS));
        assert_eq!(health.current_latency(now + LATENCY_LASTS).0, Duration::ZERO);
        assert_eq!(health.latency(), latency);
    }
}
