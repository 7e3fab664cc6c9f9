//! Checksums: those of layers that operators ask for, and those of runtime that proxies of a
//! cluster compare.

use config::schema::{MYSQL_SERVERS, Section, Shape};
use config::{Draft, in_turns};
use rusqlite::types::{Value, ValueRef};

use crate::answer::{AdminError, Answer};
use crate::layers::Module;
use crate::store::{Store, now, shown, values};

/// The seeds of ProxySQL's checksums of result sets.
const SEEDS: (u64, u64) = (19, 3);

/// The rows of `runtime_checksums_values`, in its order.
const NAMES: [&str; 7] = [
    "admin_variables",
    "mysql_query_rules",
    "mysql_servers",
    "mysql_servers_v2",
    "mysql_users",
    "mysql_variables",
    "proxysql_servers",
];

/// How often each module was loaded to runtime, when, and what it holds.
#[derive(Debug, Default)]
pub(crate) struct Checksums {
    entries: [Entry; NAMES.len()],
}

#[derive(Debug, Default, Clone)]
struct Entry {
    version: i64,
    epoch: i64,
    checksum: u64,
}

impl Checksums {
    /// Takes note of a load of `module`, after which `runtime` runs.
    pub(crate) fn loaded(&mut self, module: Module, runtime: &Draft) {
        let names: &[&str] = match module {
            Module::AdminVariables => &["admin_variables"],
            Module::MysqlQueryRules => &["mysql_query_rules"],
            Module::MysqlServers => &["mysql_servers", "mysql_servers_v2"],
            Module::MysqlUsers => &["mysql_users"],
            Module::MysqlVariables => &["mysql_variables"],
            Module::ProxysqlServers => &["proxysql_servers"],
            _ => &[],
        };
        let sections = module.sections();
        for (entry, name) in self.entries.iter_mut().zip(NAMES).filter(|(_, name)| names.contains(name)) {
            // The one is about servers, the other about all tables of the module.
            let hashed = if name == "mysql_servers" { &[&MYSQL_SERVERS] } else { sections };
            *entry = Entry { version: entry.version + 1, epoch: now(), checksum: of_rows(runtime, hashed) };
        }
    }

    /// The rows of `runtime_checksums_values`.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        let row = |(name, entry): (&str, &Entry)| {
            let checksum = if entry.version == 0 { String::new() } else { padded(entry.checksum) };
            vec![
                Value::Text(name.to_owned()),
                Value::Integer(entry.version),
                Value::Integer(entry.epoch),
                Value::Text(checksum),
            ]
        };
        NAMES.into_iter().zip(&self.entries).map(row).collect()
    }

    /// The modules that were loaded, each with the upper 53 bits of its checksum, which a metric
    /// holds exactly.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let loaded = |(name, entry): (_, &Entry)| (entry.version > 0).then_some((name, entry.checksum >> 11));
        NAMES.into_iter().zip(&self.entries).filter_map(loaded)
    }

    /// One number for all of them.
    fn all(&self) -> u64 {
        let text: Vec<String> = self.entries.iter().map(|entry| padded(entry.checksum)).collect();
        sql::spooky::hash64(text.concat().as_bytes())
    }
}

/// The checksum of the rows of sections in their order: SpookyHash of all values as text, as
/// ProxySQL makes it of a result set. 0 without rows.
fn of_rows(draft: &Draft, sections: &[&'static Section]) -> u64 {
    let mut text = Vec::new();
    let mut some = false;
    for section in sections {
        if section.shape == Shape::Group {
            // What every proxy has for itself does not count.
            for (name, value) in values(draft, section) {
                if !["mysql-interfaces", "mysql-threads", "admin-mysql_ifaces", "admin-version"]
                    .contains(&name.as_str())
                {
                    text.extend_from_slice(name.as_bytes());
                    text.extend_from_slice(value.as_bytes());
                }
            }
            some = true;
        }
        for row in in_turns(draft.rows(section)).filter(|_| section.shape == Shape::Rows) {
            row.cells().iter().for_each(|cell| text.extend_from_slice(shown(cell).as_bytes()));
            some = true;
        }
    }
    if some { hash(&text) } else { 0 }
}

fn hash(text: &[u8]) -> u64 {
    sql::spooky::hash128(text, SEEDS.0, SEEDS.1).0
}

/// A checksum as `CHECKSUM` shows it: `0x`, then the lower and the upper half, each without leading
/// zeros.
fn plain(checksum: u64) -> String {
    format!("0x{:X}{:X}", checksum & 0xffff_ffff, checksum >> 32)
}

/// The same, filled up to 16 digits with zeros at the end.
fn padded(checksum: u64) -> String {
    format!("{:0<18}", plain(checksum))
}

impl Store {
    /// `CHECKSUM [DISK|MEMORY] MYSQL ...`: `schema` is `main` or `disk`, `table` a configuration
    /// table or `global_variables` (of which the `mysql-` rows count), `title` what the answer
    /// calls it.
    pub fn checksum(&self, schema: &str, table: &str, title: &str) -> Answer {
        match self.hash_table(schema, table) {
            Ok(checksum) => Answer::Rows {
                columns: vec!["table".to_owned(), "checksum".to_owned()],
                rows: vec![vec![Some(title.into()), Some(plain(checksum).into_bytes())]],
            },
            Err(error) => AdminError::from(error).into(),
        }
    }

    fn hash_table(&self, schema: &str, table: &str) -> rusqlite::Result<u64> {
        let rest = match table {
            "global_variables" => "WHERE variable_name LIKE 'mysql-%' ORDER BY 1",
            _ => "ORDER BY 1, 2, 3",
        };
        let mut statement = self.connection().prepare(&format!("SELECT * FROM {schema}.{table} {rest}"))?;
        let count = statement.column_count();
        let mut rows = statement.query([])?;
        let mut text = Vec::new();
        let mut some = false;
        while let Some(row) = rows.next()? {
            some = true;
            for at in 0..count {
                match row.get_ref(at)? {
                    ValueRef::Null => {}
                    ValueRef::Integer(number) => text.extend_from_slice(number.to_string().as_bytes()),
                    ValueRef::Real(number) => text.extend_from_slice(number.to_string().as_bytes()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        text.extend_from_slice(bytes);
                    }
                }
            }
        }
        Ok(if some { hash(&text) } else { 0 })
    }

    /// `SELECT GLOBAL_CHECKSUM()`.
    pub fn global_checksum(&self) -> Answer {
        Answer::Rows {
            columns: vec!["CHECKSUM".to_owned()],
            rows: vec![vec![Some(self.checksums.all().to_string().into_bytes())]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_written_as_proxysql_writes_them() {
        assert_eq!(plain(0), "0x00");
        assert_eq!(plain(0x0000_00ab_0000_0c0d), "0xC0DAB");
        assert_eq!(padded(0x0000_00ab_0000_0c0d), "0xC0DAB00000000000");
        assert_eq!(padded(u64::MAX), "0xFFFFFFFFFFFFFFFF");
    }
}
