//! Where the monitor meets the rest of the proxy: which servers are in which hostgroups, and
//! whether they are used there.
//!
//! What operators want is in the configuration, what servers say of themselves in here; the pool
//! gets what follows from both, and neither is ever written into the other.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use config::{Endpoint, Server, ServerStatus};
use monitor::{Change, Check, Event, Health, Member, Monitor, Role, place};
use net::clock::unix_us;
use net::lock;
use observe::rows::MemberStats;
use pool::{Mark, Off, Policy, Pool, ServerSpec, Status};
use tokio::sync::watch;
use upstream::{Configuration, Doubts, Shared, Target, limit};

use crate::awaited::awaited;
use crate::discovered;
use crate::executed::Executed;
use crate::lags::Lags;
use crate::plan::{plan, row};
use crate::records::Records;

/// What the monitor is told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    /// How often there was news.
    count: u64,
    /// Nothing is to be watched any more.
    pub(crate) is_over: bool,
}

/// What the monitor has found, and what it is to know.
#[derive(Debug, Default)]
pub struct Watching {
    /// What checks have found, for the admin port.
    pub records: Records,
    /// Transactions that servers have executed.
    pub executed: Executed,
    /// How far servers of Aurora are behind.
    pub lags: Lags,
    found: Mutex<Found>,
    /// Held while the pool gets other servers.
    alone: Mutex<()>,
    pub(crate) news: watch::Sender<News>,
    /// Servers of which a session believes that they do not answer.
    pub(crate) suspects: Mutex<HashSet<Endpoint>>,
    /// Servers of which a session believes that they are read-only.
    pub(crate) doubts: Mutex<HashSet<Endpoint>>,
}

/// What servers have said of themselves.
#[derive(Debug, Default)]
struct Found {
    /// Whether the monitor asks them.
    is_running: bool,
    read_only: HashMap<Endpoint, bool>,
    /// What they are good for in clusters, by the writer hostgroups of those.
    roles: HashMap<(u32, Endpoint), Role>,
    /// Servers that only others of their clusters or pairs name, with the writer hostgroups of
    /// those.
    discovered: Vec<(u32, Endpoint)>,
}

