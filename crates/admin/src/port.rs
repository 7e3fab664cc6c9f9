//! The whole admin port of a process: the thread that owns SQLite, the listeners, and what runs
//! beside them.

use std::io;
use std::sync::Arc;

use config::Address;
use observe::plane::DataPlane;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::answer::AdminError;
use crate::engine::Engine;
use crate::health::Health;
use crate::rest::Rest;
use crate::server::{Clients, Server};
use crate::store::Store;
use crate::{http, scheduler};

/// A running admin port. Dropped, it stops listening; clients that are connected stay.
#[derive(Debug)]
pub struct Port {
    engine: Engine,
    addresses: Vec<Address>,
    clients: Clients,
    tasks: Vec<JoinHandle<()>>,
}

impl Port {
    /// Starts it over `store`, whose runtime has been loaded: it listens where `admin-mysql_ifaces`
    /// says (nowhere, if that is empty), runs what the scheduler has, serves REST if that is
    /// switched on, and answers health checks where it is told to. All of them follow their
    /// variables and tables from then on. Tasks run on `runtime`.
    ///
    /// # Errors
    ///
    /// An address cannot be listened on; the text names it.
    pub fn start(store: Store, plane: &Arc<dyn DataPlane>, runtime: &Handle) -> io::Result<Self> {
        Self::start_at(store, plane, runtime, None)
    }

    /// The same, but listens at `fixed`, if that is given, whatever `admin-mysql_ifaces` says.
    ///
    /// # Errors
    ///
    /// An address cannot be listened on; the text names it.
    pub fn start_at(
        store: Store,
        plane: &Arc<dyn DataPlane>,
        runtime: &Handle,
        fixed: Option<Vec<Address>>,
    ) -> io::Result<Self> {
        let engine = Engine::start(store, Arc::clone(plane), runtime)?;
        let mut server = Server::new(&engine, plane);
        let follows = fixed.is_none();
        let wanted = fixed.unwrap_or_else(|| engine.settings().borrow().addresses.clone());
        server.listen(&wanted, runtime)?;
        if !wanted.is_empty() && !engine.settings().borrow().accounts.has_admin() {
            tracing::info!(
                "no account can log in to the admin port and on the page: set admin_credentials of admin_variables, NAME:PASSWORD"
            );
        }
        let (addresses, clients) = (server.addresses(), server.clients());
        // The task owns the listeners, whether or not they may move.
        let listening = listen(server, engine.clone(), runtime.clone(), follows);
        let tasks = vec![
            runtime.spawn(listening),
            runtime.spawn(scheduler::run(engine.settings())),
            runtime.spawn(http::run(Rest::new(&engine), engine.settings())),
            runtime.spawn(http::run(Health::new(plane), engine.settings())),
        ];
        Ok(Self { engine, addresses, clients, tasks })
    }

    /// Saves what a first start has taken from the file. Only now, when everything listens: after a
    /// start that fails, the file that the operator mends must count.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub async fn save_first(&self) -> Result<(), AdminError> {
        self.engine.save_first().await
    }

    /// The addresses that it listened on when it was started; where port 0 was asked for, the
    /// kernel has chosen one.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Stops listening, as when it is dropped. What is left are its clients.
    pub fn close(self) -> Clients {
        self.clients.clone()
    }

    /// The thread that executes statements.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Keeps the listeners: where the variable says, or where they are.
async fn listen(mut server: Server, engine: Engine, runtime: Handle, follows: bool) {
    let mut settings = engine.settings();
    while settings.changed().await.is_ok() {
        if !follows {
            continue;
        }
        let addresses = settings.borrow_and_update().addresses.clone();
        if let Err(error) = server.follow(&addresses, &runtime).await {
            tracing::error!("the admin port: {error}");
        }
    }
}
