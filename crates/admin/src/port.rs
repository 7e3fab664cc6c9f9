//! The whole admin port of a process: the thread that owns SQLite, the listeners, and what runs beside them.

use std::io;
use std::sync::Arc;

use config::Address;
use tokio::runtime::Handle;

use crate::engine::Engine;
use crate::plane::DataPlane;
use crate::server::Server;
use crate::store::Store;

/// A running admin port. Dropped, it stops listening.
#[derive(Debug)]
pub struct Port {
    engine: Engine,
    server: Server,
}

impl Port {
    /// Starts it over `store`, whose runtime has been loaded: it listens where `admin-mysql_ifaces` says (nowhere, if that is
    /// empty). Tasks run on `runtime`.
    ///
    /// # Errors
    ///
    /// An address cannot be listened on; the text names it.
    pub fn start(store: Store, plane: &Arc<dyn DataPlane>, runtime: &Handle) -> io::Result<Self> {
        let engine = Engine::start(store, Arc::clone(plane), runtime)?;
        let addresses = engine.settings().borrow().addresses.clone();
        let _guard = runtime.enter();
        let server = Server::start(&addresses, &engine, plane, runtime)?;
        Ok(Self { engine, server })
    }

    /// The addresses that it listens on; where port 0 was asked for, the kernel has chosen one.
    pub fn addresses(&self) -> &[Address] {
        self.server.addresses()
    }

    /// The thread that executes statements.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }
}