impl Watching {
    /// Keeps other threads from giving the pool other servers.
    pub fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.alone)
    }

    /// Gives the pool the servers of a configuration, each where it belongs. The caller is
    /// [`alone`](Self::alone).
    pub fn place(&self, pool: &Pool<Target>, configuration: &Configuration) {
        let (discovered, members) = self.placed(configuration);
        let is_running = lock(&self.found).is_running;
        let awaited =
            if is_running { awaited(configuration.config(), &discovered) } else { HashSet::default() };
        let policy = |id: u32| Policy { awaited: awaited.contains(&id), ..configuration.policy(id) };
        pool.replace_all(specs(configuration, &discovered, &members), awaited.iter().copied(), policy);
    }

    /// The members of all hostgroups, and the rows of servers that were discovered, which come
    /// behind those of `mysql_servers`.
    fn placed(&self, configuration: &Configuration) -> (Vec<Server>, Vec<Member>) {
        let found = lock(&self.found);
        let mut plan = plan(configuration.config());
        if !configuration.monitor().enabled {
            // No check will ever tell more than the rows say.
            plan.clusters.clear();
        }
        let discovered = discovered::rows(configuration.config(), &found.discovered);
        let mut rows = std::mem::take(&mut plan.rows);
        rows.extend(discovered.iter().map(|server| row(server, configuration.config())));
        let read_only = |server: &Endpoint| found.read_only.get(server).copied().filter(|_| found.is_running);
        let role = |writer: u32, server: &Endpoint| {
            found.roles.get(&(writer, server.clone())).copied().unwrap_or_default()
        };
        let members = place(&rows, &plan, read_only, role);
        (discovered, members)
    }

    /// The servers that are in use in each hostgroup.
    pub fn members(&self, shared: &Shared) -> Vec<MemberStats> {
        let (configuration, servers) = (&*shared.configuration(), shared.pool.servers());
        let servers = servers.iter().filter(|server| server.is_configured());
        let status: HashMap<(u32, &Endpoint), &'static str> = servers
            .map(|server| ((server.hostgroup(), &server.endpoint().endpoint), server.status().as_str()))
            .collect();
        let (discovered, members) = self.placed(configuration);
        let row = |member: Member| {
            let server = configuration.server(&discovered, member.row)?;
            let status = status.get(&(member.hostgroup, &server.endpoint())).copied();
            Some(MemberStats {
                hostgroup: member.hostgroup,
                configured_in: server.hostgroup_id,
                host: server.hostname.clone(),
                port: server.port,
                status: status?,
                discovered: (member.row >= configuration.config().servers.len()).then(|| server.clone()),
            })
        };
        members.into_iter().filter_map(row).collect()
    }

    /// Whether the monitor runs.
    pub fn is_running(&self) -> bool {
        lock(&self.found).is_running
    }

    /// There is another configuration.
    pub fn tell(&self) {
        self.news.send_modify(|news| news.count += 1);
    }

    /// Nothing is to be watched any more.
    pub fn stop(&self) {
        self.news.send_modify(|news| news.is_over = true);
    }

    /// A server has refused a write that it should take; the monitor is to look for itself.
    pub fn doubt(&self, server: &Endpoint) {
        let is_new = lock(&self.doubts).insert(server.clone());
        if is_new {
            self.tell();
        }
    }

    /// The monitor has begun, or follows another configuration.
    pub(crate) fn begin(&self, shared: &Shared, monitor: &Monitor<Endpoint>) {
        let alone = self.alone();
        lock(&self.found).is_running = true;
        self.find(shared, monitor);
        drop(alone);
        self.lags.know(monitor.lags());
        mark_all(shared, monitor);
    }

    /// The monitor has stopped: servers are where their rows are, and are used there.
    pub(crate) fn let_go(&self, shared: &Shared) {
        let alone = self.alone();
        *lock(&self.found) = Found::default();
        self.lags.know(HashMap::new());
        self.place(&shared.pool, &shared.configuration());
        drop(alone);
        for server in shared.pool.servers() {
            for mark in [Mark::Works, Mark::KeepsUp] {
                shared.pool.mark(server.hostgroup(), server.endpoint(), mark, shared.uptime());
            }
        }
    }

    /// Makes the pool what the monitor has found.
    pub(crate) fn carry_out(&self, shared: &Shared, monitor: &Monitor<Endpoint>, events: &[Event<Endpoint>]) {
        let moved = events.iter().any(|event| matches!(event.change, Change::Joined | Change::Left));
        if moved {
            let alone = self.alone();
            self.find(shared, monitor);
            drop(alone);
        }
        for Event { hostgroup, server, .. } in events.iter().filter(|event| event.change == Change::Left) {
            let target = Target::at(server.clone());
            // It may be back already.
            if shared.pool.find(*hostgroup, &target).is_some_and(|server| !server.is_configured()) {
                shared.pool.mark(*hostgroup, &target, Mark::Left, shared.uptime());
            }
        }
        let servers: HashSet<&Endpoint> = events.iter().map(|event| &event.server).collect();
        for server in servers {
            mark_one(shared, monitor, server);
        }
        for Event { server, change, .. } in events {
            match change {
                Change::Down => mark_former(shared, server, Mark::Down),
                Change::Up => mark_former(shared, server, Mark::Works),
                _ => {}
            }
        }
        if events.iter().any(|event| matches!(event.change, Change::Left | Change::Down)) {
            shared.siblings.recall();
        }
        let configuration = shared.configuration();
        let aurora = &configuration.config().aurora_hostgroups;
        for event in events {
            self.tell_of(event);
            let is_writer = aurora.iter().any(|row| row.active && row.writer_hostgroup == event.hostgroup);
            if event.change == Change::Joined && is_writer {
                lock(&self.records.aurora).note_failover(event.hostgroup, &event.server, unix_us());
            }
        }
    }

    /// Takes over what the monitor knows, and gives the pool the servers where they belong.
    fn find(&self, shared: &Shared, monitor: &Monitor<Endpoint>) {
        let configuration = shared.configuration();
        let said = |server: Endpoint| monitor.read_only(&server).map(|read_only| (server, read_only));
        let asked =
            |writer, server: &Endpoint| monitor.clusters_asked(server, Check::Aurora).contains(&writer);
        lock(&self.records.aurora).keep(asked);
        let mut found = lock(&self.found);
        (found.roles, found.discovered) = (monitor.roles(), monitor.discovered());
        let configured = configuration.config().servers.iter().map(Server::endpoint);
        let discovered = found.discovered.iter().map(|(_, server)| server.clone());
        found.read_only = configured.chain(discovered).filter_map(said).collect();
        drop(found);
        self.place(&shared.pool, &configuration);
    }

    fn tell_of(&self, event: &Event<Endpoint>) {
        let Event { hostgroup, server, change, cause } = event;
        let name = match change {
            Change::Down => "SHUNNED",
            Change::Up => "ONLINE",
            Change::Lags(_) | Change::Behind(_) => "SHUNNED_REPLICATION_LAG",
            Change::KeepsUp => "CAUGHT_UP",
            Change::Joined => "JOINED",
            Change::Left => "LEFT",
        };
        match change {
            Change::Down | Change::Lags(_) | Change::Behind(_) | Change::Left => {
                tracing::warn!(%server, hostgroup, event = name, %cause, "a server has changed");
            }
            Change::Up | Change::KeepsUp | Change::Joined => {
                tracing::info!(%server, hostgroup, event = name, %cause, "a server has changed");
            }
        }
        self.records.note_event(*hostgroup, server, name, cause.clone());
    }
}

