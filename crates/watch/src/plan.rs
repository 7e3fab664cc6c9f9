//! What a configuration says about watching servers.

use std::time::Duration;

use config::{
    AuroraHostgroups, BehindIn, ClusterHostgroups, Config, Endpoint, HostgroupAttributes, MonitorVariables,
    ReplicationHostgroups, Server, ServerStatus, WritersRead,
};
use monitor::{
    AlsoRead, AuroraLimits, Cluster, Discover, GaleraLimits, GroupLimits, Means, Pace, Pair, Plan, Row,
    Settings, Spare, Topology,
};

use crate::discovered::{self, defaults};

/// Its servers, pairs and clusters.
pub(crate) fn plan(config: &Config) -> Plan<Endpoint> {
    Plan {
        settings: settings(&config.monitor),
        rows: config.servers.iter().map(|server| row(server, config)).collect(),
        pairs: config.replication_hostgroups.iter().map(|row| pair(row, config)).collect(),
        clusters: clusters(config),
    }
}

/// Servers are asked for their replicas once in so many checks of whether they are read-only.
const DISCOVERY_EVERY: u32 = 10;

/// How long a server stays known that no other one names any more. One that has lost its primary
/// tries to reach it once a minute unless it is told otherwise.
const FORGET_AFTER: Duration = Duration::from_mins(3);

fn pair(row: &ReplicationHostgroups, config: &Config) -> Pair {
    let (writer, reader) = (row.writer_hostgroup, row.reader_hostgroup);
    let settings = attributes(config, writer).map(|row| &row.hostgroup_settings);
    let discover = discovered::means(config, row).map(|means| {
        let variables = &config.monitor;
        let every = match means {
            Means::Replication => DISCOVERY_EVERY,
            Means::Rds => variables.rds_topology_every,
        };
        let forget_after = settings.and_then(|settings| settings.forget_replicas_after);
        let like = self::row(&discovered::like(config, row), config);
        Discover {
            means,
            pace: Pace {
                interval: variables.read_only_interval.saturating_mul(every),
                limit: variables.read_only_timeout,
            },
            forget_after: forget_after.map_or(FORGET_AFTER, Duration::from_secs),
            weight: defaults(config, writer).weight.unwrap_or(1),
            max_lag: like.max_lag,
            lag_when_unknown: lag_when_unknown(config, reader),
        }
    });
    Pair { writer, reader, discover }
}

/// What the operator wants of a hostgroup.
pub(crate) fn attributes(config: &Config, hostgroup: u32) -> Option<&HostgroupAttributes> {
    config.hostgroup_attributes.iter().find(|row| row.hostgroup_id == hostgroup)
}

/// The lag that a server of a hostgroup counts as having that does not know it.
fn lag_when_unknown(config: &Config, hostgroup: u32) -> Duration {
    let settings = attributes(config, hostgroup).map(|row| &row.hostgroup_settings);
    let when_unknown = settings.and_then(|settings| settings.monitor_slave_lag_when_null);
    when_unknown.map_or(config.monitor.slave_lag_when_null, Duration::from_secs)
}

/// A server of it.
pub(crate) fn row(server: &Server, config: &Config) -> Row<Endpoint> {
    Row {
        hostgroup: server.hostgroup_id,
        server: server.endpoint(),
        in_use: !matches!(server.status, ServerStatus::OfflineSoft | ServerStatus::OfflineHard),
        weight: server.weight,
        max_lag: Some(server.max_replication_lag).filter(|lag| !lag.is_zero()),
        lag_when_unknown: lag_when_unknown(config, server.hostgroup_id),
    }
}

/// Its clusters.
pub(crate) fn clusters(config: &Config) -> Vec<Cluster> {
    let groups = config.group_replication_hostgroups.iter().filter(|row| row.active);
    let galera = config.galera_hostgroups.iter().filter(|row| row.active);
    let clusters = groups.map(|row| group(row, config));
    let clusters = clusters.chain(galera.map(|row| self::galera(row, config)));
    let aurora = config.aurora_hostgroups.iter().filter(|row| row.active);
    clusters.chain(aurora.map(self::aurora)).collect()
}

/// Questions in a row that a server of Aurora does not answer before it is used no more: there is
/// no variable for it.
const AURORA_MISSES: u32 = 3;

fn aurora(row: &AuroraHostgroups) -> Cluster {
    let samples = usize::try_from(row.lag_num_checks).unwrap_or(usize::MAX);
    Cluster {
        writer: row.writer_hostgroup,
        reader: row.reader_hostgroup,
        spare: None,
        max_writers: 1,
        also_read: if row.writer_is_also_reader { AlsoRead::Writers } else { AlsoRead::NoWriters },
        pace: Pace { interval: row.check_interval, limit: row.check_timeout },
        misses: AURORA_MISSES,
        new_weight: row.new_reader_weight,
        topology: Topology::Aurora(AuroraLimits { max_lag: row.max_lag, samples }),
    }
}

fn galera(row: &ClusterHostgroups, config: &Config) -> Cluster {
    let variables = &config.monitor;
    let limits = GaleraLimits { max_queue: max_behind(row) };
    let pace = Pace { interval: variables.galera_interval, limit: variables.galera_timeout };
    cluster(row, config, (pace, variables.galera_max_timeout_count), Topology::Galera(limits))
}

/// The most transactions that a server may have to apply.
fn max_behind(row: &ClusterHostgroups) -> Option<u64> {
    Some(row.max_transactions_behind).filter(|max| *max > 0).map(u64::from)
}

fn group(row: &ClusterHostgroups, config: &Config) -> Cluster {
    let variables = &config.monitor;
    let (of_writers, of_readers) = match variables.group_behind_in {
        BehindIn::Writers => (true, false),
        BehindIn::Readers => (false, true),
        BehindIn::Both => (true, true),
    };
    let limits = GroupLimits {
        max_behind: max_behind(row),
        checks: variables.group_behind_count,
        of_writers,
        of_readers,
    };
    let pace = Pace { interval: variables.group_interval, limit: variables.group_timeout };
    cluster(row, config, (pace, variables.group_max_timeout_count), Topology::Group(limits))
}

/// What the rows of both tables with these columns say.
fn cluster(
    row: &ClusterHostgroups,
    config: &Config,
    (pace, misses): (Pace, u32),
    topology: Topology,
) -> Cluster {
    Cluster {
        pace,
        misses,
        writer: row.writer_hostgroup,
        reader: row.reader_hostgroup,
        spare: Some(Spare { backup_writer: row.backup_writer_hostgroup, offline: row.offline_hostgroup }),
        max_writers: usize::try_from(row.max_writers).unwrap_or(usize::MAX),
        also_read: match row.writer_is_also_reader {
            WritersRead::No => AlsoRead::NoWriters,
            WritersRead::All => AlsoRead::Writers,
            WritersRead::Backups => AlsoRead::Backups,
        },
        new_weight: defaults(config, row.writer_hostgroup).weight.unwrap_or(1),
        topology,
    }
}

fn settings(variables: &MonitorVariables) -> Settings {
    let pace = |interval, limit| Pace { interval, limit };
    Settings {
        connect: pace(variables.connect_interval, variables.connect_timeout),
        ping: pace(variables.ping_interval, variables.ping_timeout),
        read_only: pace(variables.read_only_interval, variables.read_only_timeout),
        lag: pace(variables.replication_lag_interval, variables.replication_lag_timeout),
        ping_failures: variables.ping_max_failures,
        read_only_timeouts: variables.read_only_max_timeout_count,
        lag_checks: variables.replication_lag_count,
        writer_is_also_reader: variables.writer_is_also_reader,
    }
}
