//! One user: what its row says, what was learned about its password, and how many clients and
//! connections it has.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use bitflags::bitflags;
use config::{CausalReads, Isolation, SpiffeId};
use pool::{Quota, Share};
use wire::auth::{Credential, Secret};

use crate::limit::Limit;
use crate::limits::{VOUCHED_FOR, VOUCHED_SCHEMAS_MAX};

/// One row of `mysql_users`, and what was learned about its password.
#[derive(Debug)]
pub struct User {
    /// Its name.
    pub name: Arc<[u8]>,
    /// What a proof is checked with.
    pub credential: Credential,
    /// A second password that is as good.
    pub additional: Option<Credential>,
    /// Where statements go that no rule sends elsewhere.
    pub default_hostgroup: u32,
    options: Options,
    /// The isolation level that its sessions begin with; nothing: the server's.
    pub isolation: Option<Isolation>,
    /// Whose writes its reads must see; nothing: what the variable says.
    pub causal_reads: Option<CausalReads>,
    /// The schema of logins that name none.
    pub default_schema: Option<Vec<u8>>,
    /// How many clients may be logged in as this user.
    pub max_connections: u32,
    /// How many statements it may run.
    pub limit: Option<Limit>,
    /// How many connections to servers it may have; `u32::MAX`: any number.
    max_backends: u32,
    /// Whose certificate clients must show.
    pub spiffe_id: Option<SpiffeId>,
    kind: UserKind,
    connections: Arc<Quota>,
    /// Its connections to servers, from the first one on.
    backends: OnceLock<Arc<Quota>>,
    /// What a full exchange has shown: from then on a proof is enough.
    learned: Mutex<Option<Learned>>,
    /// Schemas (`None`: none at all) that a server has let this user into, and when.
    pub accepted: Mutex<HashMap<Option<Box<[u8]>>, Instant>>,
    /// Whether a server has asked for more than the hash in the table. A decoy shares this with the
    /// user whose kind it has, so that the messages of a login do not tell them apart.
    pub wants_password: Arc<AtomicBool>,
}

bitflags! {
    /// Columns of a user's row that say yes or no.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Options: u8 {
        /// Rules do not lead out of a transaction.
        const TRANSACTION_PERSISTENT = 1;
        /// Hints in the comments of statements count.
        const HINTS = 1 << 1;
        /// The bytes of its sessions are copied without a look.
        const FAST_FORWARD = 1 << 2;
        /// The proxy may log in to servers as this user: its row, or another one of the same name,
        /// says so.
        const FOR_SERVERS = 1 << 3;
        /// Clients must use TLS.
        const USE_SSL = 1 << 4;
    }
}

impl Options {
    fn of(row: &config::User, for_servers: bool) -> Self {
        [
            (row.transaction_persistent, Self::TRANSACTION_PERSISTENT),
            (row.attributes.hints, Self::HINTS),
            (row.fast_forward, Self::FAST_FORWARD),
            (for_servers, Self::FOR_SERVERS),
            (row.use_ssl, Self::USE_SSL),
        ]
        .into_iter()
        .filter_map(|(is_so, option)| is_so.then_some(option))
        .collect()
    }
}

/// Where a user comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UserKind {
    /// A row.
    Configured,
    /// No such user exists.
    Decoy,
    /// The monitor's account.
    Monitor,
}

/// What a user with a hash once proved with the password itself. Kept in memory only.
#[derive(Debug, Clone)]
struct Learned {
    /// SHA256(SHA256(password)), to check fast exchanges with.
    digest: [u8; 32],
    /// What servers want to see; a fast exchange shows less.
    secret: Secret,
}

impl User {
    /// What the row says about where statements go.
    pub const fn route_account(&self) -> route::Account {
        route::Account {
            default_hostgroup: self.default_hostgroup,
            transaction_persistent: self.has(Options::TRANSACTION_PERSISTENT),
            listener: None,
            is_shard: false,
        }
    }

    /// A user of the proxy's own, whom no client can log in as.
    pub fn of_monitor(name: &str, password: &str) -> Arc<Self> {
        let credential = Credential::clear(password.as_bytes());
        let user = Self::new(name.as_bytes().into(), credential, true, &config::User::default());
        Arc::new(Self { kind: UserKind::Monitor, ..user })
    }

    /// A user whose row says this, with nothing learned.
    pub fn new(name: Arc<[u8]>, credential: Credential, for_servers: bool, row: &config::User) -> Self {
        Self {
            name,
            credential,
            default_hostgroup: row.default_hostgroup,
            options: Options::of(row, for_servers),
            isolation: row.attributes.isolation,
            causal_reads: row.attributes.causal_reads,
            default_schema: row.default_schema.clone().map(String::into_bytes),
            max_connections: row.max_connections,
            limit: None,
            max_backends: max_backends(row),
            spiffe_id: row.attributes.spiffe_id.clone(),
            additional: None,
            kind: UserKind::Configured,
            connections: Quota::new(row.max_connections),
            backends: OnceLock::new(),
            learned: Mutex::new(None),
            accepted: Mutex::default(),
            wants_password: Arc::default(),
        }
    }

    /// One that does not exist.
    pub(super) fn decoy(credential: Credential, wants_password: Arc<AtomicBool>) -> Self {
        Self {
            max_connections: 0,
            max_backends: 0,
            kind: UserKind::Decoy,
            connections: Arc::default(),
            wants_password,
            ..Self::new(Arc::default(), credential, false, &config::User::default())
        }
    }

