//! What the configuration says about servers, and about connections to them.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;

use config::{Config, Endpoint, MonitorVariables, MysqlVariables, Server, ServerStatus};
use pool::Policy;
use session::users::Users;

use crate::choosing::Policies;
use crate::{Announced, InitConnects};

/// One configuration. It never changes: another one takes its place.
#[derive(Debug)]
pub struct Configuration {
    /// Variables of the operator.
    pub variables: Arc<MysqlVariables>,
    /// Users that may log in.
    pub users: Arc<Users>,
    /// Servers that are sent a PROXY header.
    pub announced: Announced,
    pub(crate) initial: InitConnects,
    /// How many statements of sessions that wait for connections go out together over one, at most.
    pub statements_together: usize,
    policies: Policies,
    /// Hostgroups whose connections stay with their sessions.
    unshared: HashSet<u32>,
    config: Arc<Config>,
}

/// One worker's reference. Sessions count references to it, not to what it refers to, whose count
/// all workers share.
#[derive(Debug)]
pub struct Local<T>(pub Arc<T>);

impl<T> Deref for Local<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Configuration {
    /// What `config` means for these users.
    pub fn new(config: &Arc<Config>, users: Arc<Users>) -> Self {
        Self {
            variables: Arc::new(config.variables.clone()),
            users,
            announced: Announced::new(config),
            initial: InitConnects::new(config),
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
    pub fn users_of(config: &Config, before: Option<&Self>) -> Arc<Users> {
        match before {
            Some(before) if before.config.users.same(&config.users) => Arc::clone(&before.users),
            Some(before) => Arc::new(before.users.replaced_by(&config.users)),
            None => Arc::new(Users::new(&config.users, net::random::fill)),
        }
    }

    /// How servers are watched.
    pub fn monitor(&self) -> &MonitorVariables {
        &self.config.monitor
    }

    /// What it says as a whole.
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The row at an index, behind those of `mysql_servers` one of these.
    pub fn server<'a>(&'a self, discovered: &'a [Server], row: usize) -> Option<&'a Server> {
        let configured = &self.config.servers;
        configured.get(row).or_else(|| discovered.get(row.checked_sub(configured.len())?))
    }

    /// How its hostgroups choose.
    pub fn policy(&self, hostgroup: u32) -> Policy {
        self.policies.of(hostgroup)
    }

    /// Whether sessions share connections to this hostgroup.
    pub fn shares(&self, hostgroup: u32) -> bool {
        !self.unshared.contains(&hostgroup)
    }

    /// Whether connections to this hostgroup are opened before a session needs them.
    pub(crate) fn warms(&self, hostgroup: u32) -> bool {
        let policy = self.policy(hostgroup);
        (policy.warming || policy.min_resting > 0) && self.variables.multiplexing && self.shares(hostgroup)
    }

    /// Where the servers are that sessions may get, each once, in the order of the configuration.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let mut seen = HashSet::new();
        let online = self.config.servers.iter().filter(|server| server.status == ServerStatus::Online);
        online.map(Server::endpoint).filter(|endpoint| seen.insert(endpoint.clone())).collect()
    }

    /// Whether both have the same rows of servers.
    pub fn has_servers_of(&self, other: &Self) -> bool {
        self.config.servers == other.config.servers
    }

    /// Whether servers are found in the same hostgroups with both, and chosen alike.
    pub fn places_like(&self, other: &Self) -> bool {
        self.config.has_topologies_of(&other.config)
            && self.config.monitor == other.config.monitor
            && self.policies == other.policies
    }
}