/// Sessions cannot connect to a server: the monitor is to look for itself.
impl Doubts for Watching {
    fn shunned(&self, hostgroup: u32, server: &Endpoint, why: &dyn Display) {
        let cause = format!("connecting has failed too often: {why}");
        self.records.note_event(hostgroup, server, "SHUNNED", cause);
        if self.is_running() {
            lock(&self.suspects).insert(server.clone());
            self.tell();
        }
    }
}

/// The servers as the pool keeps them, each where the monitor has found that it belongs. Behind
/// the rows of `mysql_servers` are those of `discovered`.
fn specs(
    configuration: &Configuration,
    discovered: &[Server],
    members: &[Member],
) -> Vec<ServerSpec<Target>> {
    let spec = |member: &Member| {
        let server = configuration.server(discovered, member.row)?;
        Some(ServerSpec { hostgroup: member.hostgroup, ..spec(server) })
    };
    members.iter().filter_map(spec).collect()
}

fn spec(server: &Server) -> ServerSpec<Target> {
    let status = match server.status {
        ServerStatus::Online => Status::Online,
        ServerStatus::Shunned => Status::Shunned,
        ServerStatus::OfflineSoft => Status::OfflineSoft,
        ServerStatus::OfflineHard => Status::OfflineHard,
    };
    ServerSpec {
        hostgroup: server.hostgroup_id,
        weight: server.weight,
        max_connections: server.max_connections,
        status,
        max_latency: limit(server.max_latency),
        endpoint: Target::new(server),
    }
}

/// Takes note of the time that a server takes to answer a ping.
pub(crate) fn note_latency(
    shared: &Shared,
    monitor: &Monitor<Endpoint>,
    server: &Endpoint,
    latency: Duration,
) {
    let target = Target::at(server.clone());
    for hostgroup in monitor.places(server).into_keys() {
        if let Some(row) = shared.pool.find(hostgroup, &target) {
            row.note_latency(latency, shared.uptime());
        }
    }
}

/// Says to the pool how all servers are.
fn mark_all(shared: &Shared, monitor: &Monitor<Endpoint>) {
    for member in monitor.members() {
        if let Some(row) = monitor.row(member.row) {
            let target = Target::at(row.server.clone());
            mark(shared, member.hostgroup, &target, monitor.health(member));
        }
    }
}

/// Says to the pool how this server is. There may be thousands of others.
fn mark_one(shared: &Shared, monitor: &Monitor<Endpoint>, server: &Endpoint) {
    let target = Target::at(server.clone());
    for (hostgroup, health) in monitor.places(server) {
        mark(shared, hostgroup, &target, health);
    }
}

/// The monitor has made a connection to a server, which it has begun at this time of the process:
/// sessions can make some as well, whatever they have shunned it for before.
pub(crate) fn mark_reached(shared: &Shared, monitor: &Monitor<Endpoint>, server: &Endpoint, begun: Duration) {
    let target = Target::at(server.clone());
    for (hostgroup, _) in monitor.places(server) {
        shared.pool.mark(hostgroup, &target, Mark::Reached(begun), shared.uptime());
    }
}

/// Says so of a server in the hostgroups that it has left, where sessions still have connections to
/// it: what runs there has to end as well if it does not answer.
fn mark_former(shared: &Shared, server: &Endpoint, mark: Mark) {
    let is_former = |one: &pool::Server<Target>| !one.is_configured() && one.endpoint().endpoint == *server;
    for former in shared.pool.servers().into_iter().filter(|one| is_former(one)) {
        shared.pool.mark(former.hostgroup(), former.endpoint(), mark, shared.uptime());
    }
}

fn mark(shared: &Shared, hostgroup: u32, target: &Target, health: Health) {
    let Health { down, lag, behind } = health;
    let mark = |mark| shared.pool.mark(hostgroup, target, mark, shared.uptime());
    let was = shared.pool.find(hostgroup, target);
    match (was.is_some_and(|server| server.off() == Some(Off::Down)), down) {
        (false, true) => mark(Mark::Down),
        (true, false) => mark(Mark::Works),
        _ => {}
    }
    mark(lag.map(Mark::Lags).or(behind.map(Mark::Behind)).unwrap_or(Mark::KeepsUp));
}
