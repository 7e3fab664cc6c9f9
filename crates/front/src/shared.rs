//! What all threads share of clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use net::keys::Keys;
use observe::logs::LogWriters;
use pool::Quota;
use session::addresses::Addresses;

use crate::hosts::Hosts;
use crate::not_accepted::NotAccepted;
use crate::refusals::Refusals;

/// Places of clients, and what is logged and counted of those that get none. Changes when a client
/// comes or goes, never per query.
#[derive(Debug)]
pub struct Shared {
    /// The servers, and the configuration for threads that are not workers.
    pub(crate) upstream: Arc<upstream::Shared>,
    /// RSA keys of logins, and the threads that run their slow steps.
    pub keys: Keys,
    pub(crate) logs: Arc<LogWriters>,
    /// Refused logins, as they are logged.
    pub refusals: Refusals,
    /// Addresses whose connections have failed.
    pub hosts: Hosts,
    pub(crate) not_accepted: NotAccepted,
    /// Clients that were refused because there were too many.
    refused: AtomicU64,
    /// Places of clients: `mysql-max_connections`.
    pub clients: Arc<Quota>,
    /// Where they come from, while that is limited.
    pub(crate) addresses: Arc<Addresses>,
}

impl Shared {
    /// Without clients.
    pub fn new(upstream: Arc<upstream::Shared>, keys: Keys, logs: Arc<LogWriters>) -> Self {
        let clients = Quota::new(upstream.configuration().variables.max_connections);
        Self {
            upstream,
            keys,
            logs,
            refusals: Refusals::default(),
            hosts: Hosts::default(),
            not_accepted: NotAccepted::default(),
            refused: AtomicU64::new(0),
            clients,
            addresses: Arc::default(),
        }
    }

    /// Counts a client that was refused because there were too many.
    pub fn note_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Clients that were refused because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}
