//! The history of the statistics: samples at intervals, sums of whole hours, and what is too old
//! for either.
//!
//! Source of tables, intervals and how long they are kept: ProxySQL 2.7's schema `stats_history`.
//! Counters are kept as the largest value of an hour, what grows and shrinks as its mean.

mod series;

use std::collections::HashMap;

use observe::plane::DataPlane;
use rusqlite::{Connection, Transaction, TransactionBehavior, params_from_iter};

use self::series::{SERIES, Series};
use crate::events::Sink;
use crate::{events, stats};

/// Seconds that samples are kept.
const SAMPLES_KEPT_S: u64 = 7 * 86_400;

/// Seconds that sums of hours are kept.
const HOURS_KEPT_S: u64 = 365 * 86_400;

/// Seconds of an hour.
const HOUR_S: u64 = 3600;

/// Which samples are due, and when the last ones were taken.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Seconds between two samples by the variable that says so, without `admin-`; 0 for none.
    intervals: HashMap<&'static str, u64>,
    /// When the last sample of each was taken.
    last: HashMap<&'static str, u64>,
    /// The hour in which old samples were last looked through.
    hour: u64,
}

/// What the samples of one moment are made of.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    globals: HashMap<&'static str, u64>,
    memory: HashMap<&'static str, u64>,
    /// Ticks of the clock that the process has used: its own, and the system's for it.
    cpu: (u64, u64),
}

/// The variables that say how often samples are taken.
pub(crate) const INTERVALS: [&str; 7] = [
    "stats_mysql_connections",
    "stats_mysql_connection_pool",
    "stats_mysql_query_cache",
    "stats_system_cpu",
    "stats_system_memory",
    DIGESTS_TO_DISK,
    EVENTS_TO_DISK,
];

/// The variable that says how often digests are moved into the history.
const DIGESTS_TO_DISK: &str = "stats_mysql_query_digest_to_disk";

/// The same of events of the query log.
const EVENTS_TO_DISK: &str = "stats_mysql_eventslog_sync_buffer_to_disk";

impl History {
    /// Sets how often samples are taken; `seconds` gives the value of a variable.
    pub(crate) fn set_intervals(&mut self, seconds: impl Fn(&str) -> u64) {
        self.intervals = INTERVALS.iter().map(|name| (*name, seconds(name))).collect();
    }

    /// The samples that are due at `now`, in seconds of Unix time; from then on they count as
    /// taken.
    pub(crate) fn due(&mut self, now: u64) -> Vec<&'static str> {
        let mut due = Vec::new();
        for name in INTERVALS {
            let interval = self.intervals.get(name).copied().unwrap_or(0);
            // The first sample is taken after one interval, and a clock that was set back does not
            // stop them.
            let last = *self.last.entry(name).or_insert(now);
            if interval > 0 && now.abs_diff(last) >= interval {
                self.last.insert(name, now);
                due.push(name);
            }
        }
        due
    }

    /// Whether an hour has begun since the last call.
    pub(crate) fn hour_begins(&mut self, now: u64) -> bool {
        let hour = now / HOUR_S;
        std::mem::replace(&mut self.hour, hour) != hour
    }
}

impl Facts {
    /// What there is to say now.
    pub(crate) fn of(plane: &dyn DataPlane) -> Self {
        Self {
            globals: plane.globals().into_iter().collect(),
            memory: plane.memory().into_iter().collect(),
            cpu: cpu().unwrap_or_default(),
        }
    }
}

