//! What SQLite holds in memory, and giving back what statistics took.

use std::collections::HashMap;

use config::schema::{
    MYSQL_FIREWALL_WHITELIST_RULES, MYSQL_FIREWALL_WHITELIST_USERS, MYSQL_QUERY_RULES,
    MYSQL_QUERY_RULES_FAST_ROUTING, MYSQL_USERS, Scalar, Section,
};
use config::{Row, in_turns};
use rusqlite::Connection;

use super::Store;
use super::known::MEMORY;
use crate::answer::AdminError;
use crate::tables::{Schema, is_list};

/// Pages of 4 KiB that statistics may leave unused before the memory is given back: 1 MiB, which
/// takes no time to fill again.
const FREE_MAX_PAGES: i64 = 256;

impl Store {
    /// The rows of statistics about memory of which the data plane knows nothing.
    pub(crate) fn memory_rows(&self) -> HashMap<String, u64> {
        MEMORY.iter().filter_map(|name| Some(((*name).to_owned(), self.known_memory(name)?))).collect()
    }

    /// The value of a row of statistics about memory of which the data plane knows nothing: SQLite,
    /// and the rows that run, without what workers make of them.
    pub(crate) fn known_memory(&self, name: &str) -> Option<u64> {
        let sections: &[&'static Section] = match name {
            "SQLite3_memory_bytes" => return Some(self.memory_bytes()),
            "Auth_memory" => &[&MYSQL_USERS],
            "mysql_query_rules_memory" => &[&MYSQL_QUERY_RULES, &MYSQL_QUERY_RULES_FAST_ROUTING],
            "mysql_firewall_users_table" => &[&MYSQL_FIREWALL_WHITELIST_USERS],
            "mysql_firewall_rules_table" => &[&MYSQL_FIREWALL_WHITELIST_RULES],
            _ => return None,
        };
        let rows = sections.iter().flat_map(|section| in_turns(self.runtime.rows(section)));
        Some(rows.map(bytes_of).sum::<usize>() as u64)
    }

    /// Bytes of the databases that are in memory.
    fn memory_bytes(&self) -> u64 {
        let has_files = self.disk.is_some();
        let in_memory = |schema: &Schema| match schema {
            Schema::Main | Schema::Stats | Schema::Monitor => true,
            Schema::Disk | Schema::StatsHistory => !has_files,
        };
        let bytes = |schema: Schema| {
            pragma(&self.admin, schema, "page_count") * pragma(&self.admin, schema, "page_size")
        };
        let sum: i64 = Schema::ALL.into_iter().filter(in_memory).map(bytes).sum();
        u64::try_from(sum).unwrap_or(0)
    }
}

/// Empties those of the tables `names` that are statistics, and gives their memory back if it was
/// much (`admin-vacuum_stats`). They are filled again when they are read.
pub(super) fn clear_stats(connection: &Connection, names: &[String]) -> Result<(), AdminError> {
    let tables = Schema::Stats.tables();
    for name in names {
        if tables.iter().any(|(table, _)| table == name && !is_list(table)) {
            connection.execute(&format!("DELETE FROM stats.{name}"), [])?;
        }
    }
    if pragma(connection, Schema::Stats, "freelist_count") > FREE_MAX_PAGES {
        connection.execute_batch("VACUUM stats")?;
    }
    Ok(())
}

/// Bytes of a row.
fn bytes_of(row: &Row) -> usize {
    let texts = row.cells().iter().map(|cell| if let Scalar::Text(text) = cell { text.len() } else { 0 });
    size_of::<Row>() + size_of_val(row.cells()) + texts.sum::<usize>()
}

/// A number that SQLite tells of a schema; 0 if it does not.
fn pragma(connection: &Connection, schema: Schema, name: &str) -> i64 {
    connection.pragma_query_value(Some(schema.name()), name, |row| row.get(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::*;
    use crate::answer::Answer;
    use crate::layers::{Module, Move};

    #[test]
    fn rows_that_run_have_a_size() {
        let mut store = Store::open(None).unwrap();
        assert_eq!(store.known_memory("Auth_memory"), Some(0));
        store.admin.execute("INSERT INTO mysql_users (username) VALUES (?1)", ["u".repeat(10_000)]).unwrap();
        let loaded = store.shift(Module::MysqlUsers, Move::MemoryToRuntime, "t");
        assert!(matches!(loaded, Answer::Ok { .. }), "{loaded:?}");
        assert!((10_000..20_000).contains(&store.known_memory("Auth_memory").unwrap()));
        assert!(store.known_memory("SQLite3_memory_bytes").is_some_and(|bytes| bytes > 0));
        assert_eq!(store.known_memory("jemalloc_resident"), None);
    }

    #[test]
    fn statistics_that_were_read_give_their_memory_back() {
        let mut store = Store::open(None).unwrap();
        let empty = store.memory_bytes();
        let text = |n: u32| Value::Text(format!("{n}{}", "x".repeat(100)));
        let rows = (0..20_000).map(|n| vec![text(n), text(n)]);
        store.filling().refill("stats_mysql_global", rows).unwrap();
        assert!(store.memory_bytes() > empty + (4 << 20));
        clear_stats(&store.admin, &["stats_mysql_global".to_owned(), "runtime_mysql_users".to_owned()])
            .unwrap();
        let left = store.memory_bytes();
        assert!(left < empty + (1 << 20), "{left} of {empty}");
        let count: i64 = store
            .admin
            .query_row("SELECT COUNT(*) FROM stats.stats_mysql_global", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 0);
    }
}
