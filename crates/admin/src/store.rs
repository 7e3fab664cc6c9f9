//! The tables of the admin port, in SQLite, and what the proxy runs with.
//!
//! One connection is for admins: `main` and `disk` with the configuration, `stats`, `monitor` and
//! `stats_history`. [Another](statistics) is for accounts that may only read statistics; it has the
//! last three, and `stats` is its default.

mod filling;
mod functions;
mod held;
mod known;
mod limits;
mod memory;
mod migrate;
mod open;
mod rows;
mod run;
mod runtime;
mod statistics;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use config::schema::Section;
use config::{Config, Draft, Row, RowProblem};
use memtable::Lists;
use net::clock::unix_s;
use observe::plane::DataPlane;
use observe::rows::Collation;
use rusqlite::Connection;

use crate::answer::{AdminError, Answer};
use crate::checksum::Checksums;
use crate::who::Rights;

pub(crate) use filling::Filling;
pub(crate) use functions::from_unix_time;
pub(crate) use held::Lease;
pub(crate) use known::Known;
pub use open::StoreError;
pub use open::disk_file;
pub(crate) use rows::{insert, transaction};
pub(crate) use statistics::Statistics;
pub(crate) use variables::{say_version, set_version, shown, values};

/// The databases of the admin port. It belongs to one thread.
pub struct Store {
    /// Where admins work.
    admin: Connection,
    /// Where accounts work that may only read statistics, until a thread of its own has it.
    statistics: Option<Statistics>,
    /// What those tables show that are not filled.
    lists: Lists,
    /// Where `pointsman.db` is; nothing if all is in memory.
    pub(crate) disk: Option<PathBuf>,
    /// Keeps the names of the databases in memory from being taken by another store of this
    /// process.
    _name: Arc<u8>,
    /// What runs.
    pub(crate) runtime: Draft,
    /// The same, typed.
    config: Arc<Config>,
    /// What depends on it.
    pub(crate) plane: Option<Arc<dyn DataPlane>>,
    /// What other proxies compare.
    pub(crate) checksums: Checksums,
    /// The configuration file that LOAD ... FROM CONFIG reads.
    pub(crate) file: Option<PathBuf>,
    /// Whether admins' statements may change nothing.
    read_only: bool,
    /// What the file has that cannot be used, as long as what runs is from it.
    left_out: Vec<String>,
    /// Whether what runs is from a file, and nothing is saved yet.
    pub(crate) unsaved: bool,
    /// See [`Store::stop_flag`].
    stop: Arc<AtomicBool>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl Store {
    /// From now on loads to runtime go to `plane`; before, they only change what counts as runtime
    /// here.
    pub fn attach(&mut self, plane: Arc<dyn DataPlane>) {
        self.plane = Some(plane);
    }

    /// Says which file LOAD ... FROM CONFIG reads.
    pub fn set_file(&mut self, path: &Path) {
        self.file = Some(path.to_path_buf());
    }

    /// Says what the file has that cannot be used: the check of the configuration tells it.
    pub fn set_left_out(&mut self, left_out: Vec<String>) {
        self.left_out = left_out;
    }

    /// What the file has that cannot be used, if what runs is from it.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The connection on which admins work: schemas `main`, `disk`, `stats`, `monitor`,
    /// `stats_history`.
    pub fn connection(&self) -> &Connection {
        &self.admin
    }

    /// Set, it makes the statement of [`Store::query`] that runs or begins end with an error.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// What the proxy runs with.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Runs any SQL of an admin: the first statement of `sql`, whose rows or number of changes are
    /// the answer, or SQLite's error.
    pub fn query(&mut self, sql: &str) -> Answer {
        run::as_admin(&mut self.admin, sql, self.read_only, &self.stop)
    }

    /// The same for SQL of this program itself, which no client that leaves stops.
    pub(crate) fn own_query(&mut self, sql: &str) -> Answer {
        run::as_admin(&mut self.admin, sql, false, &Arc::default())
    }

    /// The databases of statistics accounts, for the thread that has them from now on.
    pub(crate) fn take_statistics(&mut self) -> Option<Statistics> {
        self.statistics.take()
    }

    /// The tables of statistics of admins, to be filled.
    pub(crate) fn filling(&mut self) -> Filling<'_> {
        Filling { connection: &mut self.admin, lists: &self.lists, rights: Rights::Admin }
    }

    /// Empties those of the tables `names` that are statistics, and gives their memory back if it
    /// was much.
    pub(crate) fn clear_stats(&self, names: &[String]) -> Result<(), AdminError> {
        memory::clear_stats(&self.admin, names)
    }

    /// Whether admins' statements may change anything (`admin-read_only`).
    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// The statement that they were for has run: frees the rows of tables that show lists.
    pub(crate) fn forget_lists(&mut self) {
        self.lists.clear();
    }

    /// Makes these the rows of `mysql_collations`.
    pub(crate) fn set_collations(&mut self, collations: &[Collation]) -> Result<(), AdminError> {
        let rows = collations.iter().map(|Collation { id, name, charset, is_default }| {
            let default = if *is_default { "Yes" } else { "" };
            vec![
                i64::from(*id).into(),
                name.clone().into(),
                charset.clone().into(),
                default.to_owned().into(),
            ]
        });
        rows::refill(&mut self.admin, "main", "mysql_collations", rows).map_err(AdminError::from)
    }

    /// The rows of `section` in the schema `main` or `disk`, or what is wrong with them.
    pub(crate) fn read(
        &self,
        schema: &str,
        section: &'static Section,
    ) -> Result<Result<Vec<Row>, Vec<RowProblem>>, AdminError> {
        rows::read(&self.admin, schema, section).map_err(AdminError::from)
    }

    /// Takes note of what runs now.
    pub(crate) fn runs(&mut self, draft: Draft, config: Arc<Config>) {
        std::mem::replace(&mut self.runtime, draft).free();
        let before = std::mem::replace(&mut self.config, config);
        if let Some(config) = Arc::into_inner(before) {
            config.free();
        }
    }

    /// `PROXYSQL FLUSH CONFIGDB`: closes and opens `pointsman.db`.
    pub fn reopen_disk(&mut self) -> Answer {
        match open::reopen_disk(&self.admin, self.disk.as_deref()) {
            Ok(()) => Answer::done(),
            Err(error) => AdminError::new(error.to_string()).into(),
        }
    }
}

/// Seconds of Unix time.
pub(crate) fn now() -> i64 {
    i64::try_from(unix_s()).unwrap_or(i64::MAX)
}

/// Most problems that one error tells; the log has no more either.
const PROBLEMS_SHOWN: usize = 20;

/// What is wrong with rows, as one error: `what`, then the problems.
pub(crate) fn refusal(what: &str, problems: &[impl ToString]) -> AdminError {
    let mut shown: Vec<String> = problems.iter().take(PROBLEMS_SHOWN).map(ToString::to_string).collect();
    if let Some(more) = problems.len().checked_sub(PROBLEMS_SHOWN).filter(|more| *more > 0) {
        shown.push(format!("and {more} more problems"));
    }
    AdminError::new(format!("{what}: {}", shown.join("; ")))
}

impl From<rusqlite::Error> for AdminError {
    fn from(error: rusqlite::Error) -> Self {
        run::told(&error)
    }
}

#[cfg(test)]
mod tests;
