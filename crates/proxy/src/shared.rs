//! What all workers share: the configuration in the form that they use, the pool, and a few counts that change
//! when a client comes or goes, never per query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use config::{CheckLogins, Config, Endpoint, MysqlVariables};
use pool::{Availability, Pool, ServerSpec};

use crate::backend::{Announced, Target};
use crate::control::Patience;
use crate::directory::Directory;
use crate::keys::Keys;
use crate::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};
use crate::refusals::Refusals;
use crate::servers::Servers;
use crate::threads::Threads;
use crate::tls::Tls;
use crate::users::Users;

/// Shared by all threads of one proxy.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) variables: MysqlVariables,
    pub(crate) patience: Patience,
    pub(crate) check_logins: CheckLogins,
    pub(crate) users: Users,
    pub(crate) servers: Servers,
    pub(crate) pool: Pool<Target>,
    pub(crate) announced: Announced,
    pub(crate) keys: Keys,
    pub(crate) refusals: Refusals,
    pub(crate) directory: Directory,
    pub(crate) threads: Arc<Threads>,
    pub(crate) tls: Tls,
    clients: Arc<AtomicU32>,
    next_connection_id: AtomicU32,
}

impl Shared {
    pub(crate) fn new(config: &Config, keys: Keys, tls: Tls) -> Self {
        let variables = config.variables.clone();
        let patience = Patience {
            idle: variables.wait_timeout,
            idle_in_transaction: variables.max_transaction_idle_time,
            transaction: variables.max_transaction_time,
        };
        Self {
            variables,
            patience,
            check_logins: config.pointsman.check_logins,
            users: Users::new(&config.users),
            servers: Servers::new(endpoints(config)),
            pool: Pool::new(config.servers.iter().map(spec)),
            announced: Announced::new(config),
            keys,
            refusals: Refusals::default(),
            directory: Directory::default(),
            threads: Arc::default(),
            tls,
            clients: Arc::default(),
            next_connection_id: AtomicU32::new(FIRST_CONNECTION_ID),
        }
    }

    /// Whether clients are told that they talk to MariaDB.
    pub(crate) async fn says_mariadb(&self) -> bool {
        let is_mariadb = |version: &[u8]| version.windows(7).any(|part| part == b"MariaDB");
        match self.variables.server_version.as_bytes() {
            [] => is_mariadb(&self.servers.offer().await.version),
            configured => is_mariadb(configured),
        }
    }

    /// Counts one more client, unless `mysql-max_connections` are there.
    pub(crate) fn admit(&self) -> Option<Slot> {
        Slot::take(&self.clients, self.variables.max_connections)
    }

    /// An id for a client, as told in the greeting.
    pub(crate) fn connection_id(&self) -> u32 {
        let next = |id| Some(if id == LAST_CONNECTION_ID { FIRST_CONNECTION_ID } else { id + 1 });
        match self.next_connection_id.try_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(id) | Err(id) => id,
        }
    }
}

/// Where the servers are that sessions may get, each once.
fn endpoints(config: &Config) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    for server in config.servers.iter().filter(|server| server.status == config::ServerStatus::Online) {
        let endpoint = server.endpoint();
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    endpoints
}

fn spec(server: &config::Server) -> ServerSpec<Target> {
    let availability = match server.status {
        config::ServerStatus::Online => Availability::Online,
        config::ServerStatus::Shunned
        | config::ServerStatus::OfflineSoft
        | config::ServerStatus::OfflineHard => Availability::Offline,
    };
    ServerSpec {
        hostgroup: server.hostgroup_id,
        weight: server.weight,
        max_connections: server.max_connections,
        availability,
        endpoint: Target::new(server),
    }
}

/// One of a limited number of places, given back on drop.
#[derive(Debug)]
pub(crate) struct Slot(Arc<AtomicU32>);

impl Slot {
    /// A place among `max` counted by `taken`, if there is one left.
    pub(crate) fn take(taken: &Arc<AtomicU32>, max: u32) -> Option<Self> {
        taken
            .try_update(Ordering::AcqRel, Ordering::Acquire, |taken| (taken < max).then_some(taken + 1))
            .is_ok()
            .then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
