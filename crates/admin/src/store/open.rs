//! Opening the databases, and making what is not there.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Config, Draft};
use memtable::Lists;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, params};

use super::run::give_way;
use super::{Statistics, Store, functions, limits, migrate, variables};
use crate::checksum::Checksums;
use crate::tables::{COLLATIONS, Schema, is_list};

/// The file of the schema `disk`.
const DISK_FILE: &str = "pointsman.db";
/// The file of the schema `stats_history`.
const HISTORY_FILE: &str = "pointsman_stats.db";
/// The configuration holds passwords: other users of the machine cannot read the files.
const FILE_MODE: u32 = 0o600;

/// Why the databases cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be made or read.
    #[error("cannot open {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// The folder for the files is not there.
    #[error("datadir is {}, which is no folder: create it, owned by the user that runs pointsman, or change datadir", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// A file is no database that can be used.
    #[error("cannot use {} as a database: {message}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// SQLite fails, and no file is to blame.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl Store {
    /// Opens the databases: `pointsman.db` and `pointsman_stats.db` in `datadir`, both made if they
    /// are not there, or in memory without one. What runs and what `main` holds are defaults.
    pub fn open(datadir: Option<&Path>) -> Result<Self, StoreError> {
        let name = Arc::new(0_u8);
        // Databases in memory that two connections share have names, and the address of what is
        // shared is unique.
        let shared = |what: &str| format!("file:/pointsman-{:p}-{what}?vfs=memdb", &raw const *name);
        if let Some(folder) = datadir.filter(|folder| !folder.is_dir()) {
            return Err(StoreError::NoFolder { path: folder.to_path_buf() });
        }
        let disk = datadir.map(|folder| folder.join(DISK_FILE));
        let mut admin = Connection::open_in_memory_with_flags(flags())?;
        let lists = Lists::default();
        prepare(&mut admin, &lists)?;
        attach_disk(&admin, disk.as_deref())?;
        for schema in [Schema::Stats, Schema::Monitor] {
            admin.execute(&format!("ATTACH DATABASE ':memory:' AS {}", schema.name()), [])?;
        }
        let history = history(&admin, datadir).map_or_else(|| shared("history"), |path| file_uri(&path));
        admin.execute("ATTACH DATABASE ?1 AS stats_history", [&history])?;
        // What reads the history keeps no samples from being written.
        admin.pragma_update_and_check(Some("stats_history"), "journal_mode", "WAL", |_| Ok(()))?;
        admin.pragma_update(Some("stats_history"), "synchronous", "NORMAL")?;
        for schema in [Schema::Main, Schema::Stats, Schema::Monitor] {
            admin.pragma_update(Some(schema.name()), "max_page_count", limits::MEMORY_MAX_PAGES)?;
            create(&admin, schema)?;
        }
        create(&admin, Schema::StatsHistory)?;
        fill(&admin)?;
        say_packet(&admin)?;
        variables::add_missing(&admin, "main")?;
        let statistics = Some(statistics(&shared("stats"), &history, Arc::clone(&name))?);
        let mut runtime = Draft::default();
        variables::set_version(&mut runtime);
        let config = runtime.check().map_or_else(|_| Config::default(), |checked| checked.config);
        Ok(Self {
            admin,
            statistics,
            lists,
            disk,
            _name: name,
            runtime,
            config: Arc::new(config),
            plane: None,
            checksums: Checksums::default(),
            file: None,
            read_only: false,
            left_out: Vec::new(),
            unsaved: false,
            stop: Arc::default(),
        })
    }

    /// Whether the schema `disk` holds a configuration: that of a former run, or an imported one.
    pub fn has_saved(&self) -> Result<bool, StoreError> {
        let count: i64 =
            self.admin.query_row("SELECT COUNT(*) FROM disk.global_variables", [], |row| row.get(0))?;
        Ok(count > 0)
    }
}

/// What the database is called when it is not opened by [`Store::open`]: for `--initial`, which
/// renames it.
pub fn disk_file(datadir: &Path) -> PathBuf {
    datadir.join(DISK_FILE)
}

/// How databases are opened.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// What every connection has.
fn prepare(connection: &mut Connection, lists: &Lists) -> rusqlite::Result<()> {
    confine(connection)?;
    functions::add(connection)?;
    lists.add_to(connection)?;
    connection.progress_handler(limits::PERIOD_OPS, Some(give_way()))
}

/// The databases of statistics accounts: one in memory at `uri`, that of checks, and the history.
fn statistics(uri: &str, history: &str, name: Arc<u8>) -> rusqlite::Result<Statistics> {
    let mut connection = Connection::open_with_flags(uri, flags())?;
    let lists = Lists::default();
    prepare(&mut connection, &lists)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, limits::STATISTICS_VALUE_MAX_BYTES)?;
    // Their sorts are bounded by memory, and fill no disk.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // It is the schema that needs no name, and has one all the same.
    connection.execute("ATTACH DATABASE ?1 AS stats", [uri])?;
    connection.execute("ATTACH DATABASE ':memory:' AS monitor", [])?;
    connection.execute("ATTACH DATABASE ?1 AS stats_history", [history])?;
    for schema in [Schema::Stats, Schema::Monitor] {
        connection.pragma_update(Some(schema.name()), "max_page_count", limits::MEMORY_MAX_PAGES)?;
        create(&connection, schema)?;
    }
    say_packet(&connection)?;
    Ok(Statistics::new(connection, lists, name))
}

