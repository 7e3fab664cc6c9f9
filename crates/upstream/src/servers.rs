//! What the servers behind can do, as their greetings say it: the proxy's own greeting repeats it.
//!
//! A client must not be offered what its server lacks, and one behind the proxy shall miss nothing
//! that the server has. But the greeting goes out before it is known which server the client will
//! get: so it offers what all known servers have in common. They are asked once, at start or when
//! they are configured, by a connection that ends after the greeting, and every login to a server
//! brings the news.
//!
//! What else is learned of servers is learned here as well: who could log in ([`logins`]), and
//! [`collations`].

pub mod collations;
pub mod logins;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use collations::Listed;
use config::Endpoint;
use logins::Login;
use observe::rows::Collation;
use session::users::User;
use sql::Dialect;
use tokio::sync::watch;
use tokio::time::timeout;
use wire::auth::Secret;
use wire::{Capabilities, packet};

use crate::limits::PROBE_WAIT_MAX;

/// What the proxy offers to every client: logins, and what has no effect on what follows them.
const OWN: Capabilities = Capabilities::LONG_FLAG
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::ODBC)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::INTERACTIVE)
    .union(Capabilities::IGNORE_SIGPIPE)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::RESERVED)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC);

/// What every server has that the proxy can be in front of (MySQL 5.7.5, MariaDB 10.2). Offered
/// while no server is known.
const COMMON: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::EXPIRED_PASSWORDS)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF);

/// What is offered if all servers have it.
const MIRRORED: Capabilities = COMMON
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::QUERY_ATTRIBUTES)
    .union(Capabilities::MARIADB_PROGRESS)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MARIADB_BULK_UNIT_RESULTS);

/// MariaDB's own capabilities, which share bytes of the greeting with
/// [`Capabilities::LONG_PASSWORD`]: a server or a proxy shows either.
const EXTENDED: Capabilities = Capabilities::from_bits_retain(!(u32::MAX as u64));

/// The version that clients are told while no server is known: ProxySQL's.
const UNKNOWN_VERSION: &str = "8.0.11";

/// The collation of the greeting while no server is known: `utf8mb4_general_ci`. Clients choose
/// their own.
const UNKNOWN_COLLATION: u8 = 45;

/// What is known about the servers.
#[derive(Debug)]
pub struct Servers {
    state: RwLock<State>,
    /// Whether all have been asked, or given up on.
    asked: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    /// In the order of the configuration.
    order: Vec<Endpoint>,
    known: HashMap<Endpoint, Facts>,
    /// A user that could log in, where one has.
    logins: HashMap<Endpoint, Login>,
    /// The collations that were asked for last.
    listed: Option<Listed>,
}

/// What a server's greeting said.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    capabilities: Capabilities,
    version: Box<[u8]>,
    collation: u8,
}

/// What a greeting to a client says about the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What is offered, besides the proxy's own transports.
    pub capabilities: Capabilities,
    /// The version of the first server of the configuration that is known.
    pub version: Box<[u8]>,
    /// That server's default collation.
    pub collation: u8,
}

impl Servers {
    /// Nothing is known yet about these.
    pub(crate) fn new(order: Vec<Endpoint>) -> Self {
        let state = RwLock::new(State { order, known: HashMap::new(), logins: HashMap::new(), listed: None });
        Self { state, asked: watch::Sender::new(true) }
    }

    /// Takes note of what a server has greeted with. One that is configured no more is forgotten
    /// with the next change.
    pub fn learn(&self, endpoint: &Endpoint, greeting: &packet::Greeting<'_>) {
        let facts = Facts {
            capabilities: greeting.capabilities,
            version: greeting.server_version.into(),
            collation: greeting.collation,
        };
        if self.state().known.get(endpoint) == Some(&facts) {
            return;
        }
        self.state_mut().known.insert(endpoint.clone(), facts);
    }

    /// Takes note of the first who has logged in to a server.
    pub(crate) fn note_login(&self, endpoint: &Endpoint, user: &Arc<User>, secret: &Secret) {
        if !self.state().logins.contains_key(endpoint) {
            self.state_mut().logins.insert(endpoint.clone(), Login::new(user, secret));
        }
    }

    /// Who has logged in to a server.
    fn login(&self, endpoint: &Endpoint) -> Option<Login> {
        self.state().logins.get(endpoint).cloned()
    }

    /// Whether one of the servers is MariaDB, or may be.
    pub fn may_be_mariadb(&self) -> bool {
        let known = &self.state().known;
        let is_mysql = |facts: &Facts| Dialect::of(&facts.version).is_some_and(|all| !all.is_mariadb());
        known.is_empty() || !known.values().all(is_mysql)
    }

    /// What a server has listed, unless it is another version since.
    fn listed(&self, endpoint: &Endpoint) -> Option<Arc<[Collation]>> {
        let State { known, listed, .. } = &*self.state();
        let listed = listed.as_ref().filter(|listed| listed.endpoint == *endpoint)?;
        let facts = known.get(endpoint)?;
        (facts.version == listed.version).then(|| Arc::clone(&listed.collations))
    }

    /// Takes note of what a server has listed.
    fn note_listed(&self, endpoint: Endpoint, collations: Arc<[Collation]>) {
        let mut state = self.state_mut();
        let Some(version) = state.known.get(&endpoint).map(|facts| facts.version.clone()) else { return };
        state.listed = Some(Listed { endpoint, version, collations });
    }

    /// Whether all have been asked, or given up on: clients that come before that wait for it.
    pub fn set_asked(&self, asked: bool) {
        self.asked.send_replace(asked);
    }

