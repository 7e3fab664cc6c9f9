//! What the configuration says about servers, and about connections to them.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, Endpoint, MonitorVariables, MysqlVariables, Server, ServerStatus};
use pool::Policy;

use super::choosing::Policies;
use super::{Announced, InitConnects};
use crate::users::Users;

/// One configuration. It never changes: another one takes its place.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) variables: Arc<MysqlVariables>,
    pub(crate) users: Arc<Users>,
    pub(crate) announced: Announced,
    pub(crate) initial: InitConnects,
    /// How long at most a session that has waited for a connection comes before others who wait.
    pub(crate) connection_turn: Duration,
    /// How many statements of sessions that wait for connections go out together over one, at most.
    pub(crate) statements_together: usize,
    policies: Policies,
    /// Hostgroups whose connections stay with their sessions.
    unshared: HashSet<u32>,
    config: Arc<Config>,
}

/// One worker's reference. Sessions count references to it, not to the configuration, whose count
/// all workers share.
#[derive(Debug)]
pub(crate) struct Local(pub(super) Arc<Configuration>);

impl Deref for Local {
    type Target = Configuration;

    fn deref(&self) -> &Configuration {
        &self.0
    }
}

impl Configuration {
    /// What `config` means for these users.
    pub(crate) fn new(config: &Arc<Config>, users: Arc<Users>) -> Self {
        Self {
            variables: Arc::new(config.variables.clone()),
            users,
            announced: Announced::new(config),
            initial: InitConnects::new(config),
            connection_turn: config.pointsman.connection_turn,
            statements_together: config.pointsman.statements_together as usize,
            policies: Policies::new(config),
            unshared: config
                .hostgroup_attributes
                .iter()
                .filter(|row| !row.multiplex)
                .map(|row| row.hostgroup_id)
                .collect(),
            config: Arc::clone(config),
        }
    }

    /// Users that mean what they meant `before`, which keep what was learned about them.
    pub(crate) fn users_of(config: &Config, before: Option<&Self>) -> Arc<Users> {
        match before {
            Some(before) if before.config.users.same(&config.users) => Arc::clone(&before.users),
            Some(before) => Arc::new(before.users.replaced_by(&config.users)),
            None => Arc::new(Users::new(&config.users, crate::random::fill)),
        }
    }

    /// How servers are watched.
    pub(crate) fn monitor(&self) -> &MonitorVariables {
        &self.config.monitor
    }

    /// What it says as a whole.
    pub(crate) const fn config(&self) -> &Arc<Config> {
        &self.config
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

    /// Whether connections to this hostgroup are opened before a session needs them.
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

    /// Whether servers are found in the same hostgroups with both.
    pub(crate) fn places_like(&self, other: &Self) -> bool {
        self.config.has_topologies_of(&other.config) && self.config.monitor == other.config.monitor
    }

    /// Whether the servers of both are chosen alike.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        self.policies == other.policies
    }
}
