//! What all connections of the page share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admin::{Engine, Settings};
use observe::plane::DataPlane;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::assets::Assets;
use crate::hub::Hub;
use crate::logins::Logins;
use crate::places::Places;

/// The page.
pub(crate) struct Site {
    /// Where statements of admins go.
    pub(crate) engine: Engine,
    /// The running proxy.
    pub(crate) plane: Arc<dyn DataPlane>,
    /// The accounts.
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    /// The statistics.
    pub(crate) hub: Hub,
    /// The files.
    pub(crate) assets: Assets,
    /// Whether the process ends.
    pub(crate) ending: watch::Receiver<bool>,
    logins: Mutex<Logins>,
    places: Mutex<Places>,
}

impl Site {
    /// The page of this proxy.
    pub(crate) fn new(
        engine: Engine,
        plane: Arc<dyn DataPlane>,
        ending: watch::Receiver<bool>,
        runtime: &Handle,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings: engine.settings(),
            hub: Hub::new(engine.clone(), Arc::clone(&plane), runtime),
            assets: Assets::new(),
            logins: Mutex::default(),
            places: Mutex::default(),
            engine,
            plane,
            ending,
        })
    }

    /// Whether the variables say that the page is served at this port.
    pub(crate) fn is_served(&self, port: u16) -> bool {
        // With port 0 the kernel has chosen one.
        self.settings.borrow().web_addresses().iter().any(|address| [0, port].contains(&address.port()))
    }

    /// The logins that go on. Held for no wait.
    pub(crate) fn logins(&self) -> MutexGuard<'_, Logins> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connections by address. Held for no wait.
    pub(crate) fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}
