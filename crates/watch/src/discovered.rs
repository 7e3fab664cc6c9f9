//! The rows of servers that `mysql_servers` does not name, and others of their clusters or pairs
//! do.

use std::collections::HashSet;

use config::{Config, Endpoint, ReplicationHostgroups, Server, ServerStatus, ServersDefaults};
use monitor::{Cluster, Means};

use crate::plan::{attributes, clusters};

/// How servers are used that are discovered in a pair or cluster.
struct Home {
    /// The hostgroup that their rows are in.
    hostgroup: u32,
    /// All hostgroups of the pair or cluster.
    hostgroups: Vec<u32>,
    weight: u32,
    /// The row that theirs are like where nothing else is said.
    like: Server,
    defaults: ServersDefaults,
}

/// How servers of a pair are discovered; `None`: they are not. What is said of one pair counts for
/// more than what is of all.
pub(crate) fn means(config: &Config, pair: &ReplicationHostgroups) -> Option<Means> {
    let settings = attributes(config, pair.writer_hostgroup).map(|row| &row.hostgroup_settings);
    match settings.and_then(|settings| settings.discover_replicas) {
        Some(true) => Some(Means::Replication),
        _ if config.monitor.rds_topology_every > 0 => Some(Means::Rds),
        _ => None,
    }
}

/// The row that those of discovered servers of a pair are like: the first of the reader hostgroup,
/// or of the writer hostgroup.
pub(crate) fn like(config: &Config, pair: &ReplicationHostgroups) -> Server {
    let of = |id: u32| config.servers.iter().find(|server| server.hostgroup_id == id);
    of(pair.reader_hostgroup).or_else(|| of(pair.writer_hostgroup)).cloned().unwrap_or_default()
}

/// What the operator wants of servers that are discovered.
pub(crate) fn defaults(config: &Config, writer: u32) -> ServersDefaults {
    attributes(config, writer)
        .map_or_else(ServersDefaults::default, |row| ServersDefaults::read(&row.servers_defaults))
}

/// The rows of servers that were discovered, by the writer hostgroups of the pairs or clusters that
/// name them: those that `config` has a pair or cluster for and no row.
pub(crate) fn rows(config: &Config, found: &[(u32, Endpoint)]) -> Vec<Server> {
    if found.is_empty() {
        return Vec::new();
    }
    let clusters = clusters(config);
    let configured: HashSet<(u32, Endpoint)> =
        config.servers.iter().map(|server| (server.hostgroup_id, server.endpoint())).collect();
    let server = |(writer, endpoint): &(u32, Endpoint)| {
        let home = Home::of(config, &clusters, *writer)?;
        let is_named = |id: &u32| configured.contains(&(*id, endpoint.clone()));
        if home.hostgroups.iter().any(is_named) { None } else { home.row(endpoint) }
    };
    found.iter().filter_map(server).collect()
}

/// The row of one that is or may be discovered in the pair or cluster with this writer hostgroup.
pub(crate) fn row(config: &Config, writer: u32, endpoint: &Endpoint) -> Option<Server> {
    Home::of(config, &clusters(config), writer)?.row(endpoint)
}

impl Home {
    /// The one with this writer hostgroup.
    fn of(config: &Config, clusters: &[Cluster], writer: u32) -> Option<Self> {
        let defaults = defaults(config, writer);
        if let Some(cluster) = clusters.iter().find(|cluster| cluster.writer == writer) {
            let is_like = |server: &&Server| cluster.hostgroups().any(|id| id == server.hostgroup_id);
            return Some(Self {
                hostgroup: cluster.waiting_room(),
                hostgroups: cluster.hostgroups().collect(),
                weight: cluster.new_weight,
                like: config.servers.iter().find(is_like).cloned().unwrap_or_default(),
                defaults,
            });
        }
        let pair = config.replication_hostgroups.iter().find(|row| row.writer_hostgroup == writer)?;
        means(config, pair).map(|_| Self {
            hostgroup: pair.reader_hostgroup,
            hostgroups: vec![pair.writer_hostgroup, pair.reader_hostgroup],
            weight: defaults.weight.unwrap_or(1),
            like: like(config, pair),
            defaults,
        })
    }

    fn row(&self, endpoint: &Endpoint) -> Option<Server> {
        let Endpoint::Tcp { host, port } = endpoint else { return None };
        Some(Server {
            hostgroup_id: self.hostgroup,
            hostname: host.clone(),
            port: *port,
            status: ServerStatus::Online,
            weight: self.weight,
            max_connections: self.defaults.max_connections.unwrap_or(self.like.max_connections),
            use_ssl: self.defaults.use_ssl.unwrap_or(self.like.use_ssl),
            comment: "discovered".to_owned(),
            ..self.like.clone()
        })
    }
}
