//! How far what a server has committed is known here, as sessions ask for it.
//!
//! The binary log of a server says which tables were changed, also by others. A [`Source`]
//! tells up to which moment all of that is known: the cache is exact as of that moment. An answer
//! in the mode `bounded` is given if that moment is not too long ago; one in the mode `strict` if
//! it is behind the arrival of the query, for which a session may [wait](Source::wait).
//!
//! [`Following`](crate::Following) moves the moment on. Times are whole microseconds, rounded down,
//! of a clock that never goes back. So a moment is behind another one for certain only if its
//! number is larger.

use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::following::Position;

/// For so long after the last query that needs it, the moment is moved on; in microseconds.
pub const DEMAND_US: u64 = 1_000_000;

/// How exactly the last query is known, in microseconds: it is noted this often at most.
const DEMAND_STEP_US: u64 = 50_000;

/// A server whose binary log is followed.
#[derive(Debug)]
pub struct Source {
    /// The server, as `host:port`.
    name: Box<str>,
    /// How often following has begun, gone on or stopped: odd while the log is followed.
    turns: AtomicU64,
    /// The cache is exact as of then; 0: that is not known of any moment.
    proven_us: AtomicU64,
    /// When the last query in the mode `bounded` came, nearly.
    asked_us: AtomicU64,
    /// The shortest bound of such queries since it was forgotten, and before.
    bound_us: AtomicU64,
    bound_before_us: AtomicU64,
    /// What follows the log waits for a query.
    is_idle: AtomicBool,
    wakers: Mutex<Wakers>,
    counters: Mutex<Counters>,
}

/// Those who wait.
#[derive(Debug, Default)]
struct Wakers {
    /// Sessions that wait for the moment to be behind the arrival of their query.
    sessions: Vec<Sleeper>,
    /// The number of the last of them.
    last: u64,
    /// How many waited when the moment moved on last: for that moment, or a later one.
    crowd: usize,
    /// What follows the log.
    follower: Option<Waker>,
}

/// A session that waits.
#[derive(Debug)]
struct Sleeper {
    number: u64,
    since_us: u64,
    waker: Waker,
}

impl Wakers {
    fn demand(&self) -> Demand {
        let since_us = self.sessions.iter().map(|one| one.since_us).min().unwrap_or_default();
        Demand { waiting: self.sessions.len(), crowd: self.crowd, since_us, bound_us: None }
    }
}

/// What is told to operators of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Up to where the log was read.
    pub position: Position,
    /// Transactions that were read.
    pub transactions: u64,
    /// Those of them that are not known to be visible.
    pub unsettled: u64,
    /// Questions that the server was asked about its log's end or about what is visible.
    pub probes: u64,
    /// Events that were not understood; behind each the log is followed anew.
    pub unknown: u64,
    /// How often the log was followed anew, for which answers that depend on writes are flushed.
    pub flushes: u64,
    /// How often the log was read on where it was, behind an interruption.
    pub resumed: u64,
    /// Why the log is not followed, or was not last.
    pub reason: String,
}

/// What queries need of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Sessions that wait for the moment to move on.
    pub waiting: usize,
    /// How many waited when it moved on last. Many of them will soon wait again.
    pub crowd: usize,
    /// When the first of those that wait began to.
    pub since_us: u64,
    /// Queries with this bound have come lately, in microseconds.
    pub bound_us: Option<u64>,
}

impl Demand {
    /// Whether three quarters of those that waited together wait again.
    #[must_use]
    pub const fn is_gathered(&self) -> bool {
        4 * self.waiting >= 3 * self.crowd
    }
}

