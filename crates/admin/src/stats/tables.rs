//! What the data plane has for each statistics table: cells in the order of the table's columns.
//!
//! Source of tables and columns: ProxySQL 2.7's schema `stats`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use net::clock::millis;
use observe::micros;
use observe::plane::{Check, DataPlane};
use observe::rows::{
    AuroraCheckStats, AuroraFailover, CheckStats, ClientHost, CommandCounts, Detail, ErrorStats,
    FreeConnection, GtidStats, InjectionStats, NO_HOSTGROUP, ServerEvent, ServerStats, SessionStats,
    ShardDdl, UserConnections,
};
use rusqlite::types::Value;

use super::cached;
use crate::store::from_unix_time;

/// A row of any of them.
pub(super) type Row = Vec<Value>;

/// A table that is filled when it is read.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// Its twin, whose reading makes the counters start again.
    pub(super) reset: Option<&'static str>,
    /// The rows of now.
    pub(super) rows: fn(&dyn DataPlane, bool) -> Vec<Row>,
}

/// All tables that have something in them.
pub(super) static TABLES: [Table; 17] = [
    Table { name: "stats_mysql_global", reset: None, rows: |plane, _| pairs(plane.globals()) },
    Table { name: "stats_memory_metrics", reset: None, rows: |plane, _| pairs(plane.memory()) },
    Table {
        name: "stats_mysql_connection_pool",
        reset: Some("stats_mysql_connection_pool_reset"),
        rows: |plane, reset| plane.pool(reset).into_iter().map(pool_server).collect(),
    },
    Table {
        name: "stats_mysql_free_connections",
        reset: None,
        rows: |plane, _| plane.free_connections().into_iter().map(free_connection).collect(),
    },
    Table {
        name: "stats_mysql_errors",
        reset: Some("stats_mysql_errors_reset"),
        rows: |plane, reset| plane.errors(reset).into_iter().map(server_error).collect(),
    },
    Table {
        name: "stats_mysql_gtid_executed",
        reset: None,
        rows: |plane, _| plane.gtids().into_iter().map(executed).collect(),
    },
    Table {
        name: "stats_mysql_processlist",
        reset: None,
        rows: |plane, _| plane.processes().into_iter().map(process).collect(),
    },
    Table { name: "stats_pointsman_pins", reset: None, rows: |plane, _| pins(&plane.processes()) },
    Table {
        name: "stats_pointsman_sqli_fingerprints",
        reset: None,
        rows: |plane, _| plane.injections().into_iter().map(injection).collect(),
    },
    Table { name: "stats_pointsman_sources", reset: None, rows: |plane, _| cached::sources(plane) },
    Table { name: "stats_pointsman_cache", reset: Some("stats_pointsman_cache_reset"), rows: cached::rows },
    Table {
        name: "stats_mysql_commands_counters",
        reset: None,
        rows: |plane, _| plane.commands().iter().map(command).collect(),
    },
    Table {
        name: "stats_mysql_users",
        reset: None,
        rows: |plane, _| plane.users().into_iter().map(user).collect(),
    },
    Table {
        name: "stats_pointsman_server_events",
        reset: None,
        rows: |plane, _| plane.server_events().into_iter().map(server_event).collect(),
    },
    Table {
        name: "stats_pointsman_shard_ddl",
        reset: None,
        rows: |plane, _| plane.shard_ddl().into_iter().map(shard_ddl).collect(),
    },
    Table {
        name: "stats_mysql_query_rules",
        reset: None,
        rows: |plane, _| plane.rule_hits().into_iter().map(rule_hits).collect(),
    },
    Table {
        name: "stats_mysql_client_host_cache",
        reset: Some("stats_mysql_client_host_cache_reset"),
        rows: |plane, reset| plane.client_hosts(reset).iter().map(client_host).collect(),
    },
];

