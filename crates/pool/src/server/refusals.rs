//! Limits that a server has of its own: it has refused a connection because it has too many, of all
//! accounts or of one.
//!
//! The server does not say when it has room again. So the next attempt is made [`PAUSE`] later, or
//! as soon as one of the connections to it has ended, and only one attempt at a time until the
//! server has refused none for [`LASTS`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time from a refusal to the next attempt, unless a connection ends before that.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// A refusal is forgotten after this time.
const LASTS: Duration = Duration::from_secs(10);

/// The refusals of one server.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Whether there is one. Nearly always there is none, and nothing else is looked at.
    any: AtomicBool,
    all: Mutex<Vec<Refusal>>,
}

/// The last time that a connection was refused, to any account or to one of them.
#[derive(Debug)]
struct Refusal {
    /// `None`: the server is full, for every account.
    account: Option<usize>,
    last: Duration,
    /// When the next attempt may be made.
    next: Duration,
}

/// When the server has refused, and when the next attempt may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) last: Duration,
    pub(crate) next: Duration,
}

impl Refusal {
    fn is_of(&self, account: Option<usize>) -> bool {
        self.account.is_none() || self.account == account
    }
}

impl Refusals {
    /// Whether there may be one.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Takes note of a refusal at `now`, of this account or of all. Whether that is news.
    pub(crate) fn note(&self, account: Option<usize>, now: Duration) -> bool {
        self.change(|all| {
            all.retain(|one| now.saturating_sub(one.last) < LASTS);
            let next = now + PAUSE;
            if let Some(known) = all.iter_mut().find(|one| one.account == account) {
                (known.last, known.next) = (known.last.max(now), known.next.max(next));
                return false;
            }
            all.push(Refusal { account, last: now, next });
            true
        })
    }

    /// Why no attempt may be made for this account at `now`, if none may.
    pub(crate) fn refused(&self, account: Option<usize>, now: Duration) -> Option<Refused> {
        if !self.any() {
            return None;
        }
        self.change(|all| {
            all.retain(|one| now.saturating_sub(one.last) < LASTS);
            let of_it = all.iter().filter(|one| one.is_of(account) && now < one.next);
            of_it.map(|one| Refused { last: one.last, next: one.next }).max_by_key(|one| one.next)
        })
    }

    /// Whether a connection of this account that ends makes room for another one.
    pub(crate) fn concern(&self, account: Option<usize>) -> bool {
        self.any() && self.change(|all| all.iter().any(|one| one.is_of(account)))
    }

    /// Whether there is one of this account alone.
    pub(crate) fn is_of(&self, account: usize) -> bool {
        self.any() && self.change(|all| all.iter().any(|one| one.account == Some(account)))
    }

    /// An attempt is made for this account at `now`: others wait for what comes of it.
    pub(crate) fn begin(&self, account: Option<usize>, now: Duration) {
        self.open(account, now + PAUSE);
    }

    /// A connection of this account was made, in an attempt that was begun at `begun`. Whether
    /// another session may make one now.
    pub(crate) fn note_made(&self, account: Option<usize>, begun: Duration, now: Duration) -> bool {
        if !self.any() {
            return false;
        }
        self.change(|all| {
            all.retain(|one| now.saturating_sub(one.last) < LASTS);
            let since = all.iter_mut().filter(|one| one.is_of(account) && one.last <= begun);
            since.map(|one| one.next = Duration::ZERO).count() > 0
        })
    }

    /// A connection of this account has ended.
    pub(crate) fn note_ended(&self, account: Option<usize>) {
        self.open(account, Duration::ZERO);
    }

    /// The server may be another one.
    pub(crate) fn clear(&self) {
        self.change(Vec::clear);
    }

    fn open(&self, account: Option<usize>, next: Duration) {
        if self.any() {
            self.change(|all| {
                all.iter_mut().filter(|one| one.is_of(account)).for_each(|one| one.next = next);
            });
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Refusal>) -> T) -> T {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut all);
        self.any.store(!all.is_empty(), Ordering::Relaxed);
        changed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_next_attempt_is_made_after_a_pause_or_a_connection_has_ended() {
        let refusals = Refusals::default();
        assert!(refusals.note(None, ms(1_000)), "that is news");
        assert!(!refusals.note(None, ms(1_000)));
        let refused = Some(Refused { last: ms(1_000), next: ms(1_100) });
        assert_eq!(
            [1_000, 1_099, 1_100].map(|at| refusals.refused(Some(7), ms(at))),
            [refused, refused, None]
        );
        refusals.note_ended(Some(3));
        assert_eq!(refusals.refused(Some(7), ms(1_010)), None);
        refusals.begin(Some(7), ms(1_010));
        assert!(refusals.refused(Some(3), ms(1_020)).is_some(), "one at a time");
        assert!(refusals.note_made(Some(7), ms(1_010), ms(1_030)));
        assert_eq!(refusals.refused(Some(3), ms(1_030)), None);
    }

    #[test]
    fn what_was_begun_before_says_nothing() {
        let refusals = Refusals::default();
        refusals.note(None, ms(1_000));
        assert!(!refusals.note_made(None, ms(999), ms(1_001)));
        assert!(refusals.refused(None, ms(1_001)).is_some());
    }

    #[test]
    fn the_limit_of_one_account_is_not_that_of_others() {
        let refusals = Refusals::default();
        refusals.note(Some(7), ms(1_000));
        assert!(refusals.refused(Some(7), ms(1_000)).is_some());
        assert!(
            refusals.refused(Some(8), ms(1_000)).is_none() && refusals.refused(None, ms(1_000)).is_none()
        );
        assert!(refusals.concern(Some(7)) && !refusals.concern(Some(8)));
        refusals.note_ended(Some(8));
        assert!(refusals.refused(Some(7), ms(1_000)).is_some());
        refusals.note(None, ms(1_000));
        assert!(refusals.refused(Some(8), ms(1_000)).is_some() && refusals.concern(Some(8)));
        refusals.note_made(Some(8), ms(20_000), ms(20_000));
        assert!(!refusals.any(), "a refusal is forgotten in time");
    }

    proptest! {
        /// Whatever comes, no account has to wait longer than the pause behind the last refusal or
        /// attempt.
        #[test]
        fn it_is_never_for_good(steps in proptest::collection::vec((0..5u8, 0..3usize, 0..200u64), 0..100)) {
            let (refusals, mut now, mut last) = (Refusals::default(), Duration::ZERO, Duration::ZERO);
            for (what, account, step) in steps {
                now += ms(step);
                let account = (account > 0).then_some(account);
                match what {
                    0 | 1 => { refusals.note(account, now); last = now; }
                    2 => { refusals.begin(account, now); last = now; }
                    3 => { refusals.note_made(account, now, now); }
                    _ => refusals.note_ended(account),
                }
                for account in [None, Some(1), Some(2)] {
                    let refused = refusals.refused(account, now);
                    prop_assert!(refused.is_none_or(|refused| refused.next <= last + PAUSE && refused.last <= now));
                    prop_assert!(refusals.refused(account, last + PAUSE).is_none());
                }
            }
        }
    }
}