impl Source {
    /// A server that is not followed yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            turns: AtomicU64::new(0),
            proven_us: AtomicU64::new(0),
            asked_us: AtomicU64::new(0),
            bound_us: AtomicU64::new(u64::MAX),
            bound_before_us: AtomicU64::new(u64::MAX),
            is_idle: AtomicBool::new(false),
            wakers: Mutex::default(),
            counters: Mutex::default(),
        }
    }

    /// The server, as `host:port`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the log is followed.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.stretch().is_some()
    }

    /// Which stretch without an interruption this is; nothing while the log is not followed. What
    /// a server says between two stretches may come from another one behind the same name.
    #[must_use]
    pub fn stretch(&self) -> Option<u64> {
        Some(self.turns.load(Acquire)).filter(|turns| turns % 2 == 1)
    }

    /// As of when the cache is exact; nothing if that is not known, or the log is not followed.
    #[must_use]
    pub fn proven_us(&self) -> Option<u64> {
        Some(self.proven_us.load(Acquire)).filter(|proven| *proven > 0)
    }

    /// How long before `now_us` the cache was exact, in microseconds, if that is less
    /// than `bound_us`. To be asked before the versions of tables are: a change that is learnt in
    /// between makes the answer too old.
    #[must_use]
    pub fn exact_within(&self, now_us: u64, bound_us: u64) -> Option<u64> {
        self.note_asked(now_us, bound_us);
        let before_us = now_us.saturating_sub(self.proven_us()?);
        (before_us < bound_us).then_some(before_us)
    }

    /// Whether the cache is exact as of a moment behind `since_us`.
    #[must_use]
    pub fn is_proven(&self, since_us: u64) -> bool {
        self.proven_us().is_some_and(|proven| proven > since_us)
    }

    /// Waits until the cache is exact as of a moment behind `since_us`. False if the log is not
    /// followed.
    pub const fn wait(&self, since_us: u64) -> Waiting<'_> {
        Waiting { source: self, since_us, number: None }
    }

    /// What queries need now; what follows the log is woken when they need more.
    pub fn poll_demand(&self, now_us: u64, cx: &Context<'_>) -> Demand {
        let mut wakers = self.wakers();
        wakers.follower = Some(cx.waker().clone());
        let demand = wakers.demand();
        // In one order with `note_asked`: it is seen to be idle, or the query is seen here.
        self.is_idle.store(true, SeqCst);
        let is_asked = now_us.saturating_sub(self.asked_us.load(SeqCst)) < DEMAND_US;
        if is_asked {
            self.is_idle.store(false, Release);
        }
        let bound_us = self.bound_us.load(Relaxed).min(self.bound_before_us.load(Relaxed));
        Demand { bound_us: (is_asked && bound_us < u64::MAX).then_some(bound_us), ..demand }
    }

    /// Bounds of queries count until this was called twice.
    pub fn forget_bounds(&self) {
        self.bound_before_us.store(self.bound_us.swap(u64::MAX, Relaxed), Relaxed);
    }

    /// What is told to operators.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.lock_counters().clone()
    }

    /// Counts something.
    pub fn count(&self, count: impl FnOnce(&mut Counters)) {
        count(&mut self.lock_counters());
    }

    /// The cache is exact as of this moment.
    pub(crate) fn prove(&self, at_us: u64) {
        if self.proven_us.fetch_max(at_us.max(1), Release) < at_us {
            self.wake_sessions(at_us);
        }
    }

    /// The log is followed from now on.
    pub(crate) fn follow(&self) {
        self.turn(true);
    }

    /// The log is not followed any more.
    pub(crate) fn lose(&self) {
        self.turn(false);
        self.proven_us.store(0, Release);
        self.wake_sessions(u64::MAX);
    }

    /// Counts a change of whether the log is followed.
    fn turn(&self, follows: bool) {
        self.turns.fetch_add(u64::from(self.is_followed() != follows), Release);
    }

    /// Wakes sessions whose queries have come before `at_us`.
    fn wake_sessions(&self, at_us: u64) {
        let mut wakers = self.wakers();
        wakers.crowd = wakers.sessions.len();
        let ready: Vec<_> = wakers.sessions.extract_if(.., |one| one.since_us < at_us).collect();
        drop(wakers);
        for one in ready {
            one.waker.wake();
        }
    }

    fn note_asked(&self, now_us: u64, bound_us: u64) {
        if bound_us < self.bound_us.load(Relaxed) {
            self.bound_us.fetch_min(bound_us, Relaxed);
        }
        if now_us.saturating_sub(self.asked_us.load(Relaxed)) >= DEMAND_STEP_US {
            self.asked_us.store(now_us, SeqCst);
            if self.is_idle.swap(false, SeqCst)
                && let Some(follower) = self.wakers().follower.take()
            {
                follower.wake();
            }
        }
    }

    fn wakers(&self) -> MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that waits for the moment to be behind the arrival of its query, at `since_us`.
