//! What later statements of a session may ask about earlier ones: the key that was generated last.
//!
//! A server knows it for a connection. A session that takes a connection over from another one asks
//! for what that one may want to know, before doing anything else with it ([`Results::asking`]),
//! and tells it here.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What a session knows of its last statements.
#[derive(Debug, Default)]
pub struct Results {
    last_id: Cell<LastId>,
    /// How often something of this was said: what is asked about a time that is over is of no
    /// interest.
    times: Cell<u32>,
    /// How many ask.
    asked: Cell<u32>,
    /// The session, if it waits until no server is asked any more.
    waiting: RefCell<Option<Waker>>,
}

/// What `LAST_INSERT_ID()` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastId {
    /// This.
    Is(u64),
    /// What the server says over this connection, by its number; this, as far as answers have told.
    AtServer {
        /// The number, as far as is known.
        known: u64,
        /// The connection over which the statement ran that may have changed it.
        connection: u64,
    },
}

impl Default for LastId {
    fn default() -> Self {
        Self::Is(0)
    }
}

impl LastId {
    /// The number, as far as is known.
    pub const fn known(self) -> u64 {
        match self {
            Self::Is(id) | Self::AtServer { known: id, .. } => id,
        }
    }

    /// Whether only the server knows, over this connection.
    pub fn is_at(self, connection: u64) -> bool {
        matches!(self, Self::AtServer { connection: at, .. } if at == connection)
    }
}

impl Results {
    /// What `LAST_INSERT_ID()` is.
    pub fn last_id(&self) -> LastId {
        self.last_id.get()
    }

    /// A statement has run that may have changed it.
    pub fn set_last_id(&self, last_id: LastId) {
        self.last_id.set(last_id);
        self.times.set(self.times.get().wrapping_add(1));
    }

    /// The connection with this number was taken over, and its server is asked; until that is over,
    /// [`until_told`](Self::until_told) waits.
    pub fn asking(self: &Rc<Self>, connection: u64) -> Asking {
        self.asked.set(self.asked.get() + 1);
        Asking { results: Rc::clone(self), times: self.times.get(), connection }
    }

    /// Whether a server is asked.
    pub fn is_asked(&self) -> bool {
        self.asked.get() > 0
    }

    /// Waits until no server is asked any more.
    pub async fn until_told(&self) {
        poll_fn(|cx| self.poll_told(cx)).await;
    }

    fn poll_told(&self, cx: &Context<'_>) -> Poll<()> {
        if self.is_asked() {
            *self.waiting.borrow_mut() = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A server is asked for the results of a session that does not have its connection any more.
#[derive(Debug)]
pub struct Asking {
    results: Rc<Results>,
    times: u32,
    /// The number of its connection.
    connection: u64,
}

impl Asking {
    /// The server has answered. What it says of a time that is over is not taken, nor if a
    /// statement at another connection may have changed the number since.
    pub fn told(&self, last_id: u64) {
        let Results { last_id: known, times, .. } = &*self.results;
        if times.get() == self.times && known.get().is_at(self.connection) {
            known.set(LastId::Is(last_id));
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.results.asked.set(self.results.asked.get().saturating_sub(1));
        if !self.results.is_asked() {
            self.results.waiting.take().inspect(Waker::wake_by_ref);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    const fn at_server(known: u64) -> LastId {
        LastId::AtServer { known, connection: 1 }
    }

    #[test]
    fn what_was_asked_is_told_unless_it_is_too_late() {
        let results = Rc::new(Results::default());
        results.set_last_id(at_server(7));
        results.asking(1).told(5);
        assert_eq!(results.last_id(), LastId::Is(5));
        let asking = results.asking(1);
        results.set_last_id(at_server(9));
        asking.told(6);
        assert_eq!(results.last_id(), at_server(9));
        assert_eq!(results.last_id().known(), 9);
        assert!(results.last_id().is_at(1) && !results.last_id().is_at(2));
        results.asking(2).told(6);
        assert_eq!(results.last_id(), at_server(9), "another connection has had statements before");
    }

    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_session_waits_until_all_queries_are_over() {
        let woken = Arc::new(Woken(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let cx = Context::from_waker(&waker);
        let results = Rc::new(Results::default());
        assert!(results.poll_told(&cx).is_ready());
        for asking in [results.asking(1), results.asking(1)] {
            assert!(results.poll_told(&cx).is_pending());
            assert_eq!(woken.0.load(Ordering::Relaxed), 0);
            drop(asking);
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(results.poll_told(&cx).is_ready());
    }
}
