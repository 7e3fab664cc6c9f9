//! From the layout that `pointsman.db` has to the one that this program uses.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{now, open};
use crate::tables::Schema;

/// The number of this program's layout, which the file keeps as SQLite's `user_version`.
const LAYOUT: i64 = 1;

/// Makes missing tables, and replaces those that have another definition: the old one is renamed to
/// `<table>_v<layout>` and its rows are copied as far as they fit, as in ProxySQL. All in one
/// transaction; a file of a newer program is refused.
pub(super) fn bring_up_to_date(admin: &Connection) -> rusqlite::Result<()> {
    let layout: i64 = admin.query_row("PRAGMA disk.user_version", [], |row| row.get(0))?;
    if layout > LAYOUT {
        let message =
            format!("it has layout {layout} of a newer program; this one knows layouts up to {LAYOUT}");
        return Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_SCHEMA),
            Some(message),
        ));
    }
    let changed = changed(admin)?;
    if layout == LAYOUT && changed.is_empty() && complete(admin)? {
        return Ok(());
    }
    admin.execute_batch("BEGIN IMMEDIATE")?;
    let migrated = migrate(admin, layout, &changed);
    admin.execute_batch(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    migrated
}

/// Whether every table is there.
fn complete(admin: &Connection) -> rusqlite::Result<bool> {
    for (table, _) in Schema::Disk.tables() {
        if definition(admin, &table)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tables that are there with another definition.
fn changed(admin: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut changed = Vec::new();
    for (table, ddl) in Schema::Disk.tables() {
        if definition(admin, &table)?.is_some_and(|found| found != ddl) {
            changed.push(table);
        }
    }
    Ok(changed)
}

/// The statement that made `table`, as SQLite keeps it: without the schema.
fn definition(admin: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    admin
        .query_row("SELECT sql FROM disk.sqlite_master WHERE type = 'table' AND name = ?1", [table], |row| {
            row.get(0)
        })
        .optional()
}

fn migrate(admin: &Connection, layout: i64, changed: &[String]) -> rusqlite::Result<()> {
    let mut done = Vec::new();
    for table in changed {
        let old = unused_name(admin, &format!("{table}_v{layout}"))?;
        admin.execute_batch(&format!("ALTER TABLE disk.\"{table}\" RENAME TO \"{old}\""))?;
        done.push((table.clone(), old));
    }
    open::create(admin, Schema::Disk)?;
    let mut log = admin
        .prepare("INSERT INTO disk.pointsman_migrations (layout, applied_at, what) VALUES (?1, ?2, ?3)")?;
    for (table, old) in done {
        let (taken, of) = copy(admin, &old, &table)?;
        let what = format!("{table}: {taken} of {of} rows taken from {old}");
        tracing::warn!("pointsman.db has a new layout: {what}");
        log.execute(params![LAYOUT, now(), what])?;
    }
    admin.pragma_update(Some("disk"), "user_version", LAYOUT)
}

/// `name`, or that with a number behind it if there is such a table.
fn unused_name(admin: &Connection, name: &str) -> rusqlite::Result<String> {
    let mut candidate = name.to_owned();
    let mut number = 1;
    while definition(admin, &candidate)?.is_some() {
        number += 1;
        candidate = format!("{name}_{number}");
    }
    Ok(candidate)
}

/// Copies the rows of `from` that `to` takes; how many, and how many there are.
fn copy(admin: &Connection, from: &str, to: &str) -> rusqlite::Result<(usize, i64)> {
    let columns = |table: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = admin.prepare("SELECT name FROM pragma_table_info(?1, 'disk')")?;
        statement.query_map([table], |row| row.get(0))?.collect()
    };
    let theirs = columns(from)?;
    let common: Vec<String> = columns(to)?
        .into_iter()
        .filter(|column| theirs.contains(column))
        .map(|column| format!("\"{column}\""))
        .collect();
    let of = admin.query_row(&format!("SELECT COUNT(*) FROM disk.\"{from}\""), [], |row| row.get(0))?;
    if common.is_empty() {
        return Ok((0, of));
    }
    let list = common.join(", ");
    let taken = admin.execute(
        &format!("INSERT OR IGNORE INTO disk.\"{to}\" ({list}) SELECT {list} FROM disk.\"{from}\""),
        [],
    )?;
    Ok((taken, of))
}
