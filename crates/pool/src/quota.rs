//! So many of something at a time, and who waits for one, in the order in which they came.
//!
//! Unlike a [`Pool`](crate::Pool) it has only a number: the connections of a user, or the clients
//! of the proxy. The holder of one has a [`Share`]; when that is dropped the next place in line
//! gets it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// How many there are, and who waits.
#[derive(Debug, Default)]
pub struct Quota {
    /// How many there may be. Written with the state locked.
    max: AtomicU32,
    /// How many wait, the same.
    waiting: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: u32,
    waiting: VecDeque<Arc<Place>>,
    /// When one was given up last for who waits longest.
    yielded: Duration,
}

/// Place of a waiting session or client.
#[derive(Debug)]
struct Place {
    since: Duration,
    /// What the place is told next, and how to wake its owner.
    told: Mutex<(Option<Told>, Option<Waker>)>,
}

#[derive(Debug, Clone, Copy)]
enum Told {
    Granted,
    First,
}

/// One of those that there may be.
#[derive(Debug)]
pub struct Share(Arc<Quota>);

/// A place in line. Dropping it leaves the line; a share that was already granted goes to the next.
#[derive(Debug)]
pub struct InLine {
    quota: Arc<Quota>,
    place: Arc<Place>,
}

/// Takes a place out of the line whose owner is about to learn that it needs the share no more.
#[derive(Debug, Clone)]
pub struct LeaveLine {
    quota: Arc<Quota>,
    place: Arc<Place>,
}

/// What comes of standing in line.
#[derive(Debug)]
pub enum InTurn {
    /// One of them.
    Granted(Share),
    /// Nothing yet, but this place is the first by now.
    First,
}

