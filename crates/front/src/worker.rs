//! What a worker has for clients that have no session.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

use observe::log_limit::LogLimit;
use route::Pairs;
use session::state::gtids::Tracking;

use crate::shared::Shared;

/// What one thread needs to let clients in.
#[derive(Debug)]
pub struct Worker {
    /// What all threads share.
    pub(crate) shared: Arc<Shared>,
    /// Connections to servers, buffers, counts and variables.
    pub(crate) upstream: Rc<upstream::Worker>,
    /// Writers and their readers.
    pairs: RefCell<Arc<Pairs>>,
    tracking: Cell<Tracking>,
    rate_to_client: Cell<Option<NonZeroU32>>,
    /// Bounds what is logged of connections that should begin with a PROXY header and do not.
    pub(crate) bad_headers: LogLimit,
}

impl Worker {
    /// To be [configured](Self::configure).
    pub fn new(shared: Arc<Shared>, upstream: Rc<upstream::Worker>) -> Self {
        Self {
            shared,
            upstream,
            pairs: RefCell::default(),
            tracking: Cell::default(),
            rate_to_client: Cell::default(),
            bad_headers: LogLimit::default(),
        }
    }

    /// Uses these pairs from now on, and other variables if the part for servers does; clients that
    /// come are tracked like this.
    pub fn configure(&self, pairs: &Arc<Pairs>, tracking: Tracking) {
        self.pairs.replace(Arc::clone(pairs));
        self.tracking.set(tracking);
        let rate = self.upstream.settings().variables.throttle_max_bytes_per_second_to_client;
        self.rate_to_client.set(NonZeroU32::new(rate));
    }

    /// Writers and their readers.
    pub(crate) fn pairs(&self) -> Arc<Pairs> {
        Arc::clone(&self.pairs.borrow())
    }

    /// Who wants to know of transactions, as variables say it.
    pub(crate) const fn tracking(&self) -> Tracking {
        self.tracking.get()
    }

    /// How many bytes in a second a client may get; nothing if as many as it takes.
    pub const fn rate_to_client(&self) -> Option<NonZeroU32> {
        self.rate_to_client.get()
    }
}