    /// Whether its row has this option.
    pub const fn has(&self, option: Options) -> bool {
        self.options.contains(option)
    }

    /// Whether it is the monitor's account.
    pub fn is_of_monitor(&self) -> bool {
        self.kind == UserKind::Monitor
    }

    /// This user, with what is known of it from `before`, when it was configured otherwise;
    /// `before` itself if it was not.
    pub fn after(mut self, before: &Arc<Self>) -> Arc<Self> {
        let same_password = self.credential == before.credential && self.additional == before.additional;
        let same = same_password
            && self.route_account() == before.route_account()
            && self.options == before.options
            && self.isolation == before.isolation
            && self.causal_reads == before.causal_reads
            && self.default_schema == before.default_schema
            && self.max_connections == before.max_connections
            && self.limit.as_ref().map(Limit::rates) == before.limit.as_ref().map(Limit::rates)
            && self.max_backends == before.max_backends
            && self.spiffe_id == before.spiffe_id;
        if same {
            return Arc::clone(before);
        }
        self.connections = Arc::clone(&before.connections);
        self.backends = OnceLock::from(Arc::clone(before.backends()));
        if same_password {
            self.learned = Mutex::new(before.learned().clone());
            self.wants_password = Arc::clone(&before.wants_password);
        }
        Arc::new(self)
    }

    /// Has it have as many clients, connections to servers and statements as its row says.
    pub fn enforce(&self) {
        self.limit.iter().for_each(Limit::enforce);
        self.connections.allow(self.max_connections);
        if let Some(backends) = self.backends.get() {
            backends.allow(self.max_backends);
        }
    }

    /// Whether sessions of both have their places among the same ones: they are one user, maybe
    /// configured anew.
    pub(crate) fn shares_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.connections, &other.connections)
    }

    /// Clients that are logged in as this user.
    pub fn connections(&self) -> u32 {
        self.connections.taken()
    }

    /// Whether no such user exists.
    pub fn is_decoy(&self) -> bool {
        self.kind == UserKind::Decoy
    }

    /// Counts one more session of this user, unless it has all that it may have.
    pub fn admit(&self) -> Option<Share> {
        self.connections.take()
    }

    /// What counts the sessions of this user.
    pub const fn places(&self) -> &Arc<Quota> {
        &self.connections
    }

    /// What counts the connections to servers as this user.
    pub fn backends(&self) -> &Arc<Quota> {
        self.backends.get_or_init(|| Quota::new(self.max_backends))
    }

    /// Names the user to the pool: servers have limits for each account.
    pub fn account(&self) -> usize {
        Arc::as_ptr(self.backends()).addr()
    }

    /// SHA256(SHA256(password)) as learned from a full exchange.
    pub fn sha2_digest(&self) -> Option<[u8; 32]> {
        self.learned().as_ref().map(|learned| learned.digest)
    }

    /// What the session can log in to servers with, after a login that showed `shown`; `digest` is
    /// what it taught, if it was a full exchange.
    pub fn learn(&self, shown: Secret, digest: Option<[u8; 32]>) -> Secret {
        let mut learned = self.learned();
        if let Some(digest) = digest {
            *learned = Some(Learned { digest, secret: shown.clone() });
        }
        better(shown, learned.as_ref())
    }

    /// The same for a session that has logged in with `secret`: others may have shown more since.
    pub fn secret_for_servers(&self, secret: &Secret) -> Secret {
        better(secret.clone(), self.learned().as_ref())
    }

    /// Whether clients are to show the password itself.
    pub fn wants_password(&self) -> bool {
        self.wants_password.load(Ordering::Relaxed)
    }

    /// A server has asked for what cannot be made of the hash in the table: from now on clients are
    /// asked for the password, until one has shown it.
    pub fn want_password(&self) {
        self.wants_password.store(true, Ordering::Relaxed);
    }

    /// A server has refused `secret`. If it was learned, clients have to show the password again:
    /// it may have changed.
    pub fn forget(&self, secret: &Secret) {
        let mut learned = self.learned();
        if learned.as_ref().is_some_and(|learned| learned.secret == *secret) {
            *learned = None;
        }
    }

    /// Whether a server has let this user into `schema` a short time before `now`.
    pub fn is_vouched_for(&self, schema: Option<&[u8]>, now: Instant) -> bool {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let since = accepted.get(&schema.map(Box::from));
        since.is_some_and(|&since| now.saturating_duration_since(since) < VOUCHED_FOR)
    }

    /// A server has let this user into `schema` at `now`.
    pub fn vouch_for(&self, schema: Option<&[u8]>, now: Instant) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if accepted.len() >= VOUCHED_SCHEMAS_MAX {
            accepted.clear();
        }
        accepted.insert(schema.map(Box::from), now);
    }

    /// A server does not let this user into `schema` any more: the next login is asked about.
    pub fn doubt(&self, schema: Option<&[u8]>) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.remove(&schema.map(Box::from));
    }

    fn learned(&self) -> MutexGuard<'_, Option<Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was learned, where a login with the same password has shown less.
fn better(shown: Secret, learned: Option<&Learned>) -> Secret {
    match (shown, learned) {
        (shown @ (Secret::CachingSha2Stage1(_) | Secret::NativeStage1(_)), Some(learned))
            if shown.is_of(&learned.secret) =>
        {
            learned.secret.clone()
        }
        (shown, _) => shown,
    }
}

/// How many connections to servers the user may have.
fn max_backends(row: &config::User) -> u32 {
    row.attributes.max_backend_connections.map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX))
}
