//! The statistics tables and others that the data plane knows: which of them a statement names, and
//! what there is for them.

pub(crate) mod advice;
mod cached;
mod digests;
mod listed;
mod literals;
mod prepared;
pub(crate) mod prometheus;
mod tables;

use observe::plane::DataPlane;
use observe::rows::DigestStats;
use rusqlite::types::Value;

use crate::answer::AdminError;
use crate::store::{Filling, Store};
use crate::who::Rights;

use self::tables::TABLES;

/// How the names of tables begin that hold statistics.
const STATS: &str = "stats_";

/// The table that keeps what was dumped there.
pub(crate) const EVENTS: &str = "stats_mysql_query_events";

/// The tables with rows of which only the owner of SQLite knows the values.
pub(crate) const TELL_MEMORY: [&str; 2] = ["stats_mysql_global", "stats_memory_metrics"];

/// How the names of tables begin that show what the proxy runs with.
const RUNTIME: &str = "runtime_";

/// How the names of tables begin that hold what checks of servers found.
const CHECKS: &str = "mysql_server_";

/// The table of what clients may name, which servers know.
const COLLATIONS: &str = "mysql_collations";

/// Fills every table of statistics that is among `names`. `known` tells memory of which the data
/// plane knows nothing.
pub(crate) fn refresh(
    names: &[String],
    to: &mut Filling<'_>,
    known: &dyn Fn(&str) -> Option<u64>,
    plane: &dyn DataPlane,
) -> Result<(), AdminError> {
    let is_named = |table: &str| names.iter().any(|name| name == table);
    for table in &TABLES {
        let reset = table.reset.filter(|twin| is_named(twin));
        if !is_named(table.name) && reset.is_none() {
            continue;
        }
        // One reading for both: what is reset is lost.
        let mut rows = (table.rows)(plane, reset.is_some());
        add_known(&mut rows, known);
        if to.rights == Rights::Stats {
            literals::hide(table.name, &mut rows);
        }
        if let Some(twin) = reset {
            to.refill(twin, rows.iter().cloned())?;
        }
        if is_named(table.name) {
            to.refill(table.name, rows)?;
        }
    }
    for (table, kind) in tables::CHECKS {
        if is_named(table) {
            let rows = plane.checks(kind).into_iter().map(|result| tables::check_result(kind, result));
            to.refill_checks(table, rows)?;
        }
    }
    if is_named(tables::AURORA_CHECKS) {
        to.refill_checks(
            tables::AURORA_CHECKS,
            plane.aurora_checks().into_iter().map(tables::aurora_checks),
        )?;
    }
    if is_named(tables::AURORA_FAILOVERS) {
        let rows = plane.aurora_failovers().into_iter().map(tables::aurora_failover);
        to.refill_checks(tables::AURORA_FAILOVERS, rows)?;
    }
    digests::refresh(names, to, plane);
    prepared::refresh(names, to, plane);
    Ok(())
}

/// The same for tables that only admins have: those of the runtime and of collations.
pub(crate) fn refresh_runtime(
    names: &[String],
    store: &mut Store,
    plane: &dyn DataPlane,
) -> Result<(), AdminError> {
    if names.iter().any(|name| name == COLLATIONS) {
        let collations = plane.collations();
        // Where no server says, the list of the start or the last one is better than none.
        if !collations.is_empty() {
            store.set_collations(&collations)?;
        }
    }
    for name in names.iter().filter(|name| name.starts_with(RUNTIME)) {
        store.refresh_runtime(name)?;
    }
    Ok(())
}

/// Those of `names` whose statistics ProxySQL empties after each statement with
/// `admin-vacuum_stats`; nothing if there are none.
pub(crate) fn to_clear(mut names: Vec<String>) -> Option<Vec<String>> {
    names.retain(|name| name != EVENTS);
    names.iter().any(|name| name.starts_with(STATS)).then_some(names)
}

/// Puts what only the owner of SQLite knows into the rows that are names and values.
fn add_known(rows: &mut [tables::Row], known: &dyn Fn(&str) -> Option<u64>) {
    for row in rows {
        if let [Value::Text(name), value] = &mut row[..]
            && let Some(bytes) = known(name)
        {
            *value = tables::text(bytes.to_string());
        }
    }
}

/// The rows of `stats_mysql_connection_pool` as they are now.
pub(crate) fn pool_rows(plane: &dyn DataPlane) -> Vec<Vec<Value>> {
    plane.pool(false).into_iter().map(tables::pool_server).collect()
}

/// A row of `stats_mysql_query_digest`.
pub(crate) fn digest_row(digest: &DigestStats) -> Vec<Value> {
    digests::digest(digest)
}

/// The words of `sql` that may be names of tables which are filled when they are read, in lower
/// case, each once.
pub(crate) fn names(sql: &str) -> Vec<String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names: Vec<String> = Vec::new();
    for word in sql.split(|c| !is_letter(c)) {
        let is_name = [STATS, RUNTIME, COLLATIONS, CHECKS]
            .iter()
            .any(|start| word.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)));
        let name = word.to_ascii_lowercase();
        if is_name && !names.contains(&name) {
            names.push(name);
            if names.len() == NAMES_MAX {
                break;
            }
        }
    }
    names
}

/// Names in one statement that are looked at: more than there are tables.
const NAMES_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words_in_any_case() {
        let sql = "SELECT * FROM stats.Stats_MySQL_Global g JOIN `stats_mysql_users_reset` WHERE x='runtime_a' \
                   OR stats_mysql_global = 1 OR xstats_y OR stat";
        assert_eq!(names(sql), ["stats_mysql_global", "stats_mysql_users_reset", "runtime_a"]);
    }

    #[test]
    fn no_statement_names_more_tables_than_there_are() {
        let sql: Vec<String> = (0..1_000).map(|n| format!("stats_{n}")).collect();
        assert_eq!(names(&sql.join(",")).len(), NAMES_MAX);
    }
}
