//! Equal queries that run once.
//!
//! The first session that misses a key leads: its query runs. Others that miss the key meanwhile
//! wait for the answer, as long as their deadline allows. A leader whose answer cannot be stored
//! (an error, warnings, too large) leaves a mark: for [`MARK_MS`] no session waits for that key,
//! since waiting would not help. If the leader ends without an answer, the sessions that wait look
//! again, and one of them leads.
//!
//! If no server has answered a leader, and it was given a stale answer, the others get that as well
//! without waiting: at most one session at a time waits for a server that is down.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::key::Key;

/// So long no session waits for an answer that could not be stored.
const MARK_MS: u64 = 1000;
/// So long it is remembered behind the mark that no server has answered.
const UNANSWERED_MS: u64 = 10_000;
/// Keys with such a mark at most; those beyond have none.
const MARKS_MAX: usize = 16_384;

/// How a leader's query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is in the store, as far as it is there still.
    Stored,
    /// The answer cannot be stored: those who wait run their queries themselves.
    NotStored,
    /// No server has answered: those who wait get a stale answer, as the leader did.
    Unanswered,
    /// There is no answer: one of those who wait is to run the query.
    Gone,
}

/// What a session does that has missed a key.
#[derive(Debug)]
pub enum Joined {
    /// It runs the query, and says how that ended.
    Leader(Leader),
    /// It waits.
    Waiter(Waiter),
    /// It runs the query for itself.
    Alone,
    /// No server has answered lately: it is given a stale answer if there is one.
    Unanswered,
}

#[derive(Debug)]
enum Flight {
    Running {
        landing: Arc<Landing>,
        /// The query before has not been answered.
        was_unanswered: bool,
    },
    /// The answer could not be stored; no session waits before this time.
    Marked { until_ms: u64 },
    /// No server has answered; no session asks a server before this time.
    Unanswered { until_ms: u64 },
}

/// Where those meet who wait for one query.
#[derive(Debug, Default)]
struct Landing(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    outcome: Option<Outcome>,
    next: u64,
    wakers: Vec<(u64, Waker)>,
}

impl Landing {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, outcome: Outcome) {
        let wakers = {
            let mut waiting = self.lock();
            waiting.outcome = Some(outcome);
            std::mem::take(&mut waiting.wakers)
        };
        for (_, waker) in wakers {
            waker.wake();
        }
    }
}

/// Queries that run, by the keys of their answers. Shared by all workers.
#[derive(Debug, Default)]
pub struct Flights(Mutex<HashMap<Key, Flight>>);

impl Flights {
    /// A session has missed `key` at the time `now_ms`.
    #[must_use]
    pub fn join(self: &Arc<Self>, key: Key, now_ms: u64) -> Joined {
        let mut flights = self.lock();
        match flights.entry(key) {
            Entry::Occupied(entry) => match entry.get() {
                Flight::Running { was_unanswered: true, .. } => return Joined::Unanswered,
                Flight::Running { landing, .. } => return Joined::Waiter(Waiter::new(landing)),
                Flight::Marked { until_ms } if now_ms < *until_ms => return Joined::Alone,
                Flight::Unanswered { until_ms } if now_ms < *until_ms => return Joined::Unanswered,
                Flight::Marked { .. } | Flight::Unanswered { .. } => {}
            },
            Entry::Vacant(_) => {}
        }
        let was_unanswered = matches!(flights.get(&key), Some(Flight::Unanswered { .. }));
        let landing = Arc::new(Landing::default());
        flights.insert(key, Flight::Running { landing: Arc::clone(&landing), was_unanswered });
        Joined::Leader(Leader { flights: Arc::clone(self), key, landing: Some(landing) })
    }

    /// Forgets marks that are over. To be called regularly.
    pub fn sweep(&self, now_ms: u64) {
        self.lock().retain(|_, flight| match flight {
            Flight::Running { .. } => true,
            Flight::Marked { until_ms } => now_ms < *until_ms,
            Flight::Unanswered { until_ms } => now_ms < *until_ms + UNANSWERED_MS,
        });
    }

    /// Queries that run, and keys that are marked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none of them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Flight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session whose query runs for all who want its answer. Dropped without an end, it has none.
#[derive(Debug)]
pub struct Leader {
    flights: Arc<Flights>,
    key: Key,
    landing: Option<Arc<Landing>>,
}

impl Leader {
    /// The query has ended, at the time `now_ms`.
    pub fn end(mut self, outcome: Outcome, now_ms: u64) {
        self.finish(outcome, now_ms);
    }

