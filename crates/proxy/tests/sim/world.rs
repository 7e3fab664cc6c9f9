//! What a seed decides before anything happens, and what all in it share.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use config::{
    CausalReads, CheckLogins, Config, QueryRule, ReplicationHostgroups, Server, ServerStatus, User,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::dice::Dice;
use super::faults::Faults;
use super::freshness::Acknowledged;
use super::model::Database;
use super::scopes::Scopes;
use super::sharding::{HOSTGROUPS, number_of};
use super::tape::{Tapes, Transcript};

/// Events that a failure shows.
const EVENTS: usize = 400;

/// Connections that a server takes, one of them.
const CONNECTIONS: [u32; 5] = [1, 1, 2, 3, 8];

/// The same where each session gets those that it asks for.
const ROOM: u32 = 64;

/// A connection of a server, as those see it who kill.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Its statement, the next one if it has none, is to be interrupted.
    pub(super) query_is_killed: Cell<bool>,
    pub(super) is_killed: Cell<bool>,
    pub(super) woken: Notify,
    is_at_writer: bool,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) dice: Dice,
    pub(super) faults: Faults,
    pub(super) scopes: Scopes,
    pub(super) clients: u64,
    pub(super) steps: u64,
    /// Bytes that a client's connection holds per direction.
    pub(super) capacity: usize,
    /// The same of a server's connection: enough for what the proxy says before a command.
    pub(super) server_capacity: usize,
    pub(super) is_split: bool,
    max_connections: Cell<u32>,
    /// The configuration is another one once in so many steps; 0 is never.
    pub(super) reloads: u64,
    /// The reader gets no new connections.
    reader_is_off: Cell<bool>,
    /// The worker lets no clients in any more, and sends those away that it has.
    pub(super) is_draining: Cell<bool>,
    /// The writer is not reached before then.
    outage: Cell<Option<Instant>>,
    pub(super) database: RefCell<Database>,
    /// What each shard has.
    pub(super) shards: [RefCell<Database>; 2],
    pub(super) acknowledged: Acknowledged,
    pub(super) threads: RefCell<BTreeMap<u32, Rc<Thread>>>,
    threads_last: Cell<u32>,
    /// The proxy's connection ids of clients that are there.
    pub(super) ids: RefCell<HashMap<u64, u32>>,
    /// Clients at whom a KILL was aimed since their last login.
    pub(super) aimed_at: RefCell<BTreeSet<u64>>,
    /// What passed at clients and at servers.
    pub(super) at_clients: Tapes,
    pub(super) at_servers: Tapes,
    /// Counters of the proxy at the end.
    pub(super) reached: RefCell<BTreeMap<&'static str, u64>>,
    start: OnceCell<Instant>,
    events: RefCell<VecDeque<String>>,
    failure: RefCell<Option<String>>,
}

impl World {
    /// The world of this seed.
    pub(super) fn new(seed: u64) -> Rc<Self> {
        let dice = Dice::new(seed);
        let faults = Faults::roll(seed, &dice);
        Self::with(seed, dice, faults)
    }

    /// The world of this seed with these faults.
    pub(super) fn with(seed: u64, dice: Dice, faults: Faults) -> Rc<Self> {
        let scopes = Scopes::roll(seed, &dice);
        let clients = if scopes.is_crowded { 8 } else { 2 };
        Rc::new(Self {
            seed,
            faults,
            clients: clients + dice.below(5),
            steps: 20 + dice.below(60),
            capacity: *dice.pick(&[48, 1024, 16 * 1024]),
            server_capacity: *dice.pick(&[1024, 16 * 1024]),
            is_split: scopes.causal.is_some() || dice.one_in(3),
            max_connections: Cell::new(if scopes.is_crowded { 2 } else { *dice.pick(&CONNECTIONS) }),
            reloads: *dice.pick(&[0, 0, 30]),
            reader_is_off: Cell::new(false),
            scopes,
            dice,
            is_draining: Cell::new(false),
            outage: Cell::new(None),
            database: RefCell::default(),
            shards: Default::default(),
            acknowledged: Acknowledged::default(),
            threads: RefCell::default(),
            threads_last: Cell::new(100),
            ids: RefCell::default(),
            aimed_at: RefCell::default(),
            at_clients: Tapes::default(),
            at_servers: Tapes::default(),
            reached: RefCell::default(),
            start: OnceCell::new(),
            events: RefCell::default(),
            failure: RefCell::default(),
        })
    }