    /// Makes these the servers, in this order, and forgets others. Returns those of which nothing
    /// is known.
    pub fn replace(&self, order: Vec<Endpoint>) -> Vec<Endpoint> {
        let mut state = self.state_mut();
        let configured: HashSet<&Endpoint> = order.iter().collect();
        state.known.retain(|endpoint, _| configured.contains(endpoint));
        state.logins.retain(|endpoint, _| configured.contains(endpoint));
        let new = order.iter().filter(|endpoint| !state.known.contains_key(endpoint)).cloned().collect();
        state.order = order;
        new
    }

    /// The servers, in the order of the configuration.
    pub fn order(&self) -> Vec<Endpoint> {
        self.state().order.clone()
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing in here is left half done by a panic.
    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to offer to a client that connects now. Waits a moment for servers that are being
    /// asked.
    pub async fn offer(&self) -> Offer {
        let mut asked = self.asked.subscribe();
        // Too late or not: it is what is known.
        let _ = timeout(PROBE_WAIT_MAX, asked.wait_for(|asked| *asked)).await;
        self.offer_now()
    }

    fn offer_now(&self) -> Offer {
        let State { order, known, .. } = &*self.state();
        let mut capabilities = known.values().fold(MIRRORED, |all, facts| all & facts.capabilities);
        if known.is_empty() {
            capabilities = COMMON;
        }
        if capabilities.contains(Capabilities::LONG_PASSWORD) {
            capabilities -= EXTENDED;
        } else if known.values().any(|facts| facts.capabilities.contains(Capabilities::LONG_PASSWORD)) {
            // Servers of both kinds: MySQL's bit, which costs clients of MariaDB nothing.
            capabilities = (capabilities - EXTENDED) | Capabilities::LONG_PASSWORD;
        }
        let first = order.iter().find_map(|endpoint| known.get(endpoint));
        Offer {
            capabilities: capabilities | OWN,
            version: first.map_or_else(|| UNKNOWN_VERSION.as_bytes().into(), |facts| facts.version.clone()),
            collation: first.map_or(UNKNOWN_COLLATION, |facts| facts.collation),
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::StatusFlags;

    use super::*;

    const MYSQL: Capabilities = COMMON.union(Capabilities::QUERY_ATTRIBUTES);
    const MARIADB: Capabilities =
        COMMON.difference(Capabilities::LONG_PASSWORD).union(Capabilities::MARIADB_STMT_BULK_OPERATIONS);

    fn endpoint(host: &str) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port: 3306 }
    }

    fn servers(greetings: &[(&str, Capabilities)]) -> Servers {
        let servers = Servers::new(vec![endpoint("a"), endpoint("b")]);
        for (host, capabilities) in greetings {
            let greeting = packet::Greeting {
                server_version: host.as_bytes(),
                connection_id: 1,
                nonce: [0; 20],
                capabilities: *capabilities,
                collation: 8,
                status: StatusFlags::AUTOCOMMIT,
                auth_plugin: b"",
            };
            servers.learn(&endpoint(host), &greeting);
        }
        servers
    }

    #[test]
    fn nothing_is_known_at_first() {
        let offer = servers(&[]).offer_now();
        assert_eq!(offer.capabilities, COMMON | OWN);
        assert_eq!((&*offer.version, offer.collation), (&b"8.0.11"[..], 45));
    }

    #[test]
    fn one_kind_of_server_is_mirrored() {
        assert_eq!(servers(&[("a", MYSQL)]).offer_now().capabilities, MYSQL | OWN);
        assert_eq!(servers(&[("a", MARIADB)]).offer_now().capabilities, MARIADB | OWN);
    }

    #[test]
    fn c32_of_several_servers_only_what_they_have_in_common_is_offered() {
        let offer = servers(&[("b", MARIADB), ("a", MYSQL)]).offer_now();
        assert_eq!(offer.capabilities, COMMON | OWN);
        assert_eq!((&*offer.version, offer.collation), (&b"a"[..], 8), "the first of the configuration");
    }

    #[test]
    fn c32_what_the_proxy_does_not_know_is_never_offered() {
        let offer = servers(&[("a", Capabilities::all())]).offer_now();
        let unknown = Capabilities::CAPABILITY_EXTENSION | Capabilities::MULTI_FACTOR_AUTH;
        assert!(!offer.capabilities.intersects(unknown | Capabilities::MARIADB_COM_MULTI));
    }

    #[test]
    fn servers_that_are_configured_no_more_are_forgotten() {
        let servers = servers(&[("a", MYSQL), ("b", MARIADB)]);
        assert_eq!(servers.replace(vec![endpoint("c"), endpoint("b")]), [endpoint("c")]);
        let offer = servers.offer_now();
        assert_eq!((offer.capabilities, &*offer.version), (MARIADB | OWN, &b"b"[..]));
        assert_eq!(servers.replace(vec![endpoint("a")]), [endpoint("a")]);
        assert_eq!(servers.offer_now().capabilities, COMMON | OWN);
    }

    #[test]
    fn servers_may_be_mariadb_unless_all_say_otherwise() {
        let of = |all: &[(&str, Capabilities)]| servers(all).may_be_mariadb();
        assert!(!of(&[("8.4.3", MYSQL), ("9.7.0-log", MYSQL)]));
        assert!(of(&[("9.7.0", MYSQL), ("10.11.6-MariaDB", MARIADB)]));
        assert!(of(&[]) && of(&[("proxy", MYSQL)]));
    }

    #[test]
    fn news_replace_what_was_known() {
        let servers = servers(&[("a", MYSQL), ("a", MARIADB)]);
        assert_eq!(servers.offer_now().capabilities, MARIADB | OWN);
    }
}
