//! What all workers share: the configuration, the pool, and a few counts that change when a client
//! comes or goes, never per query.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cache::Cache;
use config::{Config, Endpoint, Protocol};
use observe::plane::NotApplied;
use pool::Pool;
use route::{CacheDefaults, RuleError};

use crate::causal::Causal;
use crate::counts::report::{self, Globals, Report, StatementSums};
use crate::ddl::Ddl;
use crate::directory::Directory;
use crate::findings::Findings;
use crate::gates::Gates;
use crate::keys::Keys;
use crate::logs::LogWriters;
use crate::names::{Keeping, Names};
use crate::relations::Definitions;
use crate::routing::routes::{Routes, problem};
use crate::sequences::Sequences;
use crate::siblings::Siblings;
use crate::snapshot::Snapshot;
use crate::tls::{Tls, TlsChange};
use watch::Watching;

/// Bytes that the query cache may take.
fn cache_bytes(config: &Config) -> usize {
    usize::try_from(u64::from(config.variables.query_cache_size_mb) << 20).unwrap_or(usize::MAX)
}

/// A part of the secret by which the cache's keys are hashed.
fn secret(part: u64) -> u64 {
    RandomState::new().hash_one(part)
}

/// Whether rules, users or hostgroups have answers cached. Hints may besides.
fn caches(config: &Config) -> bool {
    let has_rule = |rule: &config::QueryRule| rule.cache_ttl.is_some() || rule.attributes.contains("cache");
    config.query_rules.iter().any(has_rule) || CacheDefaults::new(config).has_defaults()
}

/// Whether there are users or listeners whose commands are not looked at.
fn bypasses(config: &Config) -> bool {
    let is_unread = |listener: &config::Listener| listener.protocol() == Protocol::Tcp;
    config.users.iter().any(|user| user.active && user.fast_forward) || config.listeners.iter().any(is_unread)
}

/// The bit of a hostgroup among those whose logs are followed.
const fn followed_bit(hostgroup: u32) -> u64 {
    1 << (hostgroup % u64::BITS)
}

/// Shared by all threads of one proxy.
#[derive(Debug)]
pub struct Shared {
    /// The servers, and the ways to them.
    pub upstream: Arc<upstream::Shared>,
    /// Clients without sessions.
    pub front: Arc<front::Shared>,
    /// For who is not a worker: workers have their own.
    snapshot: RwLock<Arc<Snapshot>>,
    /// What the monitor has found.
    pub watching: Arc<Watching>,
    /// Sessions by their numbers.
    pub directory: Directory,
    /// Workers as other workers reach them.
    pub siblings: Arc<Siblings>,
    /// The files of logs.
    pub logs: Arc<LogWriters>,
    /// How often the servers were configured.
    servers_version: AtomicU64,
    /// What sessions have defined that may be behind the name of a table.
    pub definitions: Arc<Definitions>,
    /// Hostgroups of which a proxy in front follows the binary log through this one: the bits of
    /// their numbers modulo 64.
    followed: AtomicU64,
    /// How all workers hash what their sessions prepare.
    pub statement_hash: RandomState,
    /// Answers that are given again.
    pub cache: Arc<Cache>,
    /// Gates of sharded tables.
    pub gates: Gates,
    /// How often a sharded table was defined anew through the proxy.
    pub definitions_of_shards: AtomicU64,
    /// Definitions of sharded tables that have not come to their ends.
    pub ddl: Arc<Ddl>,
    /// What is wrong with sharded tables.
    pub findings: Findings,
    /// Ids for rows of sharded tables.
    pub sequences: Sequences,
    /// What reads must see, and which readers have it.
    pub causal: Causal,
}

/// A configuration of which everything that can fail is done.
#[derive(Debug)]
pub struct Prepared {
    snapshot: Arc<Snapshot>,
    tls: Option<TlsChange>,
}

impl Prepared {
    /// What it says about where statements go.
    pub fn routes(&self) -> &Arc<Routes> {
        &self.snapshot.routes
    }
}

impl Shared {
    /// Fails with the rules that cannot be used.
    pub fn new(config: &Arc<Config>, keys: Keys, tls: Tls) -> Result<Self, Vec<RuleError>> {
        let snapshot = Snapshot::new(config, None)?;
        let (pool, watching, siblings) = (Pool::default(), Arc::<Watching>::default(), Arc::default());
        watching.place(&pool, &snapshot.upstream);
        let upstream = upstream::Shared::new(
            Arc::clone(&snapshot.upstream),
            pool,
            (tls, Names::of_system(keys.control())),
            Arc::clone(&watching) as Arc<_>,
            Arc::clone(&siblings) as Arc<_>,
        );
        let (upstream, logs) = (Arc::new(upstream), Arc::new(LogWriters::new(&snapshot.logs)));
        let cache = Cache::new([0, 1].map(secret), cache_bytes(config));
        if caches(config) {
            cache.watch_writes();
        }
        if bypasses(config) {
            cache.set_bypassed();
        }
        Ok(Self {
            gates: Gates::default(),
            definitions_of_shards: AtomicU64::new(0),
            sequences: Sequences::default(),
            findings: Findings::default(),
            ddl: Arc::new(Ddl::open(&config.datadir)),
            causal: Causal::default(),
            front: Arc::new(front::Shared::new(Arc::clone(&upstream), keys, Arc::clone(&logs))),
            upstream,
            watching,
            directory: Directory::default(),
            siblings,
            logs,
            snapshot: RwLock::new(Arc::new(snapshot)),
            servers_version: AtomicU64::new(1),
            definitions: Arc::default(),
            followed: AtomicU64::new(0),
            statement_hash: RandomState::new(),
            cache: Arc::new(cache),
        })
    }

