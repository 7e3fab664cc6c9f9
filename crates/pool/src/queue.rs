//! Who waits for a server, in the order in which they came.
//!
//! The one race that matters: a session finds all servers full, and the last permit comes back just
//! before it is in the queue. The session therefore looks once more *after* it has queued up, and a
//! returning permit looks at the queue *after* it has been counted back: whatever the order, one of
//! the two sees the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::hostgroup::Hostgroup;
use crate::{Choice, Permit, choice};

/// The sessions that wait for a server of one hostgroup.
#[derive(Debug)]
pub(crate) struct WaitQueue<E> {
    /// Length of the queue, readable without the lock.
    waiting: AtomicUsize,
    queue: Mutex<Places<E>>,
}

/// The places, in the order in which they were taken.
#[derive(Debug)]
struct Places<E> {
    in_order: VecDeque<Arc<Place<E>>>,
    /// How many were ever taken.
    taken: u64,
}

/// One session's place, shared between the queue and its ticket.
#[derive(Debug)]
struct Place<E> {
    /// Those that were taken later have higher ones.
    number: u64,
    /// Decides among the servers when it is this place's turn.
    random: u64,
    /// Whose connection is wanted.
    account: Option<usize>,
    /// When it was taken.
    since: Duration,
    /// Whether it is in the queue. Written with the queue locked.
    is_in: AtomicBool,
    state: Mutex<PlaceState<E>>,
}

#[derive(Debug)]
struct PlaceState<E> {
    waker: Option<Waker>,
    turn: Option<Turn<E>>,
}

/// What comes of waiting.
#[derive(Debug)]
pub enum Turn<E> {
    /// A connection may be opened to the permit's server.
    Granted(Permit<E>),
    /// No server of the hostgroup takes connections any more; waiting longer would not help.
    NoServer,
    /// Nothing yet, but this place is the first by now. Its session has to [look](Ticket::look)
    /// when the next connection may be opened.
    First,
}

impl<E> Default for WaitQueue<E> {
    fn default() -> Self {
        let places = Places { in_order: VecDeque::new(), taken: 0 };
        Self { waiting: AtomicUsize::new(0), queue: Mutex::new(places) }
    }
}

/// Nothing in here can panic while it holds a lock, so poison means a bug elsewhere in the thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E> WaitQueue<E> {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// When the one came who waits longest.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        lock(&self.queue).in_order.front().map(|place| place.since)
    }

    /// Gives free permits to those who wait longest; sends all away if there is no server for them.
    /// Called whenever a permit came back, servers have changed, or time has passed.
    pub(crate) fn serve(&self, group: &Arc<Hostgroup<E>>) {
        // Accounts that are served by no server now, while others may be.
        let (mut has_served, mut passed) = (false, Vec::new());
        while self.waiting() > 0 && !group.is_full() {
            let Some((random, account)) = self.first_but(&passed) else { break };
            let turn = match choice::choose(group, random, account, group.time(), |_| false, |_| false) {
                Choice::Granted(permit) => Turn::Granted(permit),
                Choice::NoServer => Turn::NoServer,
                Choice::Busy if account.is_some_and(|account| group.refuses(account)) => {
                    passed.push(account);
                    continue;
                }
                Choice::Busy | Choice::Spare(_) => break,
            };
            // No place is left to serve: a permit is dropped and looks at the queue once more by
            // itself.
            let Some(place) = self.take_first(account) else { break };
            place.tell(|told| *told = Some(turn));
            has_served = true;
        }
        if has_served {
            self.tell_first(group);
        }
    }

    /// The one who waits longest of those with other accounts than these: its random number and its
    /// account.
    fn first_but(&self, passed: &[Option<usize>]) -> Option<(u64, Option<usize>)> {
        let queue = lock(&self.queue);
        let first = queue.in_order.iter().find(|place| !passed.contains(&place.account))?;
        Some((first.random, first.account))
    }

    /// Takes the one who waits longest for a connection of this account out of the queue.
    fn take_first(&self, account: Option<usize>) -> Option<Arc<Place<E>>> {
        let mut queue = lock(&self.queue);
        // Mostly it is the first.
        let at = queue.in_order.iter().position(|place| place.account == account)?;
        let place = queue.in_order.remove(at)?;
        self.waiting.store(queue.in_order.len(), Ordering::SeqCst);
        place.is_in.store(false, Ordering::SeqCst);
        Some(place)
    }

    /// Tells who waits longest by now to look when the next connection may be opened, if it is that
    /// which they wait for.
    fn tell_first(&self, group: &Hostgroup<E>) {
        if self.waiting() == 0 || !group.is_throttled() {
            return;
        }
        let front = lock(&self.queue).in_order.front().map(Arc::clone);
        if let Some(front) = front {
            front.tell(|told| {
                told.get_or_insert(Turn::First);
            });
        }
    }

    fn is_first(&self, place: &Arc<Place<E>>) -> bool {
        lock(&self.queue).in_order.front().is_some_and(|first| Arc::ptr_eq(first, place))
    }

    /// Takes the place behind all who have waited since then or longer.
    fn push(&self, random: u64, account: Option<usize>, since: Duration) -> Arc<Place<E>> {
        let state = Mutex::new(PlaceState { waker: None, turn: None });
        let mut queue = lock(&self.queue);
        queue.taken += 1;
        let place = Arc::new(Place {
            number: queue.taken,
            random,
            account,
            since,
            is_in: AtomicBool::new(true),
            state,
        });
        let is_last = queue.in_order.back().is_none_or(|last| last.since <= since);
        let at = if is_last {
            queue.in_order.len()
        } else {
            queue.in_order.partition_point(|other| other.since <= since)
        };
        queue.in_order.insert(at, Arc::clone(&place));
        self.waiting.store(queue.in_order.len(), Ordering::SeqCst);
        place
    }

    /// Whether it was the first.
    fn remove(&self, place: &Arc<Place<E>>) -> bool {
        if !place.is_in.load(Ordering::SeqCst) {
            // Once out it never comes back, and the queue need not be searched.
            return false;
        }
        let queue = &mut lock(&self.queue).in_order;
        // Mostly it is the first, and the others need not be looked at.
        let is_first = queue.front().is_some_and(|first| Arc::ptr_eq(first, place));
        let at = if is_first { Ok(0) } else { queue.binary_search_by_key(&place.key(), |other| other.key()) };
        if let Ok(at) = at {
            queue.remove(at);
            self.waiting.store(queue.len(), Ordering::SeqCst);
            place.is_in.store(false, Ordering::SeqCst);
        }
        is_first
    }
}