/// A number; what is too large for SQLite is the largest that it has.
pub(super) fn number(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

fn optional(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

fn shard_ddl(step: ShardDdl) -> Row {
    vec![
        number(step.id),
        text(step.statement),
        text(step.tables),
        Value::Integer(step.hostgroup.into()),
        text(step.node),
        text(step.state),
        text(step.error),
        Value::Integer(step.is_running.into()),
    ]
}

fn rule_hits((rule, matches): (i64, u64)) -> Row {
    vec![Value::Integer(rule), number(matches)]
}

/// Bytes of a statement as text: what is no UTF-8 in them is shown as such.
fn lossy(bytes: Option<Vec<u8>>) -> Value {
    optional(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn pairs(values: Vec<(&'static str, u64)>) -> Vec<Row> {
    values.into_iter().map(|(name, value)| vec![text(name), text(value.to_string())]).collect()
}

/// The tables of `monitor` that have something in them, and what was checked.
pub(super) const CHECKS: [(&str, Check); 7] = [
    ("mysql_server_connect_log", Check::Connect),
    ("mysql_server_ping_log", Check::Ping),
    ("mysql_server_read_only_log", Check::ReadOnly),
    ("mysql_server_replication_lag_log", Check::Lag),
    ("mysql_server_group_replication_log", Check::Group),
    ("mysql_server_galera_log", Check::Galera),
    ("mysql_server_aws_aurora_log", Check::Aurora),
];

/// The table with the numbers of checks of Aurora clusters.
pub(super) const AURORA_CHECKS: &str = "mysql_server_aws_aurora_check_status";

/// The table with the changes of their writers.
pub(super) const AURORA_FAILOVERS: &str = "mysql_server_aws_aurora_failovers";

/// A row of the first one.
pub(super) fn aurora_checks(checks: AuroraCheckStats) -> Row {
    let AuroraCheckStats { writer_hostgroup, host, port, last_us, total, well, error } = checks;
    let last = text(moment(last_us));
    let (total, well) = (number(total), number(well));
    vec![number(writer_hostgroup.into()), text(host), number(port.into()), last, total, well, optional(error)]
}

/// A row of the second one.
pub(super) fn aurora_failover(failover: AuroraFailover) -> Row {
    let AuroraFailover { writer_hostgroup, host, time_us } = failover;
    vec![number(writer_hostgroup.into()), text(host), text(moment(time_us))]
}

/// `YYYY-MM-DD hh:mm:ss` in UTC; of microseconds of Unix time.
fn moment(unix_us: u64) -> String {
    from_unix_time((unix_us / 1_000_000).cast_signed())
}

/// A row of one of them.
pub(super) fn check_result(kind: Check, result: CheckStats) -> Row {
    let CheckStats { host, port, start_us, took_us, value, details, error } = result;
    let mut row = vec![text(host), number(port.into()), number(start_us), number(took_us)];
    match kind {
        Check::Connect | Check::Ping | Check::Replicas | Check::Rds => {}
        Check::ReadOnly | Check::Lag => {
            row.push(value.map_or(Value::Null, Value::Integer));
        }
        Check::Group if details.is_empty() => {
            row.extend([text("NO"), text("YES"), Value::Integer(0)]);
        }
        Check::Galera if details.is_empty() => {
            let no = || text("NO");
            row.extend([no(), text("YES"), Value::Integer(0), Value::Integer(0), no(), no(), no(), no()]);
        }
        Check::Aurora => {
            row.push(optional(error));
            let no_row =
                [text(""), Value::Null, Value::Null, Value::Integer(0), Value::Integer(0), Value::Integer(0)];
            let is_empty = details.is_empty();
            row.extend(details.into_iter().map(detail));
            row.extend(no_row.into_iter().filter(|_| is_empty));
            return row;
        }
        Check::Group | Check::Galera => row.extend(details.into_iter().map(detail)),
    }
    row.push(optional(error));
    row
}

fn detail(detail: Detail) -> Value {
    match detail {
        Detail::Text(said) => text(said),
        Detail::Number(number) => Value::Integer(number),
    }
}

fn server_event(event: ServerEvent) -> Row {
    let ServerEvent { time_us, hostgroup, host, port, event, cause } = event;
    vec![number(time_us), number(hostgroup.into()), text(host), number(port.into()), text(event), text(cause)]
}

/// A row of `stats_mysql_connection_pool`.
pub(super) fn pool_server(server: ServerStats) -> Row {
    vec![
        number(server.hostgroup.into()),
        text(server.host),
        number(server.port.into()),
        text(server.status),
        number(server.used.into()),
        number(server.free.into()),
        number(server.opened),
        number(server.failed),
        number(server.most_used.into()),
        number(server.queries),
        number(server.synced),
        number(server.bytes_sent),
        number(server.bytes_received),
        number(micros(server.latency)),
    ]
}

fn executed(gtids: GtidStats) -> Row {
    let GtidStats { host, port, executed, events } = gtids;
    vec![text(host), number(port.into()), optional(executed), number(events)]
}

fn free_connection(connection: FreeConnection) -> Row {
    vec![
        Value::Integer(connection.fd.into()),
        number(connection.hostgroup.into()),
        text(connection.host),
        number(connection.port.into()),
        text(connection.user),
        optional(connection.schema),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        number(millis(connection.idle)),
        Value::Null,
        Value::Null,
    ]
}

fn server_error(error: ErrorStats) -> Row {
    let hostgroup = if error.hostgroup == NO_HOSTGROUP { -1 } else { i64::from(error.hostgroup) };
    vec![
        Value::Integer(hostgroup),
        text(error.host),
        number(error.port.into()),
        text(error.user),
        text(error.client),
        text(error.schema),
        number(error.code.into()),
        number(error.count),
        number(error.first_seen),
        number(error.last_seen),
        text(error.message),
    ]
}

fn injection(injection: InjectionStats) -> Row {
    let InjectionStats { fingerprint, found, passed, digest } = injection;
    vec![text(fingerprint), number(found), number(passed), text(format!("0x{digest:016X}"))]
}

/// Who keeps connections from others, and why: one row for each reason, user and hostgroup.
fn pins(processes: &[SessionStats]) -> Vec<Row> {
    let mut rows: BTreeMap<(&str, &str, u32), (u64, Duration, u32)> = BTreeMap::new();
    for process in processes {
        let Some((reason, time)) = process.pin else { continue };
        let key = (reason, process.user.as_str(), process.hostgroup);
        let (sessions, oldest, session) = rows.entry(key).or_default();
        *sessions += 1;
        if *sessions == 1 || time > *oldest {
            (*oldest, *session) = (time, process.id);
        }
    }
    let row = |((reason, user, hostgroup), (sessions, oldest, session)): (
        (&str, &str, u32),
        (u64, Duration, u32),
    )| {
        vec![
            text(reason),
            text(user),
            number(hostgroup.into()),
            number(sessions),
            number(millis(oldest)),
            number(session.into()),
        ]
    };
    rows.into_iter().map(row).collect()
}

fn process(process: SessionStats) -> Row {
    let end = |end: Option<(String, u16)>| match end {
        Some((host, port)) => (text(host), number(port.into())),
        None => (Value::Null, Value::Null),
    };
    let address = |(ip, port): (IpAddr, u16)| (ip.to_string(), port);
    let (client_host, client_port) = process.client.map_or_else(|| ("localhost".to_owned(), 0), address);
    let (local_host, local_port) = end(process.local.map(address));
    let (server_host, server_port) = end(process.server);
    vec![
        number(process.worker.into()),
        number(process.id.into()),
        text(process.user),
        optional(process.schema),
        text(client_host),
        number(client_port.into()),
        number(process.hostgroup.into()),
        local_host,
        local_port,
        server_host,
        server_port,
        text(process.command),
        number(millis(process.time)),
        lossy(process.statement),
        number(0),
        optional(process.extended.or_else(|| {
            process.pin.map(|(pin, time)| format!(r#"{{"pinned_by":"{pin}","pinned_ms":{}}}"#, millis(time)))
        })),
    ]
}

fn command(counter: &CommandCounts) -> Row {
    let CommandCounts { command, times } = counter;
    let mut row = vec![text(*command), number(times.total_us), number(times.count)];
    row.extend(times.buckets.map(number));
    row
}

fn user(user: UserConnections) -> Row {
    vec![text(user.user), number(user.connections.into()), number(user.max.into())]
}

fn client_host(host: &ClientHost) -> Row {
    vec![text(host.address.to_string()), number(host.errors), number(micros(host.last))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_columns_of_their_tables() {
        assert_eq!(pool_server(ServerStats::default()).len(), 14);
        assert_eq!(free_connection(FreeConnection::default()).len(), 13);
        assert_eq!(server_error(ErrorStats::default()).len(), 11);
        assert_eq!(process(SessionStats::default()).len(), 16);
        assert_eq!(command(&CommandCounts::default()).len(), 15);
        assert_eq!(user(UserConnections::default()).len(), 3);
        let host = ClientHost { address: [0; 4].into(), errors: 0, last: Duration::ZERO };
        assert_eq!(client_host(&host).len(), 3);
    }

    #[test]
    fn numbers_that_sqlite_does_not_have_are_its_largest() {
        assert_eq!(number(u64::MAX), Value::Integer(i64::MAX));
        assert_eq!(number(7), Value::Integer(7));
    }
}
