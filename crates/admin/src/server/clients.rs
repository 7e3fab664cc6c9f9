//! The clients of the admin port: how many there are, and that they are to go.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::limits::{CLIENTS_MAX, PART_TIME_MAX};

/// All clients of the admin port.
#[derive(Debug, Clone)]
pub struct Clients {
    places: Arc<Semaphore>,
    ends: watch::Sender<bool>,
}

/// A client's place among [`CLIENTS_MAX`], given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _place: OwnedSemaphorePermit,
}

impl Default for Clients {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(CLIENTS_MAX)), ends: watch::Sender::new(false) }
    }
}

impl Clients {
    /// A place for one more client, if there is one.
    pub(super) fn admit(&self) -> Option<Place> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(|place| Place { _place: place })
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        CLIENTS_MAX.saturating_sub(self.places.available_permits())
    }

    /// Waits until they are to go.
    pub(super) async fn ended(&self) {
        // It does not fail: there is a sender here.
        let _ = self.ends.subscribe().wait_for(|ends| *ends).await;
    }

    /// Has all of them go: those that wait hear of it, over TLS in its words, and those whose
    /// statement runs have little time. Takes a moment at most.
    pub async fn end(&self) {
        self.ends.send_replace(true);
        let all = u32::try_from(CLIENTS_MAX).unwrap_or(u32::MAX);
        let _ = timeout(PART_TIME_MAX, self.places.acquire_many(all)).await;
    }
}