/// Ticks of the clock that the process has used, from the 14th and 15th field of `/proc/self/stat`
/// (proc(5)).
fn cpu() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Writes the samples that are due.
pub(crate) fn sample(
    connection: &Connection,
    due: &[&str],
    now: u64,
    plane: &dyn DataPlane,
) -> rusqlite::Result<()> {
    let facts = Facts::of(plane);
    let transaction = connection.unchecked_transaction()?;
    for series in SERIES.iter().filter(|series| due.contains(&series.interval)) {
        insert(&transaction, series, now, &facts)?;
    }
    if due.contains(&"stats_mysql_connections") {
        status_variables(&transaction, now, &facts)?;
    }
    if due.contains(&"stats_mysql_connection_pool") {
        connection_pool(&transaction, now, plane)?;
    }
    transaction.commit()?;
    if due.contains(&DIGESTS_TO_DISK) {
        save_digests(connection, now.cast_signed(), plane)?;
    }
    if due.contains(&EVENTS_TO_DISK) {
        events::dump(connection, plane, Sink::Disk, i64::MAX)?;
    }
    Ok(())
}

/// Moves all digests into the history, as of `now` in seconds of Unix time, and says how many there
/// were. If writing fails after it has begun, they are lost.
pub(crate) fn save_digests(
    connection: &Connection,
    now: i64,
    plane: &dyn DataPlane,
) -> rusqlite::Result<u64> {
    // If another connection writes to the database, this fails before the digests are taken.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let digests = plane.digests(true, false);
    {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO stats_history.history_mysql_query_digest VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        )?;
        for digest in &digests {
            let row = std::iter::once(now.into()).chain(stats::digest_row(digest));
            insert.execute(params_from_iter(row))?;
        }
    }
    transaction.commit()?;
    Ok(digests.len() as u64)
}

fn insert(connection: &Connection, series: &Series, now: u64, facts: &Facts) -> rusqlite::Result<()> {
    let columns = series.names();
    let places = ", ?".repeat(series.columns.len());
    let sql = format!(
        "INSERT OR REPLACE INTO stats_history.{} (timestamp, {columns}) VALUES (?{places})",
        series.table
    );
    let values = series.columns.iter().map(|column| (column.value)(facts));
    let row = std::iter::once(now).chain(values).map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    connection.prepare_cached(&sql)?.execute(params_from_iter(row)).map(drop)
}

fn status_variables(connection: &Connection, now: u64, facts: &Facts) -> rusqlite::Result<()> {
    let mut name = connection.prepare_cached(
        "INSERT OR IGNORE INTO stats_history.history_mysql_status_variables_lookup (variable_name) VALUES (?1)",
    )?;
    let mut value = connection.prepare_cached(
        "INSERT OR REPLACE INTO stats_history.history_mysql_status_variables (timestamp, variable_id, variable_value) \
         SELECT ?1, variable_id, ?3 FROM stats_history.history_mysql_status_variables_lookup WHERE variable_name=?2",
    )?;
    let now = now.cast_signed();
    for (variable, current) in &facts.globals {
        name.execute([variable])?;
        value.execute((now, variable, current.to_string()))?;
    }
    Ok(())
}

fn connection_pool(connection: &Connection, now: u64, plane: &dyn DataPlane) -> rusqlite::Result<()> {
    for row in stats::pool_rows(plane) {
        let places = ", ?".repeat(row.len());
        let sql = format!(
            "INSERT OR REPLACE INTO stats_history.history_stats_mysql_connection_pool VALUES (?{places})"
        );
        let row = std::iter::once(now.cast_signed().into()).chain(row);
        connection.prepare_cached(&sql)?.execute(params_from_iter(row))?;
    }
    Ok(())
}

