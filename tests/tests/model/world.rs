//! Two servers that are the same, one of them behind a proxy, and what is on them before a run.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use tokio::sync::{Mutex, Semaphore};

use crate::author::ACCOUNTS;
use crate::cached::{self, Caching};
use crate::run::CLIENTS;
use crate::shared::{LONG_AGO, OWN, SHARED};

/// Connections that the server behind the proxy may have, if nothing else is said: as many as a run
/// needs while each session has one of its own.
pub(crate) const CONNECTIONS: usize = 80;
/// The same for sessions that share them.
pub(crate) const SHARED_CONNECTIONS: usize = 4;
/// Sleepers at once, each of which takes a connection from the others, and waits for another.
const SLEEPERS: usize = 2;
/// `ER_CANNOT_CONVERT_STRING` of MySQL.
const ER_CANNOT_CONVERT_STRING: u16 = 3854;

/// A server for direct sessions, and its twin.
#[derive(Debug)]
pub(crate) struct Pair {
    direct: Backend,
    proxied: Backend,
    is_mariadb: bool,
}

/// Two MariaDB servers.
pub(crate) static MARIADB: LazyLock<Pair> =
    LazyLock::new(|| Pair::new(Backend::start(&OPTIONS), Backend::start(&OPTIONS), true));
/// Two MySQL servers, if MySQL is there.
pub(crate) static MYSQL: LazyLock<Option<Pair>> = LazyLock::new(|| {
    let (direct, proxied) = (Backend::start_mysql(&OPTIONS)?, Backend::start_mysql(&OPTIONS)?);
    Some(Pair::new(direct, proxied, false))
});
/// All clients of a run log in to each of them. A thread of MariaDB that serves another connection
/// still knows `FOUND_ROWS()` of the one before: there must not be such threads. Statistics that
/// are made in the background would change plans, and with them flags.
const OPTIONS: [&str; 4] =
    ["--max-connections=400", "--back-log=400", "--thread-cache-size=0", "--innodb-stats-auto-recalc=OFF"];

impl Pair {
    /// With accounts, and the schema that all clients read.
    fn new(direct: Backend, proxied: Backend, is_mariadb: bool) -> Self {
        for server in [&direct, &proxied] {
            for (account, password) in ACCOUNTS {
                server.sql(&format!("CREATE USER {account} IDENTIFIED BY '{password}'"));
            }
            server.sql(
                "GRANT ALL ON *.* TO model_a; GRANT ALL ON *.* TO model_b; \
                 CREATE DATABASE shared; GRANT SELECT, EXECUTE ON shared.* TO model_poor",
            );
            e2e::run(async {
                for (account, password) in ACCOUNTS {
                    // MySQL asks for the password itself, once.
                    let options = Options::tcp(server.server.address(), account, password);
                    let client = Client::connect(&options).await.unwrap_or_else(|error| panic!("{error}"));
                    let _ = client.quit().await;
                }
                let mut client = administrator(server).await;
                for sql in [LONG_AGO].into_iter().chain(SHARED) {
                    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
            });
        }
        Self { direct, proxied, is_mariadb }
    }
}

/// How the sessions of a world are treated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// The most connections that the server behind the proxy may have.
    pub(crate) connections: usize,
    /// Whether all wait in one line: then clients say much that others say as well.
    pub(crate) in_one_line: bool,
    /// For whom reads are cached, if they are.
    pub(crate) caching: Option<Caching>,
}

/// What a run happens in.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) direct: &'static Backend,
    pub(crate) proxied: &'static Backend,
    pub(crate) proxy: Proxy,
    /// The most connections that the server behind the proxy may have.
    pub(crate) connections: usize,
    /// Whether there are tables of more than one engine. Behind a statement that has written into
    /// one of `MyISAM`, MySQL warns of the next one on the same connection, whichever session sends
    /// it, that it mixes engines (6414).
    pub(crate) mixes_engines: bool,
    /// What kind of servers they are.
    pub(crate) is_mariadb: bool,
    /// Whether most clients have the same login and statements, so that their reads are batched.
    pub(crate) has_similar_sessions: bool,
    /// For whom reads are cached, if they are.
    pub(crate) caching: Option<Caching>,
    /// Clients at once.
    pub(crate) clients: usize,
    /// Who may have a statement that sleeps.
    pub(crate) sleepers: Semaphore,
    watchers: [Mutex<Client>; 2],
    tags: AtomicUsize,
}