/// Dropped, it waits no more.
#[derive(Debug)]
pub struct Waiting<'a> {
    source: &'a Source,
    since_us: u64,
    /// Its number among those that wait, if it may be one of them.
    number: Option<u64>,
}

impl Waiting<'_> {
    /// Whether the moment is behind the arrival; nothing if that may become so.
    fn end(&self) -> Option<bool> {
        let is_proven = self.source.is_proven(self.since_us);
        (is_proven || !self.source.is_followed()).then_some(is_proven)
    }

    /// What has ended this takes it off the list as well.
    const fn ready(&mut self, end: bool) -> Poll<bool> {
        self.number = None;
        Poll::Ready(end)
    }
}

impl Future for Waiting<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        if let Some(end) = self.end() {
            return self.ready(end);
        }
        let mut wakers = self.source.wakers();
        if let Some(one) = wakers.sessions.iter_mut().find(|one| self.number == Some(one.number)) {
            one.waker.clone_from(cx.waker());
        } else {
            wakers.last += 1;
            self.number = Some(wakers.last);
            let (number, waker) = (wakers.last, cx.waker().clone());
            wakers.sessions.push(Sleeper { number, since_us: self.since_us, waker });
        }
        // Under the lock: what moves the moment on wakes those in the list behind that.
        if let Some(end) = self.end() {
            return self.ready(end);
        }
        let demand = wakers.demand();
        if (demand.waiting == 1 || demand.is_gathered())
            && let Some(follower) = wakers.follower.take()
        {
            follower.wake();
        }
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.source.wakers().sessions.retain(|one| one.number != number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn context() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn poll(waiting: &mut Waiting<'_>, waker: &Waker) -> Poll<bool> {
        Pin::new(waiting).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn an_answer_is_given_within_the_bound_and_not_after_it() {
        let source = Source::new("db:3306");
        assert_eq!(source.exact_within(100, u64::MAX), None, "not followed");
        source.prove(1000);
        assert_eq!((source.exact_within(1000, 1), source.exact_within(1019, 20)), (Some(0), Some(19)));
        assert_eq!(
            source.exact_within(1020, 20),
            None,
            "it may be more than 1020, and less than 1000 was proven"
        );
        source.prove(900);
        assert_eq!(source.exact_within(1019, 20), Some(19), "it never goes back");
        source.lose();
        assert_eq!(source.exact_within(1000, 20), None);
    }

    #[test]
    fn a_session_waits_for_a_moment_behind_its_query() {
        let source = Source::new("db:3306");
        let ended = |waiting: &mut Waiting<'_>| poll(waiting, Waker::noop());
        assert_eq!(ended(&mut source.wait(1)), Poll::Ready(false), "not followed");
        source.follow();
        assert_eq!(ended(&mut source.wait(1)), Poll::Pending, "nothing is known yet");
        source.prove(1000);
        assert_eq!(ended(&mut source.wait(999)), Poll::Ready(true));
        let mut waiting = source.wait(1000);
        assert_eq!(ended(&mut waiting), Poll::Pending, "either may have been first");
        assert_eq!(source.poll_demand(2000, &context()).waiting, 1);
        source.prove(1001);
        assert_eq!(ended(&mut waiting), Poll::Ready(true));
        assert_eq!(source.poll_demand(2000, &context()).waiting, 0);
        let mut waiting = source.wait(1001);
        assert_eq!(ended(&mut waiting), Poll::Pending);
        source.lose();
        assert_eq!(ended(&mut waiting), Poll::Ready(false));
    }

    #[test]
    fn each_stretch_without_an_interruption_is_another_one() {
        let source = Source::new("db:3306");
        assert_eq!(source.stretch(), None);
        source.follow();
        let first = source.stretch();
        source.follow();
        assert!(first.is_some() && source.stretch() == first);
        source.lose();
        source.lose();
        assert_eq!(source.stretch(), None);
        source.follow();
        assert!(source.is_followed() && source.stretch() != first);
    }

    #[test]
    fn a_session_that_gives_up_is_not_counted() {
        let source = Source::new("db:3306");
        source.follow();
        let [mut given_up, mut stays] = [(); 2].map(|()| source.wait(10));
        for waiting in [&mut given_up, &mut stays] {
            assert_eq!(poll(waiting, Waker::noop()), Poll::Pending);
        }
        drop(given_up);
        assert_eq!(source.poll_demand(20, &context()).waiting, 1);
        source.prove(11);
        assert_eq!(source.poll_demand(20, &context()).crowd, 1);
    }

    /// A task that is woken, and how often.
    #[derive(Default)]
    struct Woken(AtomicU64);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    impl Woken {
        /// How often it was woken since it was asked last.
        fn times(&self) -> u64 {
            self.0.swap(0, Relaxed)
        }
    }

    fn waits<'a>(source: &'a Source, since_us: u64, session: &Arc<Woken>) -> Waiting<'a> {
        let mut waiting = source.wait(since_us);
        assert_eq!(poll(&mut waiting, &Arc::clone(session).into()), Poll::Pending);
        waiting
    }

    #[test]
    fn only_sessions_that_may_go_on_are_woken() {
        let source = Source::new("db:3306");
        source.follow();
        let [early, late] = [(); 2].map(|()| Arc::<Woken>::default());
        let _first = waits(&source, 10, &early);
        let mut second = waits(&source, 20, &late);
        assert_eq!(poll(&mut second, &Arc::clone(&late).into()), Poll::Pending);
        let demand = source.poll_demand(30, &context());
        assert_eq!((demand.waiting, demand.crowd, demand.since_us), (2, 0, 10));
        source.prove(20);
        assert_eq!((early.times(), late.times()), (1, 0));
        let demand = source.poll_demand(30, &context());
        assert_eq!((demand.waiting, demand.crowd, demand.since_us), (1, 2, 20));
        source.lose();
        assert_eq!((early.times(), late.times()), (0, 1));
    }

    #[test]
    fn what_follows_the_log_is_woken_for_the_first_session_and_when_most_of_them_wait() {
        let source = Source::new("db:3306");
        source.follow();
        let sessions = [(); 8].map(|()| Arc::<Woken>::default());
        let mut waiting: Vec<_> = sessions.iter().map(|session| waits(&source, 10, session)).collect();
        source.prove(11);
        let follower = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&follower));
        let mut gathered = Vec::new();
        for session in &sessions {
            source.poll_demand(20, &Context::from_waker(&waker));
            waiting.push(waits(&source, 20, session));
            let demand = source.poll_demand(20, &context());
            gathered.push((follower.times(), demand.is_gathered()));
        }
        let [first, few, most] = [(1, false), (0, false), (1, true)];
        assert_eq!(gathered, [first, few, few, few, few, most, most, most]);
    }

    #[test]
    fn nothing_is_asked_of_the_server_for_a_while_after_the_last_query() {
        let source = Source::new("db:3306");
        let bound = |now| source.poll_demand(now, &context()).bound_us;
        assert_eq!(bound(5_000_000), None);
        let _ = source.exact_within(5_000_000, 20_000);
        let _ = source.exact_within(5_000_000, 50_000);
        assert_eq!(bound(5_000_001), Some(20_000), "the shortest bound");
        assert_eq!(bound(5_000_000 + DEMAND_US), None);
        source.forget_bounds();
        let _ = source.exact_within(7_000_000, 50_000);
        assert_eq!(bound(7_000_000), Some(20_000));
        source.forget_bounds();
        assert_eq!(bound(7_000_000), Some(50_000));
    }
}
