//! The configuration as the rest of the program sees it: typed, complete, checked.

mod admin;
mod cache;
mod causal;
mod cluster;
mod credentials;
mod firewall;
mod hostgroup;
mod listener;
mod monitor;
mod network;
mod rows;
mod rule;
mod server;
mod server_options;
mod shards;
mod spiffe;
mod tls;
mod user;
mod user_attributes;
mod variables;

pub use admin::AdminVariables;
pub use cache::{CacheMode, CacheScope, CacheSettings};
pub use causal::CausalReads;
pub use cluster::{AuroraHostgroups, ClusterHostgroups, ServersDefaults, WritersRead};
pub use credentials::{Credentials, InvalidCredentials};
pub use firewall::{
    FirewallMode, FirewallRule, FirewallUser, SqliFingerprint, digest_number, is_sqli_fingerprint,
};
pub use hostgroup::{Balance, HostgroupAttributes, HostgroupSettings, ReplicationHostgroups};
pub(crate) use listener::unix_path;
pub use listener::{Address, InvalidAddress, Listener, Protocol, Role, Strategy, UNIX_PATH_MAX_BYTES};
pub(crate) use monitor::is_table;
pub use monitor::{BehindIn, MonitorVariables};
pub use network::{InvalidNetworks, Network, Networks};
pub use rows::Rows;
pub use rule::{FastRoute, QueryRule};
pub use server::{Endpoint, Server, ServerStatus};
pub use server_options::{ProxyProtocol, ServerOptions};
pub use shards::ShardTransactions;
pub use spiffe::SpiffeId;
pub use tls::{ServerTls, TlsParams};
pub use user::User;
pub use user_attributes::{Isolation, UserAttributes};
pub use variables::{AuthPlugin, CheckLogins, LogFormat, MysqlVariables, PointsmanVariables, TrackGtids};

use std::sync::Arc;

use crate::turns::in_turns;

/// A whole configuration. `Default` is what an empty file means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect; at least one.
    pub listeners: Vec<Listener>,
    /// The group `mysql_variables`, as far as its variables exist.
    pub variables: MysqlVariables,
    /// Its variables `monitor_...`.
    pub monitor: MonitorVariables,
    /// The group `pointsman_variables`.
    pub pointsman: PointsmanVariables,
    /// The group `admin_variables`, as far as its variables exist.
    pub admin: AdminVariables,
    /// The rows of `mysql_servers`.
    pub servers: Rows<Server>,
    /// The rows of `pointsman_servers`.
    pub server_options: Vec<ServerOptions>,
    /// The rows of `mysql_users`.
    pub users: Rows<User>,
    /// The rows of `mysql_servers_ssl_params`.
    pub server_tls: Vec<ServerTls>,
    /// The rows of `mysql_query_rules`, inactive ones too.
    pub query_rules: Rows<QueryRule>,
    /// The rows of `mysql_query_rules_fast_routing`.
    pub fast_routes: Vec<FastRoute>,
    /// The rows of `mysql_firewall_whitelist_users`, inactive ones too.
    pub firewall_users: Vec<FirewallUser>,
    /// The rows of `mysql_firewall_whitelist_rules`, inactive ones too.
    pub firewall_rules: Vec<FirewallRule>,
    /// The rows of `mysql_firewall_whitelist_sqli_fingerprints`, inactive ones too.
    pub sqli_fingerprints: Vec<SqliFingerprint>,
    /// The rows of `mysql_replication_hostgroups`.
    pub replication_hostgroups: Vec<ReplicationHostgroups>,
    /// The rows of `mysql_group_replication_hostgroups`, inactive ones too.
    pub group_replication_hostgroups: Vec<ClusterHostgroups>,
    /// The rows of `mysql_galera_hostgroups`, inactive ones too.
    pub galera_hostgroups: Vec<ClusterHostgroups>,
    /// The rows of `mysql_aws_aurora_hostgroups`, inactive ones too.
    pub aurora_hostgroups: Vec<AuroraHostgroups>,
    /// The rows of `mysql_hostgroup_attributes`.
    pub hostgroup_attributes: Vec<HostgroupAttributes>,
    /// Where sharded tables are; none if there are none.
    pub shards: Option<Arc<shard::Layout>>,
    /// The folder of the process's files; empty if there is none.
    pub datadir: String,
    /// The file of the process's own log; empty: standard error.
    pub errorlog: String,
    /// The form of the process's own log.
    pub log_format: LogFormat,
    /// The file that has the process's id; empty if there is none.
    pub pidfile: String,
}

