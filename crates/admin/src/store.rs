//! The tables of the admin port, in SQLite, and what the proxy runs with.

use std::path::Path;
use std::sync::Arc;

use crate::answer::{AdminError, Answer};
use crate::layers::{Module, Move};
use crate::plane::DataPlane;
use crate::who::Rights;

/// The databases of the admin port. It belongs to one thread.
#[derive(Debug)]
pub struct Store {}

/// Why the databases cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub(crate) String);

impl Store {
    /// Opens the databases: `pointsman.db` and `pointsman_stats.db` in `datadir`, both made if they are not there, or
    /// in memory without one.
    pub fn open(datadir: Option<&Path>) -> Result<Self, StoreError> {
        let _ = datadir;
        Ok(Self {})
    }

    /// From now on loads to runtime go to `plane`; before, they only change what counts as runtime here.
    pub fn attach(&mut self, plane: Arc<dyn DataPlane>) {
        let _ = plane;
    }

    /// Runs any SQL: the first statement of `sql`, whose rows or number of changes are the answer, or SQLite's error.
    /// With [`Rights::Stats`] the default schema is `stats` and nothing can be written.
    pub fn query(&mut self, sql: &str, rights: Rights) -> Answer {
        let _ = (sql, rights);
        AdminError::new("not built").into()
    }

    /// Moves a module's rows; all of them or, with an error, none.
    pub fn shift(&mut self, module: Module, by: Move, who: &str) -> Answer {
        let _ = (module, by, who);
        AdminError::new("not built").into()
    }

    /// `LOAD MYSQL USER <name> TO RUNTIME`.
    pub fn load_user(&mut self, name: &str, who: &str) -> Answer {
        let _ = (name, who);
        AdminError::new("not built").into()
    }

    /// Fills the table of runtime that is called `table` (`runtime_...`) from what the proxy runs with. False if there
    /// is no such table.
    pub fn refresh_runtime(&mut self, table: &str) -> Result<bool, AdminError> {
        let _ = table;
        Ok(false)
    }

    /// Empties the table `table` of the schema `stats` and fills it with `rows`, whose cells are text, numbers or NULL.
    pub fn refill(
        &mut self,
        table: &str,
        rows: impl IntoIterator<Item = Vec<rusqlite::types::Value>>,
    ) -> Result<(), AdminError> {
        let _ = (table, rows.into_iter().count());
        Ok(())
    }

    /// The value that the variable `name` (with its prefix) has at runtime.
    pub fn variable(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// `SET name=value`: changes `main.global_variables`. An unknown name is an error if it has the prefix of a family of
    /// variables; other names are those that drivers set, and OK with ProxySQL's message.
    pub fn set_variable(&mut self, name: &str, value: &str, rights: Rights) -> Answer {
        let _ = (name, value, rights);
        AdminError::new("not built").into()
    }

    /// Whether admins' statements may change anything (`admin-read_only`).
    pub fn set_read_only(&mut self, read_only: bool) {
        let _ = read_only;
    }

    /// `CHECKSUM [DISK|MEMORY] MYSQL ...`: `schema` is `main` or `disk`, `table` a configuration table or
    /// `global_variables` (of which the `mysql-` rows count), `title` what the answer calls it.
    pub fn checksum(&self, schema: &str, table: &str, title: &str) -> Answer {
        let _ = (schema, table, title);
        AdminError::new("not built").into()
    }

    /// `SELECT GLOBAL_CHECKSUM()`.
    pub fn global_checksum(&self) -> Answer {
        AdminError::new("not built").into()
    }

    /// `SELECT CONFIG FILE`: the memory layer as a configuration file.
    pub fn config_text(&self) -> Result<String, AdminError> {
        Err(AdminError::new("not built"))
    }

    /// `SAVE CONFIG TO FILE <path>`, `SELECT CONFIG INTO OUTFILE <path>`.
    pub fn save_config_to(&self, path: &Path) -> Answer {
        let _ = path;
        AdminError::new("not built").into()
    }

    /// `POINTSMAN CHECK CONFIG`: what is wrong with the memory layer, if anything.
    pub fn check_config(&self) -> Answer {
        AdminError::new("not built").into()
    }

    /// `POINTSMAN DIFF <module>`: how memory differs from runtime.
    pub fn diff(&self, module: Module) -> Answer {
        let _ = module;
        AdminError::new("not built").into()
    }

    /// `POINTSMAN ROLLBACK <module> [TO version]`: makes a former version of a module the one in memory and at runtime.
    pub fn rollback(&mut self, module: Module, to: Option<u64>, who: &str) -> Answer {
        let _ = (module, to, who);
        AdminError::new("not built").into()
    }

    /// The connection that admins' statements run on.
    pub fn connection(&self) -> &rusqlite::Connection {
        unreachable!("the bodies follow")
    }

    /// What interrupts a statement that runs here, from another thread.
    pub fn interrupt_handles(&self) -> Vec<rusqlite::InterruptHandle> {
        Vec::new()
    }

    /// `PROXYSQL FLUSH CONFIGDB`: closes and opens `pointsman.db`.
    pub fn reopen_disk(&mut self) -> Answer {
        Answer::done()
    }
}