impl<E> Place<E> {
    /// The queue is in the order of these.
    const fn key(&self) -> (Duration, u64) {
        (self.since, self.number)
    }

    /// Changes what it is told, and wakes who waits for that.
    fn tell(&self, change: impl FnOnce(&mut Option<Turn<E>>)) {
        let waker = {
            let mut state = lock(&self.state);
            change(&mut state.turn);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A place in a hostgroup's queue. Dropping it leaves the queue; a permit that was already granted
/// goes to the next in line.
#[derive(Debug)]
pub struct Ticket<E> {
    group: Arc<Hostgroup<E>>,
    place: Arc<Place<E>>,
}

/// Looks after a place in a hostgroup's queue for the one who has it.
#[derive(Debug)]
pub struct Deputy<E> {
    group: Arc<Hostgroup<E>>,
    place: Arc<Place<E>>,
}

impl<E> Ticket<E> {
    pub(crate) fn new(
        group: Arc<Hostgroup<E>>,
        random: u64,
        account: Option<usize>,
        since: Duration,
    ) -> Self {
        let place = group.queue.push(random, account, since);
        // The look after queueing (see the top of this file); it serves the first place in line.
        group.queue.serve(&group);
        Self { group, place }
    }

    /// See [`Deputy::is_throttled`].
    pub fn is_throttled(&self) -> bool {
        self.group.is_throttled()
    }

    /// See [`Deputy::look`].
    pub fn look(&self, now: Duration) -> Option<Duration> {
        look(&self.group, &self.place, now)
    }

    /// The same for a session that has just queued up, which was a look: returns the time only.
    pub fn first_look(&self, now: Duration) -> Option<Duration> {
        changes_in(&self.group, &self.place, now)
    }

    /// A handle with which another task can serve this place, or look for it.
    pub fn deputy(&self) -> Deputy<E> {
        Deputy { group: Arc::clone(&self.group), place: Arc::clone(&self.place) }
    }

    /// What has come of waiting, once; until then `waker` is kept and called when it may be.
    pub fn poll_turn(&mut self, waker: &Waker) -> Option<Turn<E>> {
        let mut state = lock(&self.place.state);
        if state.turn.is_none() {
            state.waker = Some(waker.clone());
        }
        state.turn.take()
    }
}

impl<E> Clone for Deputy<E> {
    fn clone(&self) -> Self {
        Self { group: Arc::clone(&self.group), place: Arc::clone(&self.place) }
    }
}

impl<E> Deputy<E> {
    /// Whether it waits because connections to its hostgroup are opened one after the other.
    pub fn is_throttled(&self) -> bool {
        self.group.is_throttled()
    }

    /// Gives those who wait what has become free because time has passed, as
    /// [`Pool::serve`](crate::Pool::serve) does, and returns when this one has to look again at the
    /// latest. For connections that are opened one after the other only the first in line looks:
    /// all of them together would do nothing else.
    pub fn look(&self, now: Duration) -> Option<Duration> {
        look(&self.group, &self.place, now)
    }

    /// The session in this place is served, and leaves it. What it was granted before is kept until
    /// its [`Ticket`] is dropped.
    pub fn leave(&self) {
        leave(&self.group, &self.place);
    }
}

fn look<E>(group: &Arc<Hostgroup<E>>, place: &Arc<Place<E>>, now: Duration) -> Option<Duration> {
    group.tell(now);
    group.queue.serve(group);
    changes_in(group, place, now)
}

/// When a place has to look again at the latest.
fn changes_in<E>(group: &Hostgroup<E>, place: &Arc<Place<E>>, now: Duration) -> Option<Duration> {
    let recovers = group.recovers_in(place.account, now);
    // Only a throttled hostgroup asks whether the place is the first: that takes a lock.
    let opens = group.opens_in(now).filter(|_| group.queue.is_first(place));
    recovers.into_iter().chain(opens).min()
}

fn leave<E>(group: &Hostgroup<E>, place: &Arc<Place<E>>) {
    if group.queue.remove(place) {
        group.queue.tell_first(group);
    }
}

impl<E> Drop for Ticket<E> {
    fn drop(&mut self) {
        leave(&self.group, &self.place);
        // Taken out before it is dropped: returning a permit serves the queue, which locks other
        // places.
        let unclaimed = lock(&self.place.state).turn.take();
        drop(unclaimed);
    }
}
