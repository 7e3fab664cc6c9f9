//! What SQLite holds in memory, and giving back what statistics took.

use rusqlite::Connection;

use super::Store;
use crate::answer::AdminError;
use crate::tables::{Schema, is_list};

/// Pages of 4 KiB that statistics may leave unused before the memory is given back: 1 MiB, which takes no time to fill again.
const FREE_MAX_PAGES: i64 = 256;

impl Store {
    /// Bytes of the databases that are in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
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

    /// Empties those of the tables `names` that are statistics, and gives their memory back if it was much
    /// (`admin-vacuum_stats`). They are filled again when somebody reads them.
    pub(crate) fn clear_stats<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), AdminError> {
        let tables = Schema::Stats.tables();
        for name in names {
            if tables.iter().any(|(table, _)| table == name && !is_list(table)) {
                self.admin.execute(&format!("DELETE FROM stats.{name}"), [])?;
            }
        }
        if pragma(&self.admin, Schema::Stats, "freelist_count") > FREE_MAX_PAGES {
            self.admin.execute_batch("VACUUM stats")?;
        }
        Ok(())
    }
}

/// A number that SQLite tells of a schema; 0 if it does not.
fn pragma(connection: &Connection, schema: Schema, name: &str) -> i64 {
    connection.pragma_query_value(Some(schema.name()), name, |row| row.get(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    #[test]
    fn statistics_that_were_read_give_their_memory_back() {
        let mut store = Store::open(None).unwrap();
        let empty = store.memory_bytes();
        let text = |n: u32| Value::Text(format!("{n}{}", "x".repeat(100)));
        let rows = (0..20_000).map(|n| vec![text(n), text(n)]);
        store.refill("stats_mysql_global", rows).unwrap();
        assert!(store.memory_bytes() > empty + (4 << 20));
        store.clear_stats(&["stats_mysql_global".to_owned(), "runtime_mysql_users".to_owned()]).unwrap();
        let left = store.memory_bytes();
        assert!(left < empty + (1 << 20), "{left} of {empty}");
        let count: i64 = store
            .admin
            .query_row("SELECT COUNT(*) FROM stats.stats_mysql_global", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 0);
    }
}
