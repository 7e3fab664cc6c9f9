//! What a worker knows of tables that are split over servers, and what it reads statements with.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planner::define::{Catalog as Tables, Collations, Known, TableDefinition};
use planner::seen::Names;
use planner::stored::Found;
use session::remembered::Remembered;
use shard::Layout;
use sql::Dialect;
use sql::parse::Tree;

use crate::limits::{DEFINITION_AGE_MAX, DEFINITIONS_BYTES_MAX};
use crate::templates::Templates;

/// The version of a server that texts are read for if nothing is known of the servers.
const LIKE_MYSQL: &[u8] = b"8.0.36";

/// What a worker knows of sharded tables.
#[derive(Debug)]
pub struct Catalog {
    /// What logical tables are, and what is wrong with them.
    tables: RefCell<Tables>,
    /// Collations that servers were asked for.
    pub collations: RefCell<Collations>,
    /// A tree to read a statement with, in memory that is used again: taken meanwhile.
    pub tree: RefCell<Tree>,
    /// How servers read texts.
    dialect: Cell<Option<Dialect>>,
    /// How often tables had been defined anew through the proxy.
    defined: Cell<u64>,
    /// Plans of statements that came before.
    pub templates: RefCell<Templates>,
    /// What physical names are to clients, by hostgroup.
    names: RefCell<HashMap<u32, Arc<Names>>>,
    /// Stored code beside sharded tables, by the user, the hostgroup and the object: users see what
    /// they may.
    pub stored: Remembered<Found>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            tables: Tables::new(DEFINITIONS_BYTES_MAX, DEFINITION_AGE_MAX).into(),
            collations: RefCell::default(),
            tree: RefCell::default(),
            dialect: Cell::default(),
            defined: Cell::default(),
            templates: RefCell::default(),
            names: RefCell::default(),
            stored: Remembered::default(),
        }
    }
}

impl Catalog {
    /// What is known of tables.
    pub fn tables(&self) -> Ref<'_, Tables> {
        self.tables.borrow()
    }

    /// The first node of a table is like this at `now`. Whether all nodes were so before, and
    /// nothing was wrong with them: then that holds on.
    pub fn renew(&self, schema: &str, table: &str, first: Option<&TableDefinition>, now: Duration) -> bool {
        let tables = &mut *self.tables.borrow_mut();
        let is_same = tables.get(schema, table).map(|known| &known.definition) == first;
        let holds = is_same && first.is_some() && tables.wrong(schema, table).is_none();
        if holds {
            tables.renew(schema, table, now);
        }
        holds
    }

    /// This was found of a table at `now`, and this is wrong with it.
    pub fn learn(
        &self,
        schema: &str,
        table: &str,
        known: Option<Known>,
        wrong: Option<String>,
        now: Duration,
    ) {
        self.templates.borrow_mut().clear();
        self.tables.borrow_mut().insert(schema, table, known, wrong, now);
    }

    /// Tables were defined anew so often through the proxy: what is known is from before that if it
    /// was less often.
    pub fn note_definitions(&self, count: u64) {
        if self.defined.replace(count) != count {
            self.templates.borrow_mut().clear();
            self.tables.borrow_mut().clear();
        }
    }

    /// What the physical names at a hostgroup are to clients.
    pub fn names(&self, layout: &Layout, hostgroup: u32) -> Arc<Names> {
        let mut names = self.names.borrow_mut();
        Arc::clone(names.entry(hostgroup).or_insert_with(|| Arc::new(Names::at(layout, hostgroup))))
    }

    /// How servers read texts, if it was found out.
    pub fn dialect(&self) -> Option<Dialect> {
        self.dialect.get()
    }

    /// How servers read texts, or most servers.
    pub fn likely_dialect(&self) -> Option<Dialect> {
        self.dialect().or_else(|| Dialect::of(LIKE_MYSQL))
    }

    /// Servers read texts like this, if it is known.
    pub fn set_dialect(&self, dialect: Option<Dialect>) {
        // Of other servers nothing is known: MySQL is what most of them are like.
        self.dialect.set(dialect.or_else(|| Dialect::of(LIKE_MYSQL)));
    }

    /// The configuration is another one.
    pub fn clear(&self) {
        self.names.borrow_mut().clear();
        self.stored.clear();
        self.templates.borrow_mut().clear();
        self.tables.borrow_mut().clear();
        self.dialect.set(None);
    }
}

#[cfg(test)]
mod tests {
    use planner::define::Reader;

    use super::*;

    /// A table without columns at a server of this version.
    fn table(version: &str) -> TableDefinition {
        let mut reader = Reader::new();
        let row = ["0", "BASE TABLE", "InnoDB", version, "1024"].map(|cell| Some(cell.as_bytes()));
        reader.row(&row).unwrap();
        reader.finish().unwrap().unwrap()
    }

    #[test]
    fn a_first_node_that_is_as_it_was_renews_a_table() {
        let catalog = Catalog::default();
        let (table, other) = (table("9.7.4"), table("9.7.5"));
        let minutes = |minutes| minutes * DEFINITION_AGE_MAX;
        let renew = |first, at| catalog.renew("s", "t", first, minutes(at));
        assert!(!renew(Some(&table), 0) && !renew(None, 0), "nothing is known");
        let known = Known::of(&[&table], &Collations::default());
        catalog.learn("s", "t", known.clone(), None, minutes(0));
        assert!(catalog.tables().wants("s", "t", minutes(1)));
        assert!(renew(Some(&table), 1) && !catalog.tables().wants("s", "t", minutes(1)));
        assert!(!renew(Some(&other), 1) && !renew(None, 1), "all nodes are asked");
        catalog.learn("s", "t", known, Some("a node differs".to_owned()), minutes(2));
        assert!(!renew(Some(&table), 3), "the node may be as it should be by now");
    }
}
