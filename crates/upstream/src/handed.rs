//! A connection that goes from the session that had it to the one that waits for it: over a slot
//! that both know, without a look at what else there is.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::Worker;
use crate::entry::Entry;

/// Place where a connection is handed to a session that waits for one.
#[derive(Debug)]
pub(crate) struct Slot {
    entry: RefCell<Option<Box<Entry>>>,
    waker: RefCell<Option<Waker>>,
    /// Time at which the keeper task checks this session; `None` if the session has its own timer.
    pub(crate) look: Cell<Option<Instant>>,
    /// Whether the session has waited as long as it may.
    late: Cell<bool>,
    /// Whether the session has stopped waiting.
    closed: Cell<bool>,
    /// Whether the connection that the session was promised in a batch does not come.
    missed: Cell<bool>,
}

impl Slot {
    /// Whether no session waits for a connection in this slot any more.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Whether no promised connection is awaited any more: the session is gone, or has missed it.
    pub(crate) const fn is_gone(&self) -> bool {
        self.closed.get() || self.missed.get()
    }

    /// Whether the keeper task has to check this session.
    pub(crate) const fn is_looked_after(&self) -> bool {
        !self.is_gone() && !self.late.get()
    }

    /// Hands a connection to the waiting session.
    pub(crate) fn put(&self, entry: Box<Entry>) {
        // The session waits for one connection only.
        debug_assert!(self.entry.borrow().is_none(), "somebody who has been served stands in line");
        *self.entry.borrow_mut() = Some(entry);
        self.wake();
    }

    /// Tells the waiting session that the promised connection does not come.
    pub(crate) fn miss(&self) {
        if !self.is_gone() && self.entry.borrow().is_none() {
            self.missed.set(true);
            self.wake();
        }
    }

    /// Tells the waiting session that it has waited as long as it may.
    pub(crate) fn give_up(&self) {
        self.late.set(true);
        self.wake();
    }

    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What a waiting session holds of its [`Slot`]. It may be dropped at any time: a connection that
/// was put into the slot and not taken is put back then.
#[derive(Debug)]
pub(crate) struct Handed {
    worker: Rc<Worker>,
    slot: Rc<Slot>,
}

impl Handed {
    /// A slot for a session that the keeper task checks at this time (`None` if the session has its
    /// own timer): the session's part of it, and the part of those that hand connections over.
    pub(crate) fn new(worker: &Rc<Worker>, look: Option<Instant>) -> (Self, Rc<Slot>) {
        let slot = Rc::new(Slot {
            entry: RefCell::default(),
            waker: RefCell::default(),
            look: Cell::new(look),
            late: Cell::new(false),
            closed: Cell::new(false),
            missed: Cell::new(false),
        });
        (Self { worker: Rc::clone(worker), slot: Rc::clone(&slot) }, slot)
    }

    /// What was handed over.
    pub(crate) fn take(&self) -> Option<Box<Entry>> {
        self.slot.entry.borrow_mut().take()
    }

    /// Whether there is no use in waiting longer.
    pub(crate) fn is_late(&self) -> bool {
        self.slot.late.get()
    }

    /// Whether the promised connection does not come.
    pub(crate) fn has_missed(&self) -> bool {
        self.slot.missed.get()
    }

    /// Has the keeper task check the session at this time.
    pub(crate) fn look_at(&self, look: Instant) {
        self.slot.look.set(Some(look));
        self.worker.kept.keeper.note(&self.worker, look);
    }

    /// Keeps the waker of the session's task: the slot wakes it when there is news.
    pub(crate) fn wakes(&self, cx: &Context<'_>) {
        let mut waker = self.slot.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }
}

impl Future for Handed {
    type Output = Box<Entry>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(entry) = self.take() {
            return Poll::Ready(entry);
        }
        self.wakes(cx);
        Poll::Pending
    }
}

impl Drop for Handed {
    /// A session that is told to stop waiting may have been given a connection just before.
    fn drop(&mut self) {
        self.slot.closed.set(true);
        if let Some(entry) = self.take() {
            self.worker.kept.put_back(&self.worker, entry);
        }
    }
}
