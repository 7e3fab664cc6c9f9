//! The store as its callers see it: SQL, layers, files.

mod disk;
mod layers;
mod safety;

use std::sync::Arc;

use observe::plane::DataPlane;

use super::Store;
use crate::answer::Answer;
use crate::common::FakePlane;
use crate::layers::{Module, Move};
use crate::who::Rights;

/// A store in memory with a plane.
fn store() -> (Store, Arc<FakePlane>) {
    let mut store = Store::open(None).unwrap();
    let plane = Arc::new(FakePlane::default());
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