    /// The proxy's configuration.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default();
        let max_connections = if self.is_roomy() { ROOM } else { self.max_connections.get() };
        let server = |hostgroup_id, hostname: &str| Server {
            hostgroup_id,
            hostname: hostname.to_owned(),
            max_connections,
            ..Server::default()
        };
        config.servers.push(server(0, "writer"));
        if self.is_split {
            let is_off = self.reader_is_off.get();
            let status = if is_off { ServerStatus::OfflineSoft } else { ServerStatus::Online };
            config.servers.push(Server { status, ..server(1, "reader") });
            config.replication_hostgroups.push(ReplicationHostgroups {
                writer_hostgroup: 0,
                reader_hostgroup: 1,
                ..ReplicationHostgroups::default()
            });
            config.variables.read_write_split = true;
        }
        let app = User { username: "app".to_owned(), password: "secret".to_owned(), ..User::default() };
        config.users.push(app);
        config.pointsman.check_logins = CheckLogins::Never;
        config.monitor.enabled = false;
        if let Some(cached) = &self.scopes.cached {
            let rule = QueryRule {
                rule_id: 1,
                active: true,
                match_digest: Some("^SELECT id FROM t ".to_owned()),
                cache_ttl: Some(cached.ttl),
                attributes: cached.attributes.to_owned(),
                ..QueryRule::default()
            };
            config.query_rules = vec![rule].into();
        }
        if let Some(causal) = &self.scopes.causal {
            config.pointsman.causal_reads = CausalReads::User;
            config.pointsman.causal_wait = causal.wait;
        }
        if let Some(shards) = &self.scopes.shards {
            shards.configure(&mut config, max_connections);
        }
        config.variables.max_stmts_per_connection = self.scopes.statements_left;
        config.pointsman.statements_together = self.scopes.statements_together;
        config
    }

    /// A schema to enter. The table is the same in all of them, which a cache must not see.
    pub(super) fn some_schema(&self) -> String {
        let number = self.dice.below(3);
        self.scopes.schema().unwrap_or_else(|| format!("s{number}"))
    }

    /// Whose rows client `me` reads: its own ones, or where reads are cached those of another.
    pub(super) fn whose_rows(&self, me: u64) -> u64 {
        if self.scopes.cached.is_some() && self.dice.one_in(2) { self.dice.below(2) } else { me }
    }

    /// Whether there are shards, and whatever comes gets connections and answers.
    pub(super) fn is_roomy(&self) -> bool {
        self.scopes.shards.is_some() && !self.faults.explain_errors() && self.seed.is_multiple_of(4)
    }

    /// Whether a session may wait in vain for a connection.
    pub(super) fn may_be_full(&self) -> bool {
        if self.is_roomy() { self.is_split && self.reloads > 0 } else { self.lacks_room() }
    }

    const fn lacks_room(&self) -> bool {
        self.is_split || self.reloads > 0 || self.faults.slow > 0 || self.scopes.shards.is_some()
    }

    /// Another configuration: servers take other numbers of connections, or the reader no new ones.
    pub(super) fn other_config(&self) -> Config {
        if self.dice.one_in(2) {
            self.max_connections.set(*self.dice.pick(&CONNECTIONS));
        } else {
            self.reader_is_off.set(!self.reader_is_off.get());
        }
        self.config()
    }

    /// What a server has.
    pub(super) fn database_at(&self, server: &str) -> &RefCell<Database> {
        number_of(server).map_or(&self.database, |shard| &self.shards[shard])
    }

    /// Hostgroups that may have connections.
    pub(super) fn hostgroups(&self) -> Vec<u32> {
        let shards: &[u32] = if self.scopes.shards.is_some() { &HOSTGROUPS } else { &[] };
        [&[0, 1], shards].concat()
    }

    /// Whether what happens once in `n` times happens now.
    pub(super) fn happens(&self, n: u64) -> bool {
        n > 0 && self.dice.one_in(n)
    }

    /// The writer loses its connections, half of the time, and is not reached for so long.
    pub(super) fn cut_writer_off(&self, time: Duration) {
        self.outage.set(Some(Instant::now() + time));
        if self.dice.one_in(2) {
            let threads = self.threads.borrow();
            for thread in threads.values().filter(|thread| thread.is_at_writer) {
                thread.is_killed.set(true);
                thread.woken.notify_one();
            }
        }
    }

    /// Whether a server can be reached now.
    pub(super) fn reaches(&self, server: &str) -> bool {
        let is_out =
            server.starts_with("writer") && self.outage.get().is_some_and(|end| Instant::now() < end);
        !is_out && !self.happens(self.faults.unreachable)
    }

    /// Another thread of this server.
    pub(super) fn thread(&self, server: &str) -> (u32, Rc<Thread>) {
        let id = self.threads_last.get() + 1;
        self.threads_last.set(id);
        let is_at_writer = server.starts_with("writer");
        let thread = Rc::new(Thread { is_at_writer, ..Thread::default() });
        self.threads.borrow_mut().insert(id, Rc::clone(&thread));
        (id, thread)
    }

    /// Takes note of what happened, to show with a failure.
    pub(super) fn note(&self, event: String) {
        if std::env::var_os("POINTSMAN_SIM_EVENTS").is_some() {
            println!("{:?} {event}", self.start.get_or_init(Instant::now).elapsed());
        }
        let mut events = self.events.borrow_mut();
        if events.len() == EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// All that has passed.
    pub(super) fn transcript(&self) -> Transcript {
        Transcript { clients: self.at_clients.hash(), servers: self.at_servers.hash() }
    }

    /// Something is wrong; the first such thing counts.
    pub(super) fn fail(&self, what: String) {
        self.failure.borrow_mut().get_or_insert(what);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// What was wrong, with what happened before.
    pub(super) fn failure(&self) -> Option<String> {
        let failure = self.failure.borrow();
        let events: Vec<String> = self.events.borrow().iter().cloned().collect();
        failure.as_ref().map(|what| format!("{}\nseed {}: {what}", events.join("\n"), self.seed))
    }
}
