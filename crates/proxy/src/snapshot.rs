//! The configuration in the form that the data plane uses: one immutable value, which workers are
//! sent anew when it changes.
//!
//! Each worker keeps its own reference and reads it without a lock; what is not a worker asks
//! [`Shared`](crate::shared::Shared) for it. What a session has taken from it (its user, its
//! server) it keeps when the configuration changes.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use config::{CheckLogins, Config, Endpoint, MonitorVariables, MysqlVariables, Server, ServerStatus};
use monitor::Member;
use pool::{Policy, ServerSpec, Status};
use route::RuleError;

use crate::backend::{Announced, InitConnects, Target};
use crate::choosing::{Policies, limit};
use crate::control::Patience;
use crate::limit::RuleLimits;
use crate::logs::LogSettings;
use crate::routing::routes::Routes;
use crate::users::Users;

/// One configuration.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) variables: MysqlVariables,
    pub(crate) patience: Patience,
    pub(crate) check_logins: CheckLogins,
    /// How long at most a session that has waited for a connection comes before others who wait.
    pub(crate) connection_turn: Duration,
    /// How many statements of sessions that wait for connections go out together over one, at most.
    pub(crate) statements_together: usize,
    /// Whether servers are asked what the stored routines do that have run.
    pub(crate) judge_routines: bool,
    /// Whether they are asked what is behind the names of tables.
    pub(crate) judge_tables: bool,
    pub(crate) drain_timeout: Duration,
    pub(crate) users: Arc<Users>,
    pub(crate) announced: Announced,
    pub(crate) initial: InitConnects,
    pub(crate) routes: Arc<Routes>,
    pub(crate) logs: LogSettings,
    /// How many statements may run to which rules point.
    pub(crate) limits: RuleLimits,
    policies: Policies,
    /// Hostgroups whose connections stay with their sessions.
    unshared: HashSet<u32>,
    config: Arc<Config>,
}

/// One worker's reference. Sessions count references to it, not to the snapshot, whose count all
/// workers share.
#[derive(Debug)]
pub(crate) struct Settings(pub(crate) Arc<Snapshot>);

impl Deref for Settings {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl Snapshot {
    /// What `config` means; `before` is what it meant until now. Users keep what was learned about
    /// them. Fails with the rules that cannot be used.
    pub(crate) fn new(config: &Arc<Config>, before: Option<&Self>) -> Result<Self, Vec<RuleError>> {
        let routes = Routes::new(config, before.map(|before| (&*before.config, &*before.routes)))?;
        let variables = config.variables.clone();
        let patience = Patience {
            idle: variables.wait_timeout,
            idle_in_transaction: variables.max_transaction_idle_time,
            transaction: variables.max_transaction_time,
            statement: variables.default_query_timeout,
        };
        let users = match before {
            Some(before) if before.config.users.same(&config.users) => Arc::clone(&before.users),
            Some(before) => Arc::new(before.users.replaced_by(&config.users)),
            None => Arc::new(Users::new(&config.users)),
        };
        Ok(Self {
            variables,
            patience,
            check_logins: config.pointsman.check_logins,
            connection_turn: config.pointsman.connection_turn,
            statements_together: config.pointsman.statements_together as usize,
            judge_routines: config.pointsman.judge_routines,
            judge_tables: config.pointsman.judge_tables,
            drain_timeout: config.pointsman.drain_timeout,
            users,
            announced: Announced::new(config),
            initial: InitConnects::new(config),
            logs: LogSettings::new(config),
            limits: RuleLimits::new(&routes.rules, before.map(|before| &before.limits)),
            routes: Arc::new(routes),
            policies: Policies::new(config),
            unshared: config
                .hostgroup_attributes
                .iter()
                .filter(|row| !row.multiplex)
                .map(|row| row.hostgroup_id)
                .collect(),
            config: Arc::clone(config),
        })
    }

    /// Frees what nobody else has of it, in turns with other threads: there may be many users.
    pub(crate) fn free(self) {
        if let Some(users) = Arc::into_inner(self.users) {
            users.free();
        }
    }

    /// The first user that clients may log in as and that `is` is true for.
    pub(crate) fn client_user(&self, is: impl Fn(&config::User) -> bool) -> Option<&config::User> {
        self.config.users.iter().find(|user| user.active && user.frontend && is(user))
    }

    /// How servers are watched.
    pub(crate) fn monitor(&self) -> &MonitorVariables {
        &self.config.monitor
    }

    /// What it says as a whole.
    pub(crate) const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The servers as the pool keeps them, each where the monitor has found that it belongs. Behind
    /// the rows of `mysql_servers` are those of `discovered`.
    pub(crate) fn specs(&self, discovered: &[Server], members: &[Member]) -> Vec<ServerSpec<Target>> {
        let spec = |member: &Member| {
            let server = self.server(discovered, member.row)?;
            Some(ServerSpec { hostgroup: member.hostgroup, ..spec(server) })
        };
        members.iter().filter_map(spec).collect()
    }

    /// The row at an index, behind those of `mysql_servers` one of these.
    pub(crate) fn server<'a>(&'a self, discovered: &'a [Server], row: usize) -> Option<&'a Server> {
        let configured = &self.config.servers;
        configured.get(row).or_else(|| discovered.get(row.checked_sub(configured.len())?))
    }

    /// How its hostgroups choose.
    pub(crate) fn policy(&self, hostgroup: u32) -> Policy {
        self.policies.of(hostgroup)
    }

    /// Whether sessions share connections to this hostgroup.
    pub(crate) fn shares(&self, hostgroup: u32) -> bool {
        !self.unshared.contains(&hostgroup)
    }

    /// Whether connections to this hostgroup are opened before somebody needs them.
    pub(crate) fn warms(&self, hostgroup: u32) -> bool {
        let policy = self.policy(hostgroup);
        (policy.warming || policy.min_resting > 0) && self.variables.multiplexing && self.shares(hostgroup)
    }

    /// Where the servers are that sessions may get, each once, in the order of the configuration.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        let mut seen = HashSet::new();
        let online = self.config.servers.iter().filter(|server| server.status == ServerStatus::Online);
        online.map(Server::endpoint).filter(|endpoint| seen.insert(endpoint.clone())).collect()
    }

    /// Whether both have the same rows of servers.
    pub(crate) fn has_servers_of(&self, other: &Self) -> bool {
        self.config.servers == other.config.servers
    }

    /// Whether this hostgroup has the writers of a pair or a cluster.
    pub(crate) fn is_writer(&self, hostgroup: u32) -> bool {
        self.config.pairs().any(|(writer, _)| writer == hostgroup)
    }

    /// Whether this hostgroup is one of a cluster.
    pub(crate) fn is_clustered(&self, hostgroup: u32) -> bool {
        self.config.clusters().any(|hostgroups| hostgroups.contains(&hostgroup))
    }

    /// Whether servers are found in the same hostgroups with both.
    pub(crate) fn places_like(&self, other: &Self) -> bool {
        self.config.has_topologies_of(&other.config) && self.config.monitor == other.config.monitor
    }

    /// Whether the servers of both are chosen alike.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        self.policies == other.policies
    }
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
