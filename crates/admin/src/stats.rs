//! The statistics tables and others that the data plane knows: which of them a statement names, and
//! what there is for them.

pub(crate) mod advice;
mod cached;
mod digests;
mod listed;
mod prepared;
pub(crate) mod prometheus;
mod tables;

use observe::rows::DigestStats;
use rusqlite::types::Value;

use crate::answer::AdminError;
use crate::plane::DataPlane;
use crate::store::Store;
use crate::who::Rights;

use self::tables::TABLES;

/// How the names of tables begin that hold statistics.
const STATS: &str = "stats_";

/// The table that keeps what was dumped there.
const EVENTS: &str = "stats_mysql_query_events";

/// How the names of tables begin that show what the proxy runs with.
const RUNTIME: &str = "runtime_";

/// How the names of tables begin that hold what checks of servers found.
const CHECKS: &str = "mysql_server_";

/// The table of what clients may name, which servers know.
const COLLATIONS: &str = "mysql_collations";

/// Fills every table of statistics that `sql` names, and for admins those of the runtime and of
/// collations.
pub(crate) fn refresh(
    sql: &str,
    rights: Rights,
    store: &mut Store,
    plane: &dyn DataPlane,
) -> Result<(), AdminError> {
    let names = names(sql);
    for table in &TABLES {
        let plain = names.iter().any(|name| name == table.name);
        let reset = table.reset.filter(|twin| names.iter().any(|name| name == twin));
        if !plain && reset.is_none() {
            continue;
        }
        // One reading for both: what is reset is lost.
        let mut rows = (table.rows)(plane, reset.is_some());
        add_known(&mut rows, store);
        if let Some(twin) = reset {
            store.refill(twin, rows.iter().cloned())?;
        }
        if plain {
            store.refill(table.name, rows)?;
        }
    }
    for (table, kind) in tables::CHECKS {
        if names.iter().any(|name| name == table) {
            let rows = plane.checks(kind).into_iter().map(|result| tables::check_result(kind, result));
            store.refill_checks(table, rows)?;
        }
    }
    if names.iter().any(|name| name == tables::AURORA_CHECKS) {
        store.refill_checks(
            tables::AURORA_CHECKS,
            plane.aurora_checks().into_iter().map(tables::aurora_checks),
        )?;
    }
    if names.iter().any(|name| name == tables::AURORA_FAILOVERS) {
        let rows = plane.aurora_failovers().into_iter().map(tables::aurora_failover);
        store.refill_checks(tables::AURORA_FAILOVERS, rows)?;
    }
    digests::refresh(&names, store, plane);
    prepared::refresh(&names, store, plane);
    if rights == Rights::Admin {
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
    }
    Ok(())
}

/// Empties the statistics that `sql` names, as ProxySQL does after each statement with
/// `admin-vacuum_stats`.
pub(crate) fn clear(sql: &str, store: &mut Store) -> Result<(), AdminError> {
    let mut names = names(sql);
    names.retain(|name| name != EVENTS);
    if names.iter().any(|name| name.starts_with(STATS)) { store.clear_stats(&names) } else { Ok(()) }
}

/// Puts what only the owner of SQLite knows into the rows that are names and values.
fn add_known(rows: &mut [tables::Row], store: &Store) {
    for row in rows {
        if let [Value::Text(name), value] = &mut row[..]
            && let Some(bytes) = store.known_memory(name)
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
fn names(sql: &str) -> Vec<String> {
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