/// Nothing in here can panic while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Quota {
    /// One that allows `max`; `u32::MAX` is no limit.
    pub fn new(max: u32) -> Arc<Self> {
        Arc::new(Self { max: AtomicU32::new(max), ..Self::default() })
    }

    /// Allows `max` from now on. Those that are taken stay.
    pub fn allow(&self, max: u32) {
        if self.max() == max {
            return;
        }
        let state = lock(&self.state);
        self.max.store(max, Ordering::SeqCst);
        self.serve(state);
    }

    /// One of them, if there is one left and no place waits for it.
    pub fn take(self: &Arc<Self>) -> Option<Share> {
        let mut state = lock(&self.state);
        let is_free = state.taken < self.max() && state.waiting.is_empty();
        is_free.then(|| {
            state.taken += 1;
            Share(Arc::clone(self))
        })
    }

    /// A place in line, behind all who have come by `since`, unless `most` are in it already. That
    /// is the time on a clock of the caller's: now, but for those who have been in line before and
    /// had to leave it.
    pub fn enqueue(self: &Arc<Self>, most: usize, since: Duration) -> Option<InLine> {
        let state = lock(&self.state);
        (state.waiting.len() < most).then(|| self.stand(state, since))
    }

    fn stand(self: &Arc<Self>, mut state: MutexGuard<'_, State>, since: Duration) -> InLine {
        let place = Arc::new(Place { since, told: Mutex::default() });
        let at = state.waiting.iter().rposition(|other| other.since <= since).map_or(0, |before| before + 1);
        state.waiting.insert(at, Arc::clone(&place));
        // What came back just before.
        self.serve(state);
        InLine { quota: Arc::clone(self), place }
    }

    /// One of them, behind all who wait for it so.
    pub async fn wait(self: &Arc<Self>) -> Share {
        self.stand(lock(&self.state), Duration::ZERO).share().await
    }

    /// How many are taken.
    pub fn taken(&self) -> u32 {
        lock(&self.state).taken
    }

    /// How many there may be.
    pub fn max(&self) -> u32 {
        self.max.load(Ordering::SeqCst)
    }

    /// Whether there may not be any number of them.
    pub fn is_limited(&self) -> bool {
        self.max() < u32::MAX
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// When the one came who waits longest.
    pub fn oldest(&self) -> Option<Duration> {
        lock(&self.state).waiting.front().map(|place| place.since)
    }

    /// Whether a share has to go to the place that waits longest, instead of a session that came at
    /// `since`: that would be farther ahead than `most`. At most one share in that time.
    pub fn has_to_yield(&self, since: Duration, now: Duration, most: Duration) -> bool {
        if self.waiting() == 0 {
            return false;
        }
        let mut state = lock(&self.state);
        let is_ahead = |place: &Arc<Place>| since.saturating_sub(place.since) > most;
        let yields = state.waiting.front().is_some_and(is_ahead) && now.saturating_sub(state.yielded) > most;
        if yields {
            state.yielded = now;
        }
        yields
    }

    /// Takes a place out of the line, if it is still in it.
    fn remove(&self, place: &Arc<Place>) {
        let mut state = lock(&self.state);
        let Some(at) = state.waiting.iter().position(|other| Arc::ptr_eq(other, place)) else { return };
        state.waiting.remove(at);
        self.waiting.store(state.waiting.len(), Ordering::SeqCst);
        let first = state.waiting.front().filter(|_| at == 0).and_then(|place| place.tell(Told::First));
        drop(state);
        if let Some(first) = first {
            first.wake();
        }
    }

    fn give_back(&self) {
        let mut state = lock(&self.state);
        debug_assert!(state.taken > 0, "a share is given back once");
        state.taken = state.taken.saturating_sub(1);
        self.serve(state);
    }

    /// Grants what is free to those who wait longest, and tells who is the first by then.
    fn serve(&self, mut state: MutexGuard<'_, State>) {
        let mut wakers = Vec::new();
        let mut has_served = false;
        while state.taken < self.max()
            && let Some(place) = state.waiting.pop_front()
        {
            state.taken += 1;
            wakers.extend(place.tell(Told::Granted));
            has_served = true;
        }
        if has_served {
            wakers.extend(state.waiting.front().and_then(|place| place.tell(Told::First)));
        }
        self.waiting.store(state.waiting.len(), Ordering::SeqCst);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Place {
    /// Tells the session in this place, and returns how to wake it.
    fn tell(&self, what: Told) -> Option<Waker> {
        let mut told = lock(&self.told);
        told.0 = Some(what);
        told.1.take()
    }
}

impl Share {
    /// What it is one of.
    pub const fn quota(&self) -> &Arc<Quota> {
        &self.0
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl InLine {
    /// Whether this place is the first in line.
    pub fn is_first(&self) -> bool {
        lock(&self.quota.state).waiting.front().is_some_and(|first| Arc::ptr_eq(first, &self.place))
    }

    /// A handle with which another task takes this place out of the line.
    pub fn leave(&self) -> LeaveLine {
        LeaveLine { quota: Arc::clone(&self.quota), place: Arc::clone(&self.place) }
    }

    /// What has come of waiting, once; until then `waker` is kept and called when it may be.
    pub fn poll_turn(&mut self, waker: &Waker) -> Option<InTurn> {
        let mut told = lock(&self.place.told);
        let what = told.0.take();
        if what.is_none() {
            told.1 = Some(waker.clone());
        }
        what.map(|what| match what {
            Told::Granted => InTurn::Granted(Share(Arc::clone(&self.quota))),
            Told::First => InTurn::First,
        })
    }
}

impl InLine {
    /// Waits for the share.
    pub async fn share(mut self) -> Share {
        poll_fn(|cx| {
            loop {
                match self.poll_turn(cx.waker()) {
                    Some(InTurn::Granted(share)) => return Poll::Ready(share),
                    Some(InTurn::First) => {}
                    None => return Poll::Pending,
                }
            }
        })
        .await
    }
}

impl LeaveLine {
    /// Leaves the line. A share that was granted before is kept until the [`InLine`] is dropped.
    pub fn leave(self) {
        self.quota.remove(&self.place);
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        self.quota.remove(&self.place);
        // Who is out of the line is granted nothing any more.
        let is_unclaimed = matches!(lock(&self.place.told).0.take(), Some(Told::Granted));
        if is_unclaimed {
            self.quota.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The share, if it is there by now.
    fn share(line: &mut InLine) -> Option<Share> {
        std::iter::from_fn(|| line.poll_turn(Waker::noop())).find_map(|turn| match turn {
            InTurn::Granted(share) => Some(share),
            InTurn::First => None,
        })
    }

    #[test]
    fn the_longest_waiting_place_is_next() {
        let quota = Quota::new(1);
        let held = quota.take();
        let bell = Arc::new(Bell::default());
        let (mut one, mut two) = (quota.enqueue(9, NOW).unwrap(), quota.enqueue(9, NOW).unwrap());
        assert!(one.poll_turn(&Waker::from(Arc::clone(&bell))).is_none());
        assert!(share(&mut two).is_none() && one.is_first() && !two.is_first());
        drop(held);
        assert_eq!(bell.0.load(Ordering::SeqCst), 1);
        assert!(quota.take().is_none(), "nobody overtakes");
        let first = share(&mut one);
        assert!(first.is_some() && share(&mut two).is_none() && two.is_first());
        drop((first, one));
        assert!(share(&mut two).is_some());
    }

    #[test]
    fn who_becomes_the_first_is_told() {
        let quota = Quota::new(1);
        let held = quota.take();
        let mut line: Vec<_> = (0..3).map(|_| quota.enqueue(9, NOW).unwrap()).collect();
        assert!(line[1].poll_turn(Waker::noop()).is_none());
        drop(line.remove(0));
        assert!(matches!(line[0].poll_turn(Waker::noop()), Some(InTurn::First)));
        assert!(line[1].poll_turn(Waker::noop()).is_none());
        drop(held);
        assert!(matches!(line[0].poll_turn(Waker::noop()), Some(InTurn::Granted(_))));
        assert!(share(&mut line[1]).is_some());
    }

    #[test]
    fn who_had_to_leave_the_line_has_the_same_place_in_it_again() {
        let ms = Duration::from_millis;
        let quota = Quota::new(1);
        let held = quota.take();
        let mut line: Vec<_> = [2, 3, 3, 1, 2].map(|since| quota.enqueue(9, ms(since)).unwrap()).into();
        let mut order = Vec::new();
        drop(held);
        while let Some(at) = line.iter_mut().position(|one| share(one).is_some()) {
            order.push(at);
            drop(line.remove(at));
        }
        assert_eq!(order, [3, 0, 2, 0, 0]);
    }

    #[test]
    fn who_was_served_otherwise_is_not_in_line_any_more() {
        let quota = Quota::new(1);
        let held = quota.take();
        let (mut one, mut two) = (quota.enqueue(9, NOW).unwrap(), quota.enqueue(9, NOW).unwrap());
        one.leave().leave();
        assert_eq!(quota.waiting(), 1);
        assert!(matches!(two.poll_turn(Waker::noop()), Some(InTurn::First)) && two.is_first());
        drop(held);
        assert!(share(&mut one).is_none());
        // What was granted before goes to the next.
        two.leave().leave();
        let mut three = quota.enqueue(9, NOW).unwrap();
        drop((one, two));
        assert!(share(&mut three).is_some());
        drop(three);
        assert_eq!((quota.taken(), quota.waiting()), (0, 0));
    }

    #[test]
    fn one_is_given_up_for_who_waits_much_longer() {
        let (ms, most) = (Duration::from_millis, Duration::from_millis(100));
        let quota = Quota::new(1);
        let _held = quota.take();
        assert!(!quota.has_to_yield(ms(500), ms(900), most), "nobody waits");
        let _line = quota.enqueue(9, ms(1_000)).unwrap();
        assert_eq!(quota.oldest(), Some(ms(1_000)));
        assert!(!quota.has_to_yield(ms(1_100), ms(1_150), most), "not much");
        assert!(quota.has_to_yield(ms(1_101), ms(1_150), most));
        assert!(!quota.has_to_yield(ms(1_101), ms(1_250), most), "one of them was");
        assert!(quota.has_to_yield(ms(1_101), ms(1_251), most));
    }

    #[test]
    fn the_line_has_an_end() {
        let quota = Quota::new(0);
        let one = quota.enqueue(1, NOW);
        assert!(one.is_some() && quota.enqueue(1, NOW).is_none());
        drop(one);
        assert!(quota.enqueue(1, NOW).is_some());
    }

    #[test]
    fn more_that_are_allowed_go_to_those_who_wait() {
        let quota = Quota::new(0);
        let mut one = quota.enqueue(9, NOW).unwrap();
        quota.allow(1);
        let share = share(&mut one);
        quota.allow(0);
        assert_eq!((share.is_some(), quota.taken(), quota.max()), (true, 1, 0));
        drop(share);
        assert!(quota.take().is_none());
        assert!(quota.is_limited() && !Quota::new(u32::MAX).is_limited());
    }

    proptest! {
        /// C23: whatever happens, there are never more than may be, nothing leaks, and no place
        /// waits in vain.
        #[test]
        fn c23_shares_are_exact(steps in proptest::collection::vec((0..5u8, 0..6usize), 0..200)) {
            const MAX: u32 = 3;
            let quota = Quota::new(MAX);
            let (mut shares, mut waiting) = (Vec::new(), Vec::new());
            for (what, at) in steps {
                match what {
                    0 => shares.extend(quota.take()),
                    1 => waiting.extend(quota.enqueue(4, NOW)),
                    2 if at < shares.len() => drop(shares.swap_remove(at)),
                    3 if at < waiting.len() => drop(waiting.remove(at)),
                    4 if at < waiting.len() => if let Some(share) = share(&mut waiting[at]) {
                        shares.push(share);
                        drop(waiting.remove(at));
                    },
                    _ => {}
                }
                prop_assert!(quota.taken() <= MAX && quota.taken() as usize >= shares.len());
                prop_assert!(quota.waiting() == 0 || quota.taken() == MAX);
                prop_assert!(quota.waiting() <= 4);
            }
            drop((shares, waiting));
            prop_assert_eq!((quota.taken(), quota.waiting()), (0, 0));
        }
    }
}
