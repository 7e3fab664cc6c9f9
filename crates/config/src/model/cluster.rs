//! Rows about clusters: hostgroups whose servers say themselves who takes writes.

use std::time::Duration;

use crate::json;
use crate::row::{FromScalar, from_row};
use crate::schema::{Field, MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_GROUP_REPLICATION_HOSTGROUPS, Scalar};

/// A row of `mysql_group_replication_hostgroups` or `mysql_galera_hostgroups`, which have the same
/// columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterHostgroups {
    /// Where servers are that take writes.
    pub writer_hostgroup: u32,
    /// Where those of them are that are one too many.
    pub backup_writer_hostgroup: u32,
    /// Where servers are that are for reads.
    pub reader_hostgroup: u32,
    /// Where servers are that cannot be used.
    pub offline_hostgroup: u32,
    /// Whether the row has an effect.
    pub active: bool,
    /// The most servers in the writer hostgroup.
    pub max_writers: u32,
    /// Which writers are readers, too.
    pub writer_is_also_reader: WritersRead,
    /// The most transactions that a server may have to apply; 0: any number.
    pub max_transactions_behind: u32,
    /// Free text.
    pub comment: Option<String>,
}

from_row!(ClusterHostgroups, MYSQL_GROUP_REPLICATION_HOSTGROUPS, {
    writer_hostgroup,
    backup_writer_hostgroup,
    reader_hostgroup,
    offline_hostgroup,
    active,
    max_writers,
    writer_is_also_reader,
    max_transactions_behind,
    comment,
});

/// Which writers of a cluster are readers, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WritersRead {
    /// None.
    #[default]
    No,
    /// All.
    All,
    /// Those that are one too many.
    Backups,
}

impl FromScalar for WritersRead {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        match scalar {
            Scalar::Int(0) => Some(Self::No),
            Scalar::Int(1) => Some(Self::All),
            Scalar::Int(2) => Some(Self::Backups),
            _ => None,
        }
    }
}

/// A row of `mysql_aws_aurora_hostgroups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuroraHostgroups {
    /// Where the writer is.
    pub writer_hostgroup: u32,
    /// Where its replicas are.
    pub reader_hostgroup: u32,
    /// Whether the row has an effect.
    pub active: bool,
    /// The port of servers that were discovered.
    pub aurora_port: u32,
    /// What makes a host name of a server's id.
    pub domain_name: String,
    /// Replicas that lag more are passed over.
    pub max_lag: Duration,
    /// From one check to the next.
    pub check_interval: Duration,
    /// The longest time for one.
    pub check_timeout: Duration,
    /// Whether the writer is a reader, too.
    pub writer_is_also_reader: bool,
    /// The weight of replicas that were discovered.
    pub new_reader_weight: u32,
    /// What is added to a lag that was seen.
    pub add_lag: Duration,
    /// The least lag that is assumed.
    pub min_lag: Duration,
    /// How many looks count, of which the worst holds.
    pub lag_num_checks: u32,
    /// Free text.
    pub comment: Option<String>,
}

from_row!(AuroraHostgroups, MYSQL_AWS_AURORA_HOSTGROUPS, {
    writer_hostgroup,
    reader_hostgroup,
    active,
    aurora_port,
    domain_name,
    max_lag = "max_lag_ms",
    check_interval = "check_interval_ms",
    check_timeout = "check_timeout_ms",
    writer_is_also_reader,
    new_reader_weight,
    add_lag = "add_lag_ms",
    min_lag = "min_lag_ms",
    lag_num_checks,
    comment,
});

/// What `servers_defaults` of a hostgroup says about servers that are discovered; what is missing
/// is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ServersDefaults {
    /// Their weight.
    pub weight: Option<u32>,
    /// The most connections to each.
    pub max_connections: Option<u32>,
    /// Whether connections to them use TLS.
    pub use_ssl: Option<bool>,
}

impl ServersDefaults {
    /// What this JSON says. Members of other types say nothing.
    pub fn read(text: &str) -> Self {
        let json = json::parse(text).unwrap_or_default();
        let number = |name| u32::try_from(json.get(name)?.as_u64()?).ok();
        Self {
            weight: number("weight"),
            max_connections: number("max_connections"),
            use_ssl: json.get("use_ssl").and_then(json::switch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_come_from_json() {
        let read = ServersDefaults::read(r#"{"weight":3,"max_connections":"x","use_ssl":1}"#);
        let expected = ServersDefaults { weight: Some(3), max_connections: None, use_ssl: Some(true) };
        assert_eq!(read, expected);
        assert_eq!(ServersDefaults::read(""), ServersDefaults::default());
    }
}
