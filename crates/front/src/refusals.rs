//! The log of refused logins, at a bounded rate: a client that guesses passwords must not be able
//! to fill a disk.

use std::fmt;
use std::sync::Mutex;

use net::lock;
use tokio::time::Instant;

use crate::limits::{REFUSALS_INTERVAL, REFUSALS_LOGGED_MAX};
use wire::Peer;

/// Why a login was refused, for the log only: clients are not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    UnknownUser,
    WrongPassword,
    /// The client has sent the password where others can read it.
    Unprotected,
    /// The user must use TLS, and does not.
    NoTls,
    /// The user's clients must show a certificate with a certain URI, and this one did not.
    OtherCertificate,
    /// The user has all the connections that it may have.
    TooManyConnections,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownUser => "no such user, or not for clients",
            Self::WrongPassword => "wrong password",
            Self::Unprotected => "the client sent its password unencrypted",
            Self::NoTls => "the user has use_ssl = 1, and there is no TLS",
            Self::OtherCertificate => "the client has shown no certificate with the user's spiffe_id",
            Self::TooManyConnections => "the user has all the connections that it may have",
        })
    }
}

/// The refusals of one process.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Throttle>);

impl Refusals {
    /// Logs a refused login, if there have not been too many lately.
    pub(crate) fn note(&self, now: Instant, peer: &Peer, user: &[u8], reason: Reason) {
        let log = {
            let mut throttle = lock(&self.0);
            report(throttle.sum_up(now));
            throttle.admit(now)
        };
        if log {
            let user = user.escape_ascii();
            tracing::warn!(%peer, %user, %reason, "a login was refused");
        }
    }

    /// Says how many were left out, once the interval is over. Called now and then.
    pub fn sum_up(&self, now: Instant) {
        report(lock(&self.0).sum_up(now));
    }
}

fn report(left_out: u64) {
    if left_out > 0 {
        let seconds = REFUSALS_INTERVAL.as_secs();
        tracing::warn!("{left_out} more logins were refused within {seconds} s");
    }
}

/// Lets the first few of each interval pass.
#[derive(Debug, Default)]
struct Throttle {
    since: Option<Instant>,
    logged: u32,
    left_out: u64,
}

impl Throttle {
    /// Whether this one is logged.
    fn admit(&mut self, now: Instant) -> bool {
        self.since.get_or_insert(now);
        if self.logged == REFUSALS_LOGGED_MAX {
            self.left_out += 1;
            return false;
        }
        self.logged += 1;
        true
    }

    /// Ends the interval if it is over; returns how many it has left out.
    fn sum_up(&mut self, now: Instant) -> u64 {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) < REFUSALS_INTERVAL) {
            return 0;
        }
        std::mem::take(self).left_out
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_of_each_interval_pass_and_the_others_are_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let passed = (0..1000).filter(|_| throttle.admit(start)).count();
        assert_eq!(passed, REFUSALS_LOGGED_MAX as usize);
        let before = start + REFUSALS_INTERVAL - Duration::from_millis(1);
        assert_eq!((throttle.sum_up(before), throttle.admit(before)), (0, false));
        let left_out = 1001 - u64::from(REFUSALS_LOGGED_MAX);
        assert_eq!(throttle.sum_up(start + REFUSALS_INTERVAL), left_out);
        assert_eq!(throttle.sum_up(start + REFUSALS_INTERVAL * 2), 0, "said once");
        assert!(throttle.admit(start + REFUSALS_INTERVAL * 2));
    }
}