/// Sums up the hours that are over, and forgets what is too old.
pub(crate) fn roll_up(connection: &Connection, now: u64) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let this_hour = now / HOUR_S * HOUR_S;
    let samples_from = now.saturating_sub(SAMPLES_KEPT_S);
    for series in &SERIES {
        let table = series.table;
        let (columns, sums) = (series.names(), series.sums());
        transaction.execute_batch(&format!(
            "INSERT OR REPLACE INTO stats_history.{table}_hour (timestamp, {columns}) \
             SELECT timestamp/{HOUR_S}*{HOUR_S}, {sums} FROM stats_history.{table} \
             WHERE timestamp >= (SELECT coalesce(max(timestamp)+{HOUR_S}, 0) FROM stats_history.{table}_hour) \
             AND timestamp < {this_hour} GROUP BY timestamp/{HOUR_S}; \
             DELETE FROM stats_history.{table} WHERE timestamp < {samples_from}; \
             DELETE FROM stats_history.{table}_hour WHERE timestamp < {};",
            now.saturating_sub(HOURS_KEPT_S)
        ))?;
    }
    transaction.execute_batch(&format!(
        "DELETE FROM stats_history.history_mysql_status_variables WHERE timestamp < {samples_from}; \
         DELETE FROM stats_history.history_stats_mysql_connection_pool WHERE timestamp < {samples_from}; \
         DELETE FROM stats_history.history_mysql_query_digest WHERE dump_time < {samples_from};"
    ))?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::FakePlane;

    #[test]
    fn samples_are_due_after_their_interval() {
        let mut history = History::default();
        history.set_intervals(|name| if name == "stats_system_cpu" { 60 } else { 0 });
        assert_eq!(history.due(1_000), [""; 0]);
        assert_eq!(history.due(1_059), [""; 0]);
        assert_eq!(history.due(1_060), ["stats_system_cpu"]);
        assert_eq!(history.due(1_061), [""; 0]);
        assert_eq!(history.due(1_200), ["stats_system_cpu"]);
        // The clock was set back, far enough.
        assert_eq!(history.due(600), ["stats_system_cpu"]);
    }

    #[test]
    fn an_hour_begins_once() {
        let mut history = History::default();
        assert!(history.hour_begins(7_200));
        assert!(!history.hour_begins(7_201));
        assert!(!history.hour_begins(10_799));
        assert!(history.hour_begins(10_800));
    }

    #[test]
    fn this_process_has_used_the_processor() {
        assert!(cpu().is_some());
    }

    fn count(connection: &Connection, sql: &str) -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn samples_become_rows_and_hours_and_are_forgotten() {
        let store = crate::Store::open(None).unwrap();
        let connection = store.connection();
        let start = 1_700_000_000 / HOUR_S * HOUR_S;
        for minute in 0..90 {
            sample(connection, &INTERVALS, start + minute * 60, &FakePlane::default()).unwrap();
        }
        roll_up(connection, start + 90 * 60).unwrap();
        roll_up(connection, start + 91 * 60).unwrap();
        for table in
            ["mysql_connections", "myhgm_connections", "mysql_query_cache", "system_cpu", "system_memory"]
        {
            assert_eq!(count(connection, &format!("SELECT COUNT(*) FROM stats_history.{table}")), 90);
            // The hour that is not over has no row.
            assert_eq!(count(connection, &format!("SELECT COUNT(*) FROM stats_history.{table}_hour")), 1);
        }
        assert_eq!(count(connection, "SELECT Questions FROM mysql_connections_hour"), 1_000);
        assert_eq!(count(connection, "SELECT resident FROM system_memory_hour"), 4096);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM history_stats_mysql_connection_pool"), 90);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM history_mysql_status_variables"), 630);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM history_mysql_status_variables_lookup"), 7);
        assert_eq!(count(connection, "SELECT SUM(count_star) FROM history_mysql_query_digest"), 540);
        roll_up(connection, start + SAMPLES_KEPT_S + 86_400).unwrap();
        assert_eq!(count(connection, "SELECT COUNT(*) FROM mysql_connections"), 0);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM history_mysql_status_variables"), 0);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM history_mysql_query_digest"), 0);
        assert_eq!(count(connection, "SELECT COUNT(*) FROM mysql_connections_hour"), 2);
        roll_up(connection, start + HOURS_KEPT_S + 86_400).unwrap();
        assert_eq!(count(connection, "SELECT COUNT(*) FROM mysql_connections_hour"), 0);
    }
}
