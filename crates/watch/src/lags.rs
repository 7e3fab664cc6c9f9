//! How far the servers of Aurora clusters are behind, in milliseconds, for statements that bear
//! only so much (`max_lag_ms`, `min_epoch_ms`).

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use config::Endpoint;

/// What is known of all of them.
#[derive(Debug, Default)]
pub struct Lags(RwLock<HashMap<Endpoint, Duration>>);

impl Lags {
    /// This is what is known now.
    pub(crate) fn know(&self, lags: HashMap<Endpoint, Duration>) {
        let before = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), lags);
        // Those who look do not wait for that.
        drop(before);
    }

    /// How far a server is behind, the writer not at all; nothing of one whose cluster does not say
    /// it.
    pub fn of(&self, server: &Endpoint) -> Option<Duration> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(server).copied()
    }
}
