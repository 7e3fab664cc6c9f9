//! What the tasks of all clients of the admin port share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use observe::plane::DataPlane;
use tokio::sync::watch;

use super::clients::Clients;
use crate::engine::Engine;
use crate::settings::Settings;

/// What the tasks of all clients share.
pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) plane: Arc<dyn DataPlane>,
    pub(super) settings: watch::Receiver<Arc<Settings>>,
    pub(super) started: Instant,
    pub(super) clients: Clients,
    last_id: AtomicU32,
}

impl Shared {
    /// What clients of this engine share; there are none yet.
    pub(super) fn new(engine: &Engine, plane: &Arc<dyn DataPlane>) -> Self {
        Self {
            engine: engine.clone(),
            plane: Arc::clone(plane),
            settings: engine.settings(),
            started: Instant::now(),
            clients: Clients::default(),
            last_id: AtomicU32::new(0),
        }
    }

    /// The id of a new connection.
    pub(super) fn next_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }
}