/// Keeps SQL from loading code and from taking all memory.
fn confine(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, limits::SQL_MAX_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, limits::VALUE_MAX_BYTES)?;
    Ok(())
}

/// Attaches the schema `disk` and brings it up to date.
fn attach_disk(admin: &Connection, path: Option<&Path>) -> Result<(), StoreError> {
    let Some(path) = path else {
        admin.execute("ATTACH DATABASE ':memory:' AS disk", [])?;
        return Ok(migrate::bring_up_to_date(admin)?);
    };
    let name = make_file(path)?;
    let failed = |message: String| StoreError::Database { path: path.to_path_buf(), message };
    let usable = || -> rusqlite::Result<String> {
        admin.execute("ATTACH DATABASE ?1 AS disk", [name])?;
        // One file that is whole at any time: it may be copied and replaced while the proxy runs.
        admin.pragma_update_and_check(Some("disk"), "journal_mode", "DELETE", |_| Ok(()))?;
        admin.pragma_update(Some("disk"), "synchronous", "FULL")?;
        admin.query_row("PRAGMA disk.quick_check(1)", [], |row| row.get(0))
    };
    match usable() {
        Ok(verdict) if verdict == "ok" => {}
        Ok(verdict) => return Err(failed(format!("{verdict}; restore it from a copy or move it away"))),
        Err(error) => return Err(failed(format!("{error}; restore it from a copy or move it away"))),
    }
    migrate::bring_up_to_date(admin).map_err(|error| failed(error.to_string()))
}

/// Closes and opens the schema `disk`.
pub(super) fn reopen_disk(admin: &Connection, path: Option<&Path>) -> Result<(), StoreError> {
    if path.is_none() {
        return Ok(());
    }
    admin.execute("DETACH DATABASE disk", [])?;
    let reopened = attach_disk(admin, path);
    if reopened.is_err() {
        // Statements that name the schema must not fail for ever: what is saved now is lost, and
        // that is said.
        let _ = admin.execute("DETACH DATABASE disk", []);
        attach_disk(admin, None)?;
    }
    reopened
}

/// The path of the file of `stats_history`; nothing if there is none that can be used.
fn history(admin: &Connection, datadir: Option<&Path>) -> Option<String> {
    let path = datadir?.join(HISTORY_FILE);
    let usable = || -> Result<String, StoreError> {
        let name = make_file(&path)?.to_owned();
        admin.execute("ATTACH DATABASE ?1 AS tried", [&name])?;
        let checked = admin.query_row("PRAGMA tried.quick_check(1)", [], |row| row.get::<_, String>(0));
        admin.execute("DETACH DATABASE tried", [])?;
        match checked? {
            verdict if verdict == "ok" => Ok(name),
            verdict => Err(StoreError::Database { path: path.clone(), message: verdict }),
        }
    };
    match usable() {
        Ok(name) => Some(name),
        Err(error) => {
            tracing::error!(file = %path.display(), %error, "the history of statistics is kept in memory only");
            None
        }
    }
}

/// The address of a file for `ATTACH`. It names the file system: a connection to a database in
/// memory would look for the path in memory.
fn file_uri(path: &str) -> String {
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?vfs=unix")
}

/// Makes the file if it is not there, and gives its path as SQL takes it.
fn make_file(path: &Path) -> Result<&str, StoreError> {
    let failed = |why| StoreError::File { path: path.to_path_buf(), why };
    let made = OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(path);
    // What may only be read is opened by SQLite as such.
    if let Err(error) = made
        && !path.exists()
    {
        return Err(failed(error));
    }
    path.to_str().ok_or_else(|| failed(std::io::Error::other("its path is not UTF-8 text")))
}

/// Makes the tables of `schema` that are not there.
pub(super) fn create(admin: &Connection, schema: Schema) -> rusqlite::Result<()> {
    let name = schema.name();
    for (table, ddl) in schema.tables() {
        let known: bool = admin.query_row(
            &format!("SELECT EXISTS (SELECT 1 FROM {name}.sqlite_master WHERE type = 'table' AND name = ?1)"),
            [&table],
            |row| row.get(0),
        )?;
        if !known {
            let ddl = ddl.replacen("CREATE TABLE ", &format!("CREATE TABLE {name}."), 1);
            let is_list = schema == Schema::Stats && is_list(&table);
            admin.execute_batch(&if is_list { memtable::definition(&ddl) } else { ddl })?;
        }
    }
    schema.indexes().iter().try_for_each(|index| admin.execute_batch(index))
}

/// Writes what is always the same.
fn fill(admin: &Connection) -> rusqlite::Result<()> {
    admin.execute_batch("BEGIN")?;
    let mut insert = admin.prepare("INSERT INTO main.mysql_collations VALUES (?1, ?2, ?3, ?4)")?;
    for (id, collation, charset, default) in COLLATIONS {
        insert.execute(params![id, collation, charset, if *default { "Yes" } else { "" }])?;
    }
    admin.execute_batch("COMMIT")
}

/// Writes the answer to a client of a stats account that asks how much it may send, as ProxySQL
/// gives it.
fn say_packet(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO stats.global_variables VALUES ('mysql-max_allowed_packet', '4194304')";
    connection.execute(sql, []).map(drop)
}
