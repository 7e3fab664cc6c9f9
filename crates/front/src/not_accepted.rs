//! Clients that cannot be accepted, as they are logged.

use std::fmt::Display;
use std::sync::Mutex;

use net::lock;
use observe::log_limit::LogLimit;
use tokio::time::Instant;
use upstream::descriptors::limit;

/// What all listeners log of clients that they could not take: one line in a while.
#[derive(Debug, Default)]
pub(crate) struct NotAccepted(Mutex<LogLimit>);

impl NotAccepted {
    /// Logs that a client was not taken, and why.
    pub(crate) fn note(&self, address: &dyn Display, why: &dyn Display) {
        let log_limit = lock(&self.0);
        let Some(hidden) = log_limit.admit(Instant::now()) else { return };
        drop(log_limit);
        let (clients, limit) = (hidden.saturating_add(1), limit());
        tracing::warn!(
            %address, %why, clients, limit,
            "clients could not be accepted; if open files are lacking, raise the limit (ulimit -n, LimitNOFILE of systemd), \
             or lower mysql-max_connections"
        );
    }
}
