//! From a `proxysql.db` of ProxySQL 2 to a saved configuration.

use std::path::Path;

use config::schema::Section;
use config::{RowReader, SqlCell};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::answer::AdminError;
use crate::boot::{BootError, Claim};
use crate::layers::{Module, Move};
use crate::store::{Store, StoreError};
use crate::tables::{config_tables, variable_groups};

/// Tables of ProxySQL's that hold nothing an operator configures.
const INTERNAL: [&str; 3] = ["global_variables", "global_settings", "mysql_collations"];

/// What became of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// What was taken, one line for each table.
    pub taken: Vec<String>,
    /// What was not, and why, one line each.
    pub left: Vec<String>,
}

/// Takes the configuration in `database`, which ProxySQL has saved, into a new `pointsman.db` in
/// `datadir`. One that holds a configuration already is refused, and a folder that another process
/// uses.
pub fn import(database: &Path, datadir: &Path) -> Result<Imported, BootError> {
    let failed =
        |error: rusqlite::Error| StoreError::Database { path: database.into(), message: error.to_string() };
    let theirs = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    let mut imported = Imported::default();
    let tables = tables(&theirs).map_err(failed)?;
    let _claim = Claim::on(datadir)?;
    let store = Store::open(Some(datadir))?;
    let disk = store.disk.clone().unwrap_or_default();
    let saved = |why| BootError::Saved { path: disk.clone(), why };
    if store.has_saved()? {
        return Err(saved(AdminError::new("it holds one already; move it away first")));
    }
    let known: Vec<&Section> =
        config_tables().filter(|section| tables.iter().any(|name| name == section.table_name())).collect();
    for section in &known {
        take(&store, &theirs, section, &mut imported).map_err(failed)?;
    }
    for name in &tables {
        let ours =
            INTERNAL.contains(&name.as_str()) || known.iter().any(|section| section.table_name() == name);
        let count: i64 = theirs
            .query_row(&format!("SELECT COUNT(*) FROM \"{name}\""), [], |row| row.get(0))
            .map_err(failed)?;
        if !ours && count > 0 {
            imported.left.push(format!("{name}: {count} rows: there is no such table here"));
        }
    }
    imported.left.extend(hidden_routes(&store));
    if tables.iter().any(|name| name == "global_variables") {
        take_variables(&store, &theirs, &mut imported).map_err(failed)?;
    }
    for module in Module::ALL {
        store.done(module, Move::MemoryToDisk).map_err(saved)?;
    }
    Ok(imported)
}

/// The names of the tables.
fn tables(theirs: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = theirs.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Takes the rows of a table, as far as their columns are known.
fn take(
    store: &Store,
    theirs: &Connection,
    section: &Section,
    imported: &mut Imported,
) -> rusqlite::Result<()> {
    let table = section.table_name();
    let mut statement = theirs.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns: Vec<String> = statement.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (known, unknown): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|column| section.fields().any(|field| field.name == column));
    let list = known.join(", ");
    let mut select = theirs.prepare(&format!("SELECT {list} FROM \"{table}\""))?;
    let marks = vec!["?"; known.len()].join(", ");
    let mut insert = store
        .connection()
        .prepare(&format!("INSERT OR REPLACE INTO main.{table} ({list}) VALUES ({marks})"))?;
    let mut rows = select.query([])?;
    let (mut taken, mut all) = (0, 0);
    while let Some(row) = rows.next()? {
        all += 1;
        let cells: Vec<Value> = (0..known.len()).map(|at| row.get(at)).collect::<Result<_, _>>()?;
        match insert.execute(params_from_iter(cells)) {
            Ok(_) => taken += 1,
            Err(error) => imported.left.push(format!("{table}: row {all}: {error}")),
        }
    }
    if all > 0 {
        imported.taken.push(format!("{table}: {taken} of {all} rows"));
        if !unknown.is_empty() {
            imported.left.push(format!("{table}: unknown columns: {}", unknown.join(", ")));
        }
    }
    Ok(())
}

/// What to know about fast routing: ProxySQL 2 never asks it if the last rule has `apply`, whether
/// that matches or not.
fn hidden_routes(store: &Store) -> Option<String> {
    let hides = "SELECT apply FROM main.mysql_query_rules WHERE active=1 ORDER BY rule_id DESC LIMIT 1";
    let hides: bool = store.connection().query_row(hides, [], |row| row.get(0)).ok()?;
    let routes = "SELECT COUNT(*) FROM main.mysql_query_rules_fast_routing";
    let routes: i64 = store.connection().query_row(routes, [], |row| row.get(0)).ok()?;
    (hides && routes > 0).then(|| {
        "mysql_query_rules_fast_routing: it is asked here, while ProxySQL 2 does not ask it behind a last rule with \
         `apply`, whether that matches or not"
            .to_owned()
    })
}

/// Takes the variables that are known here, with values that are possible here.
fn take_variables(store: &Store, theirs: &Connection, imported: &mut Imported) -> rusqlite::Result<()> {
    let mut statement =
        theirs.prepare("SELECT variable_name, variable_value FROM global_variables ORDER BY 1")?;
    let mut rows = statement.query([])?;
    let (mut taken, mut all) = (0, 0);
    while let Some(row) = rows.next()? {
        all += 1;
        let (name, value): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        // What ProxySQL writes where there is no value.
        let value = value.filter(|value| value != "(null)").unwrap_or_default();
        let Some((prefix, group)) = variable_groups().find(|(prefix, _)| name.starts_with(prefix)) else {
            imported.left.push(format!("global_variables: there is no variable `{name}`"));
            continue;
        };
        if name == "admin-version" {
            taken += 1;
            continue;
        }
        let mut reader = RowReader::new(group);
        reader.variable(name.strip_prefix(prefix).unwrap_or_default(), SqlCell::Bytes(value.as_bytes()));
        if let Err(problems) = reader.finish() {
            imported.left.extend(problems.iter().map(ToString::to_string));
            continue;
        }
        store.connection().execute(
            "UPDATE main.global_variables SET variable_value = ?2 WHERE variable_name = ?1",
            (name, value),
        )?;
        taken += 1;
    }
    imported.taken.push(format!("global_variables: {taken} of {all} rows"));
    Ok(())
}