    /// For [`names::keep_fresh`](crate::names::keep_fresh): the names and how they are kept, as
    /// long as there is a proxy.
    pub fn names_to_keep(self: &Arc<Self>) -> impl Fn() -> Option<(Arc<Names>, Keeping)> + use<> {
        let shared = Arc::downgrade(self);
        move || {
            let shared = shared.upgrade()?;
            Some((Arc::clone(&shared.upstream.names), Keeping::new(shared.snapshot().upstream.monitor())))
        }
    }

    /// The configuration that holds now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes what `config` needs. Nothing is changed by it.
    pub fn prepare(&self, config: &Arc<Config>) -> Result<Prepared, NotApplied> {
        let tls = self.upstream.tls.prepare(config);
        let tls = tls.map_err(|error| NotApplied::Because(error.to_string()))?;
        let rows = |errors: Vec<RuleError>| NotApplied::Rows(errors.iter().map(problem).collect());
        let snapshot = Snapshot::new(config, Some(&self.snapshot())).map_err(rows)?;
        Ok(Prepared { snapshot: Arc::new(snapshot), tls })
    }

    /// Makes a configuration hold, here and for clients and connections that come; workers are to
    /// be sent it. Returns it, and the servers of which nothing is known yet.
    pub fn commit(&self, prepared: Prepared) -> (Arc<Snapshot>, Vec<Endpoint>) {
        let Prepared { snapshot, tls } = prepared;
        if let Some(tls) = tls {
            self.upstream.tls.change(tls);
        }
        self.cache.set_budget(cache_bytes(snapshot.config()));
        self.cache.adviser.switch(snapshot.config().pointsman.cache_advise == 1);
        // Not while the monitor changes the pool by what held before.
        let alone = self.watching.alone();
        let before = self.snapshot();
        let (servers, old) = (&snapshot.upstream, &before.upstream);
        let same = servers.has_servers_of(old);
        if !same || !servers.places_like(old) {
            self.watching.place(&self.upstream.pool, servers);
        }
        let new = if same {
            Vec::new()
        } else {
            self.servers_version.fetch_add(1, Ordering::Relaxed);
            self.upstream.servers.replace(servers.endpoints())
        };
        if caches(snapshot.config()) {
            self.cache.watch_writes();
        }
        if bypasses(snapshot.config()) {
            self.cache.set_bypassed();
        }
        // Before workers log what it wants.
        self.logs.configure(&snapshot.logs);
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&snapshot);
        self.upstream.configure(Arc::clone(&snapshot.upstream));
        self.front.clients.allow(snapshot.variables.max_connections);
        drop(alone);
        if !Arc::ptr_eq(&servers.users, &old.users) {
            servers.users.enforce(&old.users);
        }
        snapshot.limits.enforce(&before.limits);
        self.watching.tell();
        (snapshot, new)
    }

    /// Whether clients are told that they talk to MariaDB.
    pub async fn says_mariadb(&self) -> bool {
        self.server_version().await.windows(7).any(|part| part == b"MariaDB")
    }

    /// The version that clients are told.
    pub async fn server_version(&self) -> Vec<u8> {
        match self.snapshot().variables.server_version.as_bytes() {
            [] => self.upstream.servers.offer().await.version.to_vec(),
            configured => configured.to_vec(),
        }
    }

    /// A proxy in front follows the binary log of this hostgroup through this one.
    pub fn note_followed(&self, hostgroup: u32) {
        self.followed.fetch_or(followed_bit(hostgroup), Ordering::Relaxed);
    }

    /// Whether a proxy in front has done so, be it of a hostgroup with the same bit: that one's
    /// sessions of proxies in front leave servers that are taken away, and no more.
    pub fn is_followed(&self, hostgroup: u32) -> bool {
        self.followed.load(Ordering::Relaxed) & followed_bit(hostgroup) != 0
    }

    /// Time since the start.
    pub fn uptime(&self) -> Duration {
        self.upstream.uptime()
    }

    /// The rows of `stats_mysql_global`, with what these workers have counted, and of what their
    /// sessions have prepared.
    pub fn globals(
        &self,
        workers: &[Report],
        statements: StatementSums,
        listeners_closed: bool,
    ) -> Vec<(&'static str, u64)> {
        let globals = Globals {
            uptime_s: self.uptime().as_secs(),
            clients: self.front.clients.taken().into(),
            clients_refused: self.front.refused(),
            hosts_refused: self.front.hosts.refused(),
            servers: self.upstream.pool.servers().iter().map(|server| u64::from(server.open())).sum(),
            servers_version: self.servers_version.load(Ordering::Relaxed),
            workers: workers.len() as u64,
            paused: listeners_closed,
            logs: self.logs.statements.counts(),
            audit: self.logs.audit.counts(),
            spans: self.logs.spans.counts(),
            monitor: self.watching.records.counts(),
            monitors: self.watching.is_running().into(),
            names: self.upstream.names.counts(),
            statements,
            cache: self.cache.usage(),
        };
        report::globals(workers, &globals)
    }

    /// An id for a client, as told in the greeting.
    pub fn connection_id(&self) -> u32 {
        self.upstream.connection_id()
    }
}
