//! The store as its callers see it: SQL, layers, files.

mod disk;
mod layers;
mod safety;

use crate::plane::{Explained, NotApplied, Question};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use config::Config;
use observe::rows::{
    ClientHost, Collation, CommandCounts, DigestStats, ErrorStats, FreeConnection, ServerStats, SessionStats,
    UserConnections,
};
use rustls::ServerConfig;

use super::Store;
use crate::answer::Answer;
use crate::layers::{Module, Move};
use crate::plane::{DataPlane, Order};
use crate::who::Rights;

/// A data plane that takes every configuration, unless it is told not to.
#[derive(Debug, Default)]
struct Plane {
    applied: Mutex<Vec<Arc<Config>>>,
    refuses: AtomicBool,
}

impl Plane {
    /// The configuration that was applied last.
    fn last(&self) -> Arc<Config> {
        Arc::clone(self.applied.lock().unwrap().last().unwrap())
    }

    fn count(&self) -> usize {
        self.applied.lock().unwrap().len()
    }
}

impl DataPlane for Plane {
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(NotApplied::Because("not today".to_owned()));
        }
        self.applied.lock().unwrap().push(Arc::clone(config));
        Ok(())
    }

    fn check(&self, _: &Config) -> Vec<config::RowProblem> {
        Vec::new()
    }

    fn explain(&self, _: &Question) -> Result<Explained, String> {
        Err("there is nothing to explain".to_owned())
    }

    fn order(&self, _: Order) -> Result<(), String> {
        Ok(())
    }

    fn kill(&self, _: u32) -> bool {
        false
    }

    fn tls(&self) -> Option<Arc<ServerConfig>> {
        None
    }

    fn globals(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn processes(&self) -> Vec<SessionStats> {
        Vec::new()
    }

    fn pool(&self, _: bool) -> Vec<ServerStats> {
        Vec::new()
    }

    fn free_connections(&self) -> Vec<FreeConnection> {
        Vec::new()
    }

    fn collations(&self) -> Vec<Collation> {
        Vec::new()
    }

    fn users(&self) -> Vec<UserConnections> {
        Vec::new()
    }

    fn commands(&self) -> Vec<CommandCounts> {
        Vec::new()
    }

    fn errors(&self, _: bool) -> Vec<ErrorStats> {
        Vec::new()
    }

    fn rule_hits(&self) -> Vec<(i64, u64)> {
        Vec::new()
    }

    fn client_hosts(&self, _: bool) -> Vec<ClientHost> {
        Vec::new()
    }

    fn digests(&self, _: bool, _: bool) -> Vec<DigestStats> {
        Vec::new()
    }

    fn forget_digests(&self) {}

    fn accepts(&self) -> bool {
        true
    }

    fn readiness(&self, _: u32) -> Option<Vec<Option<String>>> {
        None
    }
}

/// A store in memory with a plane.
fn store() -> (Store, Arc<Plane>) {
    let mut store = Store::open(None).unwrap();
    let plane = Arc::new(Plane::default());
    store.attach(Arc::clone(&plane) as Arc<dyn DataPlane>);
    (store, plane)
}

/// An answer as text: rows with `|` between cells, `OK 1 info`, or the error.
fn shown(answer: Answer) -> String {
    match answer {
        Answer::Ok { affected, info } => format!("OK {affected} {info}").trim_end().to_owned(),
        Answer::Rows { rows, .. } => {
            let cell = |cell: &Option<Vec<u8>>| {
                cell.as_ref().map_or("NULL".to_owned(), |text| String::from_utf8(text.clone()).unwrap())
            };
            let rows: Vec<String> =
                rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|")).collect();
            rows.join("\n")
        }
        Answer::Error(error) => format!("ERROR {} {}", error.code, error.message),
        Answer::Close => "closed".to_owned(),
    }
}

impl Store {
    fn sql(&mut self, sql: &str) -> String {
        shown(self.query(sql))
    }

    fn moved(&mut self, module: Module, by: Move) -> String {
        shown(self.shift(module, by, "tester"))
    }

    fn loaded(&mut self, module: Module) -> String {
        self.moved(module, Move::MemoryToRuntime)
    }

    fn runtime_of(&mut self, table: &str, columns: &str) -> String {
        assert!(self.refresh_runtime(table).unwrap(), "{table}");
        self.sql(&format!("SELECT {columns} FROM {table}"))
    }
}