impl World {
    /// A new proxy in front of one of the servers, with `more` configuration. The variable
    /// `POINTSMAN_MODEL_CONNECTIONS` beats the number of connections in `manner`.
    pub(crate) async fn new(pair: &'static Pair, manner: Manner, more: impl FnOnce(Setup) -> Setup) -> Self {
        let Pair { direct, proxied, .. } = pair;
        let Manner { connections, in_one_line, caching } = manner;
        let connections = crate::number("POINTSMAN_MODEL_CONNECTIONS").unwrap_or(connections);
        let clients = if caching.is_some() { cached::CLIENTS } else { CLIENTS };
        if let Ok(log) = std::env::var("POINTSMAN_MODEL_LOG") {
            for (server, log) in [(proxied, &log), (direct, &format!("{log}.direct"))] {
                server.sql(&format!("SET GLOBAL general_log_file = '{log}'; SET GLOBAL general_log = 1"));
            }
        }
        let mut setup = Setup::new(&proxied.sandbox)
            .server(&proxied.server, &format!("max_connections = {connections}"))
            // Sessions wait for each other when there are few connections.
            .variable("connect_timeout_server_max", 100_000)
            .admin("mysql_ifaces", "\"127.0.0.1:0\"");
        for (account, password) in ACCOUNTS {
            setup = setup.user(account, password, "");
        }
        if let Some(caching) = caching {
            setup = caching.configure(setup);
        }
        let proxy = more(setup).start();
        let watchers = [Mutex::new(administrator(direct).await), Mutex::new(administrator(proxied).await)];
        Self {
            direct,
            proxied,
            proxy,
            connections,
            mixes_engines: pair.is_mariadb || connections >= clients,
            is_mariadb: pair.is_mariadb,
            has_similar_sessions: in_one_line,
            caching,
            clients,
            sleepers: Semaphore::new(SLEEPERS),
            watchers,
            tags: AtomicUsize::new(0),
        }
    }

    /// Makes the schemas of a client new, on both servers.
    pub(crate) async fn clear(&self, schema: &str) {
        for server in [self.direct, self.proxied] {
            let mut client = administrator(server).await;
            for sql in [LONG_AGO].into_iter().chain(OWN) {
                let mut sql = sql.replace("{db}", schema);
                if !self.mixes_engines {
                    sql = sql.replace("MyISAM", "InnoDB");
                }
                client.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            let _ = client.quit().await;
        }
        if self.caching.is_some() {
            cached::forget(self).await;
        }
    }

    /// Removes them.
    pub(crate) async fn remove(&self, schema: &str) {
        for server in [self.direct, self.proxied] {
            let mut client = administrator(server).await;
            for sql in &OWN[..2] {
                let sql = sql.replace("{db}", schema);
                client.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            let _ = client.quit().await;
        }
    }

    /// A tag that no statement has had: those that had slept under it may not be gone yet.
    pub(crate) fn unique(&self, tag: &str) -> String {
        format!("{tag}x{}", self.tags.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether a statement with this tag sleeps on both servers.
    pub(crate) async fn sleeping(&self, tag: &str) -> bool {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep' AND info LIKE '%{tag}%'"
        );
        for watcher in &self.watchers {
            let count = match watcher.lock().await.query(&sql).await {
                Ok(result) => result.first().unwrap_or_default(),
                // A statement of another client has a character that MySQL's list has no room for:
                // it is asked again.
                Err(error) if error.code() == Some(ER_CANNOT_CONVERT_STRING) => return false,
                Err(error) => panic!("{sql}: {error}"),
            };
            if count == "0" {
                return false;
            }
        }
        true
    }

    /// The numbers of connections that the proxy says it uses and keeps.
    pub(crate) async fn pool(&self) -> (usize, usize) {
        let mut admin = Client::connect(&Options::tcp(self.proxy.admin(), "admin", "admin")).await.unwrap();
        // In one statement: connections that are free now are used the next moment.
        let sql = "SELECT SUM(ConnUsed) || ' ' || SUM(ConnFree) FROM stats_mysql_connection_pool";
        let value = admin.query(sql).await.unwrap().first().unwrap();
        let (used, free) = value.split_once(' ').unwrap();
        (used.parse().unwrap(), free.parse().unwrap())
    }

    /// How many statements were sent together with those of other sessions, and how many of them
    /// once more.
    pub(crate) async fn sent_together(&self) -> [u64; 2] {
        let mut admin = Client::connect(&Options::tcp(self.proxy.admin(), "admin", "admin")).await.unwrap();
        let mut of = async |name: &str| {
            let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
            admin.query(&sql).await.unwrap().first().unwrap().parse().unwrap()
        };
        [of("Queries_sent_together").await, of("Queries_sent_once_more").await]
    }
}

/// A connection to a server itself, with all privileges.
async fn administrator(server: &Backend) -> Client {
    let options = Options::tcp(server.server.address(), USER, PASSWORD);
    Client::connect(&options).await.unwrap_or_else(|error| panic!("{error}"))
}
