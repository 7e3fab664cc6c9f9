//! So many of something at a time, and who waits for one, in the order in which they came.
//!
//! Unlike a [`Pool`](crate::Pool) it has only a number: the connections of a user, or the clients of the proxy. Whoever gets one holds a
//! [`Share`]; when that is dropped the next in line has it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// How many there are, and who waits.
#[derive(Debug, Default)]
pub struct Quota(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    taken: u32,
    max: u32,
    waiting: VecDeque<Arc<Place>>,
}

/// What is granted to somebody who waits, and how to wake him.
#[derive(Debug, Default)]
struct Place(Mutex<(bool, Option<Waker>)>);

/// One of those that there may be.
#[derive(Debug)]
pub struct Share(Arc<Quota>);

/// A place in line. Dropping it leaves the line; a share that was already granted goes to the next.
#[derive(Debug)]
pub struct InLine {
    quota: Arc<Quota>,
    place: Arc<Place>,
}

/// Nothing in here can panic while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Quota {
    /// One that allows `max`.
    pub fn new(max: u32) -> Arc<Self> {
        let quota = Arc::<Self>::default();
        quota.allow(max);
        quota
    }

    /// Allows `max` from now on. Those that are taken stay.
    pub fn allow(&self, max: u32) {
        let mut state = lock(&self.0);
        state.max = max;
        Self::serve(state);
    }

    /// One of them, if there is one left and nobody waits for it.
    pub fn take(self: &Arc<Self>) -> Option<Share> {
        let mut state = lock(&self.0);
        let is_free = state.taken < state.max && state.waiting.is_empty();
        is_free.then(|| {
            state.taken += 1;
            Share(Arc::clone(self))
        })
    }

    /// A place at the end of the line, unless `most` are in it already.
    pub fn enqueue(self: &Arc<Self>, most: usize) -> Option<InLine> {
        let mut state = lock(&self.0);
        if state.waiting.len() >= most {
            return None;
        }
        let place = Arc::<Place>::default();
        state.waiting.push_back(Arc::clone(&place));
        // What came back just before.
        Self::serve(state);
        Some(InLine { quota: Arc::clone(self), place })
    }

    /// How many are taken.
    pub fn taken(&self) -> u32 {
        lock(&self.0).taken
    }

    /// How many there may be.
    pub fn max(&self) -> u32 {
        lock(&self.0).max
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        lock(&self.0).waiting.len()
    }

    fn give_back(&self) {
        let mut state = lock(&self.0);
        debug_assert!(state.taken > 0, "a share is given back once");
        state.taken = state.taken.saturating_sub(1);
        Self::serve(state);
    }

    /// Grants what is free to those who wait longest.
    fn serve(mut state: MutexGuard<'_, State>) {
        let mut wakers = Vec::new();
        while state.taken < state.max
            && let Some(place) = state.waiting.pop_front()
        {
            state.taken += 1;
            let mut place = lock(&place.0);
            place.0 = true;
            wakers.extend(place.1.take());
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Share {
    /// Whether it is one of these.
    pub fn is_of(&self, quota: &Arc<Quota>) -> bool {
        Arc::ptr_eq(&self.0, quota)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl InLine {
    /// The share, once it is there; until then `waker` is kept and called when it is.
    pub fn poll_share(&mut self, waker: &Waker) -> Option<Share> {
        let mut place = lock(&self.place.0);
        if !std::mem::take(&mut place.0) {
            place.1 = Some(waker.clone());
            return None;
        }
        Some(Share(Arc::clone(&self.quota)))
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        let mut state = lock(&self.quota.0);
        state.waiting.retain(|place| !Arc::ptr_eq(place, &self.place));
        let is_unclaimed = std::mem::take(&mut lock(&self.place.0).0);
        drop(state);
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

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn whoever_waits_longest_is_next() {
        let quota = Quota::new(1);
        let held = quota.take();
        let bell = Arc::new(Bell::default());
        let (mut one, mut two) = (quota.enqueue(9).unwrap(), quota.enqueue(9).unwrap());
        assert!(one.poll_share(&Waker::from(Arc::clone(&bell))).is_none());
        assert!(two.poll_share(Waker::noop()).is_none());
        drop(held);
        assert_eq!(bell.0.load(Ordering::SeqCst), 1);
        assert!(quota.take().is_none(), "nobody overtakes");
        let first = one.poll_share(Waker::noop());
        assert!(first.is_some() && two.poll_share(Waker::noop()).is_none());
        drop((first, one));
        assert!(two.poll_share(Waker::noop()).is_some());
    }

    #[test]
    fn the_line_has_an_end() {
        let quota = Quota::new(0);
        let one = quota.enqueue(1);
        assert!(one.is_some() && quota.enqueue(1).is_none());
        drop(one);
        assert!(quota.enqueue(1).is_some());
    }

    #[test]
    fn more_that_are_allowed_go_to_those_who_wait() {
        let quota = Quota::new(0);
        let mut one = quota.enqueue(9).unwrap();
        quota.allow(1);
        let share = one.poll_share(Waker::noop());
        quota.allow(0);
        assert_eq!((share.is_some(), quota.taken(), quota.max()), (true, 1, 0));
        drop(share);
        assert!(quota.take().is_none());
    }

    proptest! {
        /// C23: whatever happens, there are never more than may be, nothing leaks, and nobody waits in vain.
        #[test]
        fn c23_shares_are_exact(steps in proptest::collection::vec((0..5u8, 0..6usize), 0..200)) {
            const MAX: u32 = 3;
            let quota = Quota::new(MAX);
            let (mut shares, mut waiting) = (Vec::new(), Vec::new());
            for (what, at) in steps {
                match what {
                    0 => shares.extend(quota.take()),
                    1 => waiting.extend(quota.enqueue(4)),
                    2 if at < shares.len() => drop(shares.swap_remove(at)),
                    3 if at < waiting.len() => drop(waiting.remove(at)),
                    4 if at < waiting.len() => if let Some(share) = waiting[at].poll_share(Waker::noop()) {
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
