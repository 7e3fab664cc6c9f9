//! LOAD and SAVE between file, disk and memory, and from runtime to memory.

use config::schema::{MYSQL_SERVERS, POINTSMAN_SHARD_NODES, Scalar, Section, Shape};
use config::{Draft, Row};
use rusqlite::{Connection, params};

use super::{Module, Move};
use crate::answer::{AdminError, Answer};
use crate::store::{Store, insert, say_version, transaction, values};

impl Store {
    /// Moves a module's rows; all of them or, with an error, none.
    pub fn shift(&mut self, module: Module, by: Move, who: &str) -> Answer {
        let moved = match by {
            Move::DiskToMemory => self.copy(module, "disk", "main").map(of),
            Move::MemoryToDisk => self.copy(module, "main", "disk").map(of),
            Move::RuntimeToMemory => self.write_memory(module, &self.runtime).map(of),
            Move::FileToMemory => self.load_file(module).map(of),
            Move::MemoryToRuntime => self.load(module, who),
        };
        moved.unwrap_or_else(Answer::from)
    }

    /// [`Store::shift`] for the boot code; not to runtime.
    pub(crate) fn done(&self, module: Module, by: Move) -> Result<(), AdminError> {
        match by {
            Move::DiskToMemory => self.copy(module, "disk", "main"),
            Move::MemoryToDisk => self.copy(module, "main", "disk"),
            Move::RuntimeToMemory => self.write_memory(module, &self.runtime),
            Move::FileToMemory | Move::MemoryToRuntime => Ok(0),
        }
        .map(drop)
    }

    /// Makes the rows of memory those of `draft`.
    pub(crate) fn write_memory(&self, module: Module, draft: &Draft) -> Result<u64, AdminError> {
        transaction(self.connection(), || write(self.connection(), module, draft))
    }

    /// Makes the rows of `to` those of `from`; variables that `from` lacks stay.
    fn copy(&self, module: Module, from: &str, to: &str) -> Result<u64, AdminError> {
        let connection = self.connection();
        transaction(connection, || {
            let mut affected = 0;
            if let Some(prefix) = module.prefix() {
                affected = connection.execute(
                    &format!(
                        "INSERT OR REPLACE INTO {to}.global_variables SELECT * FROM {from}.global_variables \
                         WHERE substr(variable_name, 1, length(?1)) = ?1"
                    ),
                    [prefix],
                )?;
                say_version(connection, to)?;
            }
            for section in tables(module) {
                let table = section.table_name();
                connection.execute(&format!("DELETE FROM {to}.{table}"), [])?;
                connection.execute(&format!("INSERT INTO {to}.{table} SELECT * FROM {from}.{table}"), [])?;
            }
            Ok(affected as u64)
        })
    }

    /// Adds the rows of the configuration file to those of memory, or replaces those with the same
    /// keys.
    fn load_file(&self, module: Module) -> Result<u64, AdminError> {
        let Some(path) = &self.file else { return Err(AdminError::new("Config file unknown")) };
        let draft = config::read_rows(path).map_err(|problems| {
            AdminError::new(format!("Unable to open or parse config file {}: {problems}", path.display()))
        })?;
        self.add_from_file(module, &draft)
    }

    /// Adds what a file gives of `module` to memory; how many rows.
    pub(crate) fn add_from_file(&self, module: Module, draft: &Draft) -> Result<u64, AdminError> {
        let connection = self.connection();
        let memory = self.memory()?;
        transaction(connection, || {
            let mut count = 0;
            for section in module.sections().iter().filter(|section| draft.has(section)) {
                if section.shape == Shape::Group {
                    let given = values(draft, section).into_iter().enumerate();
                    for (_, (name, value)) in given.filter(|(at, _)| draft.gives(section, *at)) {
                        count += set(connection, &name, &value)?;
                    }
                } else {
                    if section.name == POINTSMAN_SHARD_NODES.name {
                        remove_nodes(connection, draft)?;
                    }
                    // Rows without a key replace none: they are added if they are not there.
                    let there = if section.unique.is_empty() { memory.rows(section) } else { &[] };
                    let new = draft.rows(section).iter().filter(|row| !there.contains(row));
                    count += insert(connection, "main", section.table_name(), new)?;
                }
            }
            Ok(count as u64)
        })
    }
}

/// Makes the rows of memory those of `draft`.
fn write(connection: &Connection, module: Module, draft: &Draft) -> Result<u64, AdminError> {
    let mut count = 0;
    for section in module.sections() {
        if section.shape == Shape::Group {
            for (name, value) in values(draft, section) {
                count += set(connection, &name, &value)?;
            }
            continue;
        }
        let table = section.table_name();
        connection.execute(&format!("DELETE FROM main.{table}"), [])?;
        let rows: Vec<Row> = draft.rows(section).iter().map(saved).collect();
        insert(connection, "main", table, &rows)?;
    }
    Ok(count as u64)
}

/// Removes the nodes of tables that a file gives nodes of: one more than it has would take rows.
fn remove_nodes(connection: &Connection, draft: &Draft) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare("DELETE FROM main.pointsman_shard_nodes WHERE schema_name = ?1 AND table_name = ?2")?;
    let name = |row: &Row, column| row.scalar(column).to_string();
    let mut last = None;
    for row in draft.rows(&POINTSMAN_SHARD_NODES) {
        let table = (name(row, "schema_name"), name(row, "table_name"));
        if last.as_ref() != Some(&table) {
            statement.execute(params![table.0, table.1])?;
            last = Some(table);
        }
    }
    Ok(())
}

fn set(connection: &Connection, name: &str, value: &str) -> rusqlite::Result<usize> {
    connection.execute("INSERT OR REPLACE INTO main.global_variables VALUES (?1, ?2)", params![name, value])
}

/// A row as it is saved: that a server is shunned is nothing that an operator wants for ever.
fn saved(row: &Row) -> Row {
    let shunned = row.section().name == MYSQL_SERVERS.name
        && *row.scalar("status") == Scalar::Text("SHUNNED".to_owned());
    if shunned { row.with("status", Scalar::Text("ONLINE".to_owned())) } else { row.clone() }
}

/// The sections of a module that are tables.
fn tables(module: Module) -> impl Iterator<Item = &'static Section> {
    module.sections().iter().copied().filter(|section| section.shape == Shape::Rows)
}

fn of(affected: u64) -> Answer {
    Answer::Ok { affected, info: String::new() }
}
