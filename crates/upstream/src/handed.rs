//! A connection that goes from the session that had it to the one that waits for it: over a slot
//! that both know, without a look at what else there is.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::Worker;
use crate::entry::Entry;

/// Where a connection is put for somebody who waits.
#[derive(Debug)]
pub(crate) struct Slot {
    entry: RefCell<Option<Box<Entry>>>,
    waker: RefCell<Option<Waker>>,
    /// When somebody is to look for him, if he does not look himself.
    pub(crate) look: Cell<Option<Instant>>,
    /// Whether he has waited as long as he may.
    late: Cell<bool>,
    /// Whether he waits no more.
    closed: Cell<bool>,
    /// Whether what he was promised does not come.
    missed: Cell<bool>,
}

impl Slot {
    /// Whether nobody waits for what would be put there.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Whether what he was promised need not come any more.
    pub(crate) const fn is_gone(&self) -> bool {
        self.closed.get() || self.missed.get()
    }

    /// Whether somebody has to look for him.
    pub(crate) const fn is_looked_after(&self) -> bool {
        !self.is_gone() && !self.late.get()
    }

    /// Puts a connection there for who waits.
    pub(crate) fn put(&self, entry: Box<Entry>) {
        // He waits for one.
        debug_assert!(self.entry.borrow().is_none(), "somebody who has been served stands in line");
        *self.entry.borrow_mut() = Some(entry);
        self.wake();
    }

    /// Tells who waits for what he was promised that it does not come.
    pub(crate) fn miss(&self) {
        if !self.is_gone() && self.entry.borrow().is_none() {
            self.missed.set(true);
            self.wake();
        }
    }

    /// Tells who waits that he has waited as long as he may.
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

/// What somebody has who waits. It may go away at any time: what was put into the slot and not
/// taken is put back then.
#[derive(Debug)]
pub(crate) struct Handed {
    worker: Rc<Worker>,
    slot: Rc<Slot>,
}

impl Handed {
    /// A slot for somebody for whom others are to look at this time, if he does not look himself;
    /// and what they need of it.
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

    /// Whether what he was promised does not come.
    pub(crate) fn has_missed(&self) -> bool {
        self.slot.missed.get()
    }

    /// He has to look at this time.
    pub(crate) fn look_at(&self, look: Instant) {
        self.slot.look.set(Some(look));
        self.worker.kept.keeper.note(&self.worker, look);
    }

    /// Whoever puts something there wakes this one.
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
    /// Who is told to stop waiting may have been given a connection just before.
    fn drop(&mut self) {
        self.slot.closed.set(true);
        if let Some(entry) = self.take() {
            self.worker.kept.put_back(&self.worker, entry);
        }
    }
}
