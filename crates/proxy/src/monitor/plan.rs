//! What a configuration says about watching servers.

use std::collections::HashSet;
use std::time::Duration;

use config::{
    AuroraHostgroups, BehindIn, ClusterHostgroups, Config, Endpoint, MonitorVariables, Server, ServerStatus,
    ServersDefaults, WritersRead,
};
use monitor::{
    AlsoRead, AuroraLimits, Cluster, GaleraLimits, GroupLimits, Pace, Pair, Plan, Row, Settings, Spare,
    Topology,
};

/// Its servers, pairs and clusters.
pub(super) fn plan(config: &Config) -> Plan<Endpoint> {
    let pair = |row: &config::ReplicationHostgroups| Pair {
        writer: row.writer_hostgroup,
        reader: row.reader_hostgroup,
    };
    Plan {
        settings: settings(&config.monitor),
        rows: config.servers.iter().map(|server| row(server, config)).collect(),
        pairs: config.replication_hostgroups.iter().map(pair).collect(),
        clusters: clusters(config),
    }
}

/// A server of it.
pub(super) fn row(server: &Server, config: &Config) -> Row<Endpoint> {
    let attributes = config.hostgroup_attributes.iter().find(|row| row.hostgroup_id == server.hostgroup_id);
    let when_unknown = attributes.and_then(|row| row.hostgroup_settings.monitor_slave_lag_when_null);
    Row {
        hostgroup: server.hostgroup_id,
        server: server.endpoint(),
        in_use: !matches!(server.status, ServerStatus::OfflineSoft | ServerStatus::OfflineHard),
        weight: server.weight,
        max_lag: Some(server.max_replication_lag).filter(|lag| !lag.is_zero()),
        lag_when_unknown: when_unknown.map_or(config.monitor.slave_lag_when_null, Duration::from_secs),
    }
}

fn clusters(config: &Config) -> Vec<Cluster> {
    let groups = config.group_replication_hostgroups.iter().filter(|row| row.active);
    let galera = config.galera_hostgroups.iter().filter(|row| row.active);
    let clusters = groups.map(|row| group(row, config));
    let clusters = clusters.chain(galera.map(|row| self::galera(row, config)));
    let aurora = config.aurora_hostgroups.iter().filter(|row| row.active);
    clusters.chain(aurora.map(self::aurora)).collect()
}

/// Questions in a row that a server of Aurora does not answer before it is used no more: there is no variable for it.
const AURORA_MISSES: u32 = 3;

fn aurora(row: &AuroraHostgroups) -> Cluster {
    let samples = usize::try_from(row.lag_num_checks).unwrap_or(usize::MAX);
    Cluster {
        writer: row.writer_hostgroup,
        reader: row.reader_hostgroup,
        spare: None,
        max_writers: 1,
        also_read: if row.writer_is_also_reader { AlsoRead::Writers } else { AlsoRead::Nobody },
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
            WritersRead::No => AlsoRead::Nobody,
            WritersRead::All => AlsoRead::Writers,
            WritersRead::Backups => AlsoRead::Backups,
        },
        new_weight: defaults(config, row.writer_hostgroup).weight.unwrap_or(1),
        topology,
    }
}

/// What the operator wants of servers that are discovered.
fn defaults(config: &Config, writer: u32) -> ServersDefaults {
    let attributes = config.hostgroup_attributes.iter().find(|row| row.hostgroup_id == writer);
    attributes.map_or_else(ServersDefaults::default, |row| ServersDefaults::read(&row.servers_defaults))
}

/// The rows of servers that were discovered, by the writer hostgroups of the clusters that name them: those that `config` has a
/// cluster for and no row. They are used as the first server of the cluster that has a row, where `servers_defaults` of the
/// writer hostgroup says nothing else.
pub(super) fn discovered_servers(config: &Config, found: &[(u32, Endpoint)]) -> Vec<Server> {
    if found.is_empty() {
        return Vec::new();
    }
    let clusters = clusters(config);
    let configured: HashSet<(u32, Endpoint)> =
        config.servers.iter().map(|server| (server.hostgroup_id, server.endpoint())).collect();
    let server = |(writer, endpoint): &(u32, Endpoint)| {
        let cluster = clusters.iter().find(|cluster| cluster.writer == *writer)?;
        if cluster.hostgroups().any(|hostgroup| configured.contains(&(hostgroup, endpoint.clone()))) {
            return None;
        }
        let Endpoint::Tcp { host, port } = endpoint else { return None };
        let is_like = |server: &&Server| cluster.hostgroups().any(|id| id == server.hostgroup_id);
        let like = config.servers.iter().find(is_like).cloned().unwrap_or_default();
        let defaults = defaults(config, *writer);
        Some(Server {
            hostgroup_id: cluster.waiting_room(),
            hostname: host.clone(),
            port: *port,
            status: ServerStatus::Online,
            weight: cluster.new_weight,
            max_connections: defaults.max_connections.unwrap_or(like.max_connections),
            use_ssl: defaults.use_ssl.unwrap_or(like.use_ssl),
            comment: "discovered".to_owned(),
            ..like
        })
    };
    found.iter().filter_map(server).collect()
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
