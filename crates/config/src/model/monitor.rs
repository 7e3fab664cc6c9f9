//! The variables `mysql-monitor_...`.

use std::time::Duration;

use crate::row::{FromScalar, from_row};
use crate::schema::{Field, MYSQL_VARIABLES, Scalar};

/// How servers are checked. The manual has the meanings, units and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorVariables {
    /// Whether they are.
    pub enabled: bool,
    /// The user of the checks.
    pub username: String,
    /// Its password.
    pub password: String,
    /// How long results are kept.
    pub history: Duration,
    /// From one new connection to the next.
    pub connect_interval: Duration,
    /// The longest time for one, its login included.
    pub connect_timeout: Duration,
    /// From one ping to the next.
    pub ping_interval: Duration,
    /// The longest time for the answer to one.
    pub ping_timeout: Duration,
    /// Pings missed in a row after which a server is shunned.
    pub ping_max_failures: u32,
    /// From one look at a server's read-only variables to the next.
    pub read_only_interval: Duration,
    /// The longest time for the answer.
    pub read_only_timeout: Duration,
    /// Timeouts in a row after which a server counts as read-only.
    pub read_only_max_timeout_count: u32,
    /// Whether writers are in the reader hostgroup, too.
    pub writer_is_also_reader: bool,
    /// From one look at a server's lag to the next.
    pub replication_lag_interval: Duration,
    /// The longest time for the answer.
    pub replication_lag_timeout: Duration,
    /// Looks in a row that see too much lag after which a server is shunned.
    pub replication_lag_count: u32,
    /// Makes no difference: a server is asked once, whatever rows it has.
    pub replication_lag_group_by_host: bool,
    /// The table of pt-heartbeat; empty: servers are asked for their lag.
    pub replication_lag_use_percona_heartbeat: String,
    /// The lag of a replica that does not know it.
    pub slave_lag_when_null: Duration,
    /// From one question to a member of a replication group to the next.
    pub group_interval: Duration,
    /// The longest time for the answer.
    pub group_timeout: Duration,
    /// Questions in a row that were not answered after which a member is used no more.
    pub group_max_timeout_count: u32,
    /// Looks in a row that see a member too far behind after which it is passed over.
    pub group_behind_count: u32,
    /// Where it is then passed over.
    pub group_behind_in: BehindIn,
    /// From one question to a node of a Galera cluster to the next.
    pub galera_interval: Duration,
    /// The longest time for the answer.
    pub galera_timeout: Duration,
    /// Questions in a row that were not answered after which a node is used no more.
    pub galera_max_timeout_count: u32,
    /// The servers of pairs are asked for their RDS topology once in so many checks of whether they
    /// are read-only; 0: never.
    pub rds_topology_every: u32,
    /// How long the addresses of a server's name are not looked up anew; 0: they are not kept.
    pub dns_cache_ttl: Duration,
    /// How often it is seen after those that are older; 0: they are not kept.
    pub dns_cache_refresh_interval: Duration,
    /// The most names that wait to be resolved.
    pub dns_queue_max: u32,
}

/// In which hostgroups of a replication group members are passed over that are too far behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BehindIn {
    /// That of writers.
    Writers,
    /// That of readers.
    Readers,
    /// Both.
    Both,
}

impl FromScalar for BehindIn {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        match scalar {
            Scalar::Int(0) => Some(Self::Writers),
            Scalar::Int(1) => Some(Self::Readers),
            Scalar::Int(2) => Some(Self::Both),
            _ => None,
        }
    }
}

impl MonitorVariables {
    /// The table of pt-heartbeat as it can stand in a statement; `None`: servers are asked for
    /// their lag.
    pub fn heartbeat_table(&self) -> Option<&str> {
        let table = self.replication_lag_use_percona_heartbeat.trim();
        is_table(table).then_some(table)
    }
}

/// Whether this is `schema.table`, each with or without backticks.
pub(crate) fn is_table(text: &str) -> bool {
    let is_name = |part: &str| {
        let part = part.strip_prefix('`').and_then(|part| part.strip_suffix('`')).unwrap_or(part);
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_$-".contains(c))
    };
    text.split_once('.').is_some_and(|(schema, name)| is_name(schema) && is_name(name))
}

from_row!(MonitorVariables, MYSQL_VARIABLES, {
    enabled = "monitor_enabled",
    username = "monitor_username",
    password = "monitor_password",
    history = "monitor_history",
    connect_interval = "monitor_connect_interval",
    connect_timeout = "monitor_connect_timeout",
    ping_interval = "monitor_ping_interval",
    ping_timeout = "monitor_ping_timeout",
    ping_max_failures = "monitor_ping_max_failures",
    read_only_interval = "monitor_read_only_interval",
    read_only_timeout = "monitor_read_only_timeout",
    read_only_max_timeout_count = "monitor_read_only_max_timeout_count",
    writer_is_also_reader = "monitor_writer_is_also_reader",
    replication_lag_interval = "monitor_replication_lag_interval",
    replication_lag_timeout = "monitor_replication_lag_timeout",
    replication_lag_count = "monitor_replication_lag_count",
    replication_lag_group_by_host = "monitor_replication_lag_group_by_host",
    replication_lag_use_percona_heartbeat = "monitor_replication_lag_use_percona_heartbeat",
    slave_lag_when_null = "monitor_slave_lag_when_null",
    group_interval = "monitor_groupreplication_healthcheck_interval",
    group_timeout = "monitor_groupreplication_healthcheck_timeout",
    group_max_timeout_count = "monitor_groupreplication_healthcheck_max_timeout_count",
    group_behind_count = "monitor_groupreplication_max_transactions_behind_count",
    group_behind_in = "monitor_groupreplication_max_transactions_behind_for_read_only",
    galera_interval = "monitor_galera_healthcheck_interval",
    galera_timeout = "monitor_galera_healthcheck_timeout",
    galera_max_timeout_count = "monitor_galera_healthcheck_max_timeout_count",
    rds_topology_every = "monitor_aws_rds_topology_discovery_interval",
    dns_cache_ttl = "monitor_local_dns_cache_ttl",
    dns_cache_refresh_interval = "monitor_local_dns_cache_refresh_interval",
    dns_queue_max = "monitor_local_dns_resolver_queue_maxsize",
});