    fn finish(&mut self, outcome: Outcome, now_ms: u64) {
        let Some(landing) = self.landing.take() else { return };
        let mut flights = self.flights.lock();
        let until_ms = now_ms + MARK_MS;
        let mark = match outcome {
            Outcome::NotStored => Some(Flight::Marked { until_ms }),
            Outcome::Unanswered => Some(Flight::Unanswered { until_ms }),
            Outcome::Stored | Outcome::Gone => None,
        };
        match mark.filter(|_| flights.len() < MARKS_MAX) {
            Some(mark) => flights.insert(self.key, mark),
            None => flights.remove(&self.key),
        };
        drop(flights);
        landing.end(outcome);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.finish(Outcome::Gone, 0);
    }
}

/// A session that waits for the answer of another one's query. Dropped, it waits no more.
#[derive(Debug)]
pub struct Waiter {
    landing: Arc<Landing>,
    number: u64,
}

impl Waiter {
    fn new(landing: &Arc<Landing>) -> Self {
        let mut waiting = landing.lock();
        waiting.next += 1;
        Self { landing: Arc::clone(landing), number: waiting.next }
    }

    /// How the query has ended, as soon as it has.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<Outcome> {
        let mut waiting = self.landing.lock();
        if let Some(outcome) = waiting.outcome {
            return Poll::Ready(outcome);
        }
        match waiting.wakers.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => waiting.wakers.push((self.number, cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.landing.lock().wakers.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::key::Keys;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn key(text: &str) -> Key {
        Keys::new([1, 2]).builder().part(text.as_bytes()).finish()
    }

    fn leader(joined: Joined) -> Leader {
        let Joined::Leader(leader) = joined else { panic!("{joined:?} in place of a leader") };
        leader
    }

    fn waiter(joined: Joined) -> Waiter {
        let Joined::Waiter(waiter) = joined else { panic!("{joined:?} in place of a waiter") };
        waiter
    }

    #[test]
    fn all_who_wait_hear_of_the_end() {
        let flights = Arc::new(Flights::default());
        let first = leader(flights.join(key("a"), 0));
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let cx = Context::from_waker(&waker);
        let waiters: Vec<_> = (0..1000).map(|_| waiter(flights.join(key("a"), 0))).collect();
        assert!(waiters.iter().all(|waiter| waiter.poll(&cx).is_pending()));
        assert!(matches!(flights.join(key("b"), 0), Joined::Leader(_)), "another key");
        first.end(Outcome::Stored, 5);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1000);
        assert!(waiters.iter().all(|waiter| waiter.poll(&cx) == Poll::Ready(Outcome::Stored)));
        assert!(flights.is_empty());
    }

    #[test]
    fn a_leader_that_is_gone_has_a_successor() {
        let flights = Arc::new(Flights::default());
        let first = leader(flights.join(key("a"), 0));
        let second = waiter(flights.join(key("a"), 0));
        drop(first);
        let waker = Waker::noop();
        assert_eq!(second.poll(&Context::from_waker(waker)), Poll::Ready(Outcome::Gone));
        let _ = leader(flights.join(key("a"), 0));
    }

    #[test]
    fn no_session_waits_for_what_could_not_be_stored() {
        let flights = Arc::new(Flights::default());
        leader(flights.join(key("a"), 0)).end(Outcome::NotStored, 10);
        assert!(matches!(flights.join(key("a"), 10), Joined::Alone));
        flights.sweep(10);
        assert_eq!(flights.len(), 1);
        assert!(matches!(flights.join(key("a"), 10 + MARK_MS), Joined::Leader(_)));
        flights.sweep(10 + MARK_MS);
        assert!(flights.is_empty());
    }

    #[test]
    fn one_session_at_a_time_waits_for_a_server_that_does_not_answer() {
        let flights = Arc::new(Flights::default());
        leader(flights.join(key("a"), 0)).end(Outcome::Unanswered, 0);
        assert!(matches!(flights.join(key("a"), MARK_MS - 1), Joined::Unanswered), "no server is asked");
        flights.sweep(MARK_MS);
        let second = leader(flights.join(key("a"), MARK_MS));
        assert!(matches!(flights.join(key("a"), MARK_MS), Joined::Unanswered), "the others do not wait");
        second.end(Outcome::Stored, MARK_MS);
        assert!(flights.is_empty(), "the server has answered");
        leader(flights.join(key("a"), 0)).end(Outcome::Unanswered, 0);
        flights.sweep(MARK_MS + UNANSWERED_MS);
        assert!(flights.is_empty(), "it was not asked for again");
    }

    #[test]
    fn a_waiter_that_has_left_is_not_woken() {
        let flights = Arc::new(Flights::default());
        let first = leader(flights.join(key("a"), 0));
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let second = waiter(flights.join(key("a"), 0));
        assert!(second.poll(&Context::from_waker(&waker)).is_pending());
        drop(second);
        first.end(Outcome::Stored, 0);
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    }
}