impl Config {
    /// Hostgroups of writers, each with that of its readers, from all tables that say so.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let clusters = self.group_replication_hostgroups.iter().chain(&self.galera_hostgroups);
        let clusters =
            clusters.filter(|row| row.active).map(|row| (row.writer_hostgroup, row.reader_hostgroup));
        let aurora = self.aurora_hostgroups.iter().filter(|row| row.active);
        let aurora = aurora.map(|row| (row.writer_hostgroup, row.reader_hostgroup));
        let plain =
            self.replication_hostgroups.iter().map(|row| (row.writer_hostgroup, row.reader_hostgroup));
        plain.chain(clusters).chain(aurora)
    }

    /// The hostgroups of each cluster.
    pub fn clusters(&self) -> impl Iterator<Item = Vec<u32>> {
        self.named_clusters().map(|(_, hostgroups)| hostgroups)
    }

    /// The same with the table of each.
    pub(crate) fn named_clusters(&self) -> impl Iterator<Item = (&'static str, Vec<u32>)> {
        let group = self.group_replication_hostgroups.iter();
        let group = group.map(|row| ("mysql_group_replication_hostgroups", row));
        let galera = self.galera_hostgroups.iter().map(|row| ("mysql_galera_hostgroups", row));
        let clusters = group.chain(galera).filter(|(_, row)| row.active).map(|(table, row)| {
            let hostgroups = vec![
                row.writer_hostgroup,
                row.backup_writer_hostgroup,
                row.reader_hostgroup,
                row.offline_hostgroup,
            ];
            (table, hostgroups)
        });
        let aurora = self.aurora_hostgroups.iter().filter(|row| row.active);
        clusters.chain(
            aurora
                .map(|row| ("mysql_aws_aurora_hostgroups", vec![row.writer_hostgroup, row.reader_hostgroup])),
        )
    }

    /// Whether hostgroups consist of the same servers of pairs and clusters in both.
    pub fn has_topologies_of(&self, other: &Self) -> bool {
        self.replication_hostgroups == other.replication_hostgroups
            && self.group_replication_hostgroups == other.group_replication_hostgroups
            && self.galera_hostgroups == other.galera_hostgroups
            && self.aurora_hostgroups == other.aurora_hostgroups
            && self.hostgroup_attributes == other.hostgroup_attributes
    }

    /// Frees its memory, in turns with other threads: there may be many rows.
    pub fn free(self) {
        self.users.free();
        self.servers.free();
        self.query_rules.free();
        in_turns(self.fast_routes).for_each(drop);
        in_turns(self.firewall_users).for_each(drop);
        in_turns(self.firewall_rules).for_each(drop);
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listeners: vec![Listener::default()],
            variables: MysqlVariables::default(),
            monitor: MonitorVariables::default(),
            pointsman: PointsmanVariables::default(),
            admin: AdminVariables::default(),
            servers: Rows::default(),
            server_options: Vec::new(),
            users: Rows::default(),
            server_tls: Vec::new(),
            query_rules: Rows::default(),
            fast_routes: Vec::new(),
            firewall_users: Vec::new(),
            firewall_rules: Vec::new(),
            sqli_fingerprints: Vec::new(),
            replication_hostgroups: Vec::new(),
            group_replication_hostgroups: Vec::new(),
            galera_hostgroups: Vec::new(),
            aurora_hostgroups: Vec::new(),
            hostgroup_attributes: Vec::new(),
            shards: None,
            datadir: String::new(),
            errorlog: String::new(),
            log_format: LogFormat::default(),
            pidfile: String::new(),
        }
    }
}
