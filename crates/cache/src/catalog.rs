//! What was learnt of the definitions of tables: which tables an answer depends on, and which ones
//! a write changes.
//!
//! Foreign keys are followed from the child, which a user that reads it sees: an answer depends on
//! the parents of its tables. Views and triggers are followed from the table that a statement
//! names. What is not known of all of that makes an answer depend on each write, or counts as a
//! write to all tables.
//!
//! A definition counts for [`AGE_MAX_MS`], and as long as no definition and no privilege is changed
//! through this proxy. It is asked for again in good time.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use sql::shape::Table;

use crate::definition::{Definition, Kind};
use crate::key::Key;
use crate::name::Name;
use crate::refusal::Refusal;
use crate::versions::{Moment, Versions};

/// How long a definition counts, in milliseconds: a change elsewhere is noticed after it.
const AGE_MAX_MS: u64 = 300_000;

/// The age from which a definition is asked for again, in milliseconds.
const REFRESH_MS: u64 = AGE_MAX_MS / 2;

/// Definitions at most. With one more all are forgotten.
const DEFINITIONS_MAX: usize = 16_384;

/// Tables that one statement leads to, at most. What leads to more is not followed.
const TABLES_MAX: usize = 32;

/// For whom definitions are known, and when it is asked for them.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// The account and the hostgroup: an account sees what it may.
    pub whose: Key,
    /// Now, in milliseconds.
    pub now_ms: u64,
}

/// What an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Hashes of the tables of which a write changes the answer.
    pub tables: Vec<u64>,
    /// Besides, each write may.
    pub is_open: bool,
    /// Why the answer is not cached in any mode.
    pub refusal: Option<Refusal>,
    /// Not all tables have transactions that end at their server.
    pub has_other_engines: bool,
    /// Tables whose definitions are to be asked for.
    pub to_ask: Vec<Table>,
    /// When definitions are to be asked for again at the earliest, in milliseconds.
    pub until_ms: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            tables: Vec::new(),
            is_open: false,
            refusal: None,
            has_other_engines: false,
            to_ask: Vec::new(),
            until_ms: u64::MAX,
        }
    }
}

/// What a write changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Hashes of the tables that it changes; nothing if that is not known.
    pub tables: Option<Vec<u64>>,
    /// Tables whose definitions are to be asked for.
    pub to_ask: Vec<Table>,
}

/// A definition that was asked for.
#[derive(Debug)]
pub struct Learnt {
    /// The account and the hostgroup.
    pub whose: Key,
    /// Its name, with the schema.
    pub table: Table,
    /// What the server has told.
    pub definition: Definition,
    /// When it was asked.
    pub moment: Moment,
}

#[derive(Debug)]
struct Entry {
    definition: Arc<Definition>,
    moment: Moment,
    at_ms: u64,
}

/// The definitions that a process has learnt, shared by its workers.
#[derive(Debug, Default)]
pub struct Catalog(RwLock<HashMap<(Key, String), Entry>>);

impl Catalog {
    /// Takes note of a definition. Whether another one was known.
    pub fn learn(&self, learnt: Learnt, now_ms: u64) -> bool {
        let Learnt { whose, table, definition, moment } = learnt;
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= DEFINITIONS_MAX {
            all.clear();
        }
        let entry = Entry { definition: Arc::new(definition), moment, at_ms: now_ms };
        let definition = Arc::clone(&entry.definition);
        let before = all.insert((whose, key_of(&table)), entry);
        before.is_some_and(|before| before.definition != definition)
    }

    /// Whether a definition is known, and needs not be asked for again now.
    #[must_use]
    pub fn knows(&self, sight: Sight, versions: &Versions, table: &Table) -> bool {
        self.get(sight, versions, table).is_some_and(|(_, until_ms)| sight.now_ms < until_ms)
    }

    /// A definition, and when it is to be asked for again.
    fn get(&self, sight: Sight, versions: &Versions, table: &Table) -> Option<(Arc<Definition>, u64)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(&(sight.whose, key_of(table)))?;
        let age_ms = sight.now_ms.saturating_sub(entry.at_ms);
        let counts = age_ms < AGE_MAX_MS && versions.have_same_definitions(entry.moment);
        counts.then(|| (Arc::clone(&entry.definition), entry.at_ms + REFRESH_MS))
    }

    /// What an answer depends on that reads these tables.
    #[must_use]
    pub fn reading(&self, sight: Sight, versions: &Versions, tables: Vec<Table>) -> Reading {
        let mut reading = Reading::default();
        let mut walk = Walk::of(tables, Via::Statement);
        while let Some((table, via)) = walk.next() {
            let Some((definition, until_ms)) = self.get(sight, versions, &table) else {
                reading.refusal = reading.refusal.or(Some(Refusal::NotLearnt));
                reading.to_ask.push(table);
                continue;
            };
            reading.note(&table, via, &definition);
            walk.add(&definition.tables, Via::View);
            match &definition.parents {
                _ if definition.kind == Kind::View => {}
                Some(parents) => walk.add(parents, Via::Key),
                None => reading.is_open = true,
            }
            reading.until_ms = reading.until_ms.min(until_ms);
            if sight.now_ms >= until_ms {
                reading.to_ask.push(table);
            }
        }
        reading.is_open |= walk.is_cut;
        if walk.is_cut {
            // There may be another view among those that were not looked at.
            reading.refusal = reading.refusal.or(Some(Refusal::Hidden));
        }
        reading
    }

    /// What a statement changes that writes to `writes`, and reads `reads`.
    #[must_use]
    pub fn written(&self, sight: Sight, versions: &Versions, writes: Vec<Table>, reads: &[Table]) -> Written {
        let (mut hashes, mut to_ask, mut is_known) = (Vec::new(), Vec::new(), true);
        let mut walk = Walk::of(writes, Via::Statement);
        // A view that is read may call code that writes.
        walk.add(reads, Via::View);
        while let Some((table, via)) = walk.next() {
            let Some((definition, until_ms)) = self.get(sight, versions, &table) else {
                is_known = false;
                to_ask.push(table);
                continue;
            };
            if sight.now_ms >= until_ms {
                to_ask.push(table.clone());
            }
            let is_read = via == Via::View;
            is_known &= match definition.kind {
                Kind::Table { is_local, .. } => is_read || is_local && definition.triggers.is_some(),
                Kind::View => !definition.calls,
                Kind::Unseen | Kind::Other => false,
            };
            walk.add(&definition.tables, via);
            if !is_read {
                hashes.push(hash_of(&table));
                walk.add(definition.triggers.as_deref().unwrap_or_default(), Via::Statement);
            }
        }
        Written { tables: (is_known && !walk.is_cut).then_some(hashes), to_ask }
    }
}

impl Reading {
    /// Takes note of what a table adds.
    fn note(&mut self, table: &Table, via: Via, definition: &Definition) {
        let is_hidden = match definition.kind {
            Kind::Table { is_transactional, .. } => {
                self.has_other_engines |= !is_transactional;
                // By its own privileges, an account reads no column that it does not see.
                via == Via::View && !definition.is_whole
            }
            Kind::View => false,
            Kind::Unseen | Kind::Other => true,
        };
        self.tables.push(hash_of(table));
        if via == Via::Key {
            // Its rows are not read.
            self.is_open |= is_hidden;
            return;
        }
        self.refusal = self.refusal.or(definition.refusal).or(is_hidden.then_some(Refusal::Hidden));
    }
}

/// In what way a table belongs to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    /// It is named.
    Statement,
    /// A view reads it.
    View,
    /// It is the parent of a foreign key.
    Key,
}

/// Tables that a statement leads to, each once in each way.
#[derive(Debug)]
struct Walk {
    all: Vec<(Table, Via)>,
    next: usize,
    /// There are more.
    is_cut: bool,
}

impl Walk {
    fn of(tables: Vec<Table>, via: Via) -> Self {
        let is_cut = tables.len() > TABLES_MAX;
        let all = tables.into_iter().take(TABLES_MAX).map(|table| (table, via)).collect();
        Self { all, next: 0, is_cut }
    }

    fn next(&mut self) -> Option<(Table, Via)> {
        let next = self.all.get(self.next).cloned();
        self.next += 1;
        next
    }

    fn add(&mut self, tables: &[Table], via: Via) {
        for table in tables {
            if self.all.iter().any(|(one, how)| (one, *how) == (table, via)) {
                continue;
            }
            if self.all.len() >= TABLES_MAX {
                self.is_cut = true;
                return;
            }
            self.all.push((table.clone(), via));
        }
    }
}

/// The name by which a definition is kept: as it is written.
fn key_of(table: &Table) -> String {
    let schema = table.schema.as_deref().unwrap_or_default();
    [schema, &table.name].join("\0")
}

fn hash_of(table: &Table) -> u64 {
    let schema = table.schema.as_deref().unwrap_or_default();
    Name::Written(schema.as_bytes(), table.name.as_bytes()).hash()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::of;
    use crate::key::Keys;
    use crate::versions::Scope;

    const TABLE: [&str; 3] = ["table", "BASE TABLE", "InnoDB"];
    const ALL: [&str; 3] = ["may", "TRIGGER", ""];
    const SELECT: [&str; 3] = ["may", "SELECT", ""];

    struct World {
        catalog: Catalog,
        versions: Arc<Versions>,
        sight: Sight,
    }

    fn table(name: &str) -> Table {
        Table { schema: Some("s".to_owned()), name: name.to_owned() }
    }

    fn world(definitions: &[(&str, &[[&str; 3]])]) -> World {
        let sight = Sight { whose: Keys::new([1, 2]).builder().finish(), now_ms: 0 };
        let world = World { catalog: Catalog::default(), versions: Arc::default(), sight };
        for (name, rows) in definitions {
            world.learn(name, rows);
        }
        world
    }

    impl World {
        fn learn(&self, name: &str, rows: &[[&str; 3]]) -> bool {
            let moment = self.versions.moment(&Scope::new()).unwrap();
            let definition = of(rows).unwrap();
            let learnt = Learnt { whose: self.sight.whose, table: table(name), definition, moment };
            self.catalog.learn(learnt, self.sight.now_ms)
        }

        fn reading(&self, name: &str) -> Reading {
            self.catalog.reading(self.sight, &self.versions, vec![table(name)])
        }

        fn written(&self, name: &str) -> Option<Vec<u64>> {
            self.catalog.written(self.sight, &self.versions, vec![table(name)], &[]).tables
        }

        fn writes_with_read(&self, read: &str) -> bool {
            let writes = vec![table("t")];
            self.catalog.written(self.sight, &self.versions, writes, &[table(read)]).tables.is_some()
        }
    }

    fn hashes(names: &[&str]) -> Vec<u64> {
        names.iter().map(|name| hash_of(&table(name))).collect()
    }

    #[test]
    fn an_answer_depends_on_parents_and_on_tables_of_views() {
        let world = world(&[
            ("c", &[TABLE, ALL, SELECT, ["parent", "s", "p"]]),
            ("p", &[TABLE, ALL, ["parent", "s", "g"]]),
            ("g", &[TABLE, ALL, ["column", "now()", ""]]),
            ("v", &[["table", "VIEW", ""], ["view", "select 1 from `s`.`c`", ""]]),
        ]);
        let reading = world.reading("v");
        assert_eq!(reading.tables, hashes(&["v", "c", "p", "g"]));
        assert_eq!((reading.is_open, reading.refusal, reading.to_ask.len()), (false, None, 0));
        assert_eq!(world.reading("g").refusal, Some(Refusal::Volatile));
    }

    #[test]
    fn an_answer_of_what_is_not_known_depends_on_each_write_or_is_not_cached() {
        let world = world(&[
            ("t", &[TABLE, SELECT]),
            ("v", &[["table", "VIEW", ""], ["view", "", ""]]),
            ("w", &[["table", "VIEW", ""], ["view", "select 1 from `s`.`x`", ""]]),
            ("x", &[TABLE, ALL]),
            ("m", &[["table", "BASE TABLE", "MyISAM"], ALL]),
            ("none", &[]),
        ]);
        assert!(world.reading("t").is_open && world.reading("t").refusal.is_none());
        assert_eq!(world.reading("v").refusal, Some(Refusal::Hidden));
        assert_eq!(world.reading("w").refusal, Some(Refusal::Hidden), "columns may be hidden");
        assert_eq!(world.reading("none").refusal, Some(Refusal::Hidden));
        assert!(world.reading("m").has_other_engines && !world.reading("t").has_other_engines);
        let unknown = world.reading("unknown");
        assert_eq!((unknown.refusal, unknown.to_ask), (Some(Refusal::NotLearnt), vec![table("unknown")]));
    }

    #[test]
    fn a_write_changes_what_triggers_and_views_lead_to() {
        let world = world(&[
            ("t", &[TABLE, ALL, ["trigger", "INSERT INTO log VALUES (1)", ""]]),
            ("log", &[TABLE, ALL, ["trigger", "UPDATE sums SET a = a + 1", ""]]),
            ("sums", &[TABLE, ALL]),
            ("v", &[["table", "VIEW", ""], ["view", "select 1 from `s`.`sums`", ""]]),
            ("calls", &[["table", "VIEW", ""], ["view", "select `s`.`f`(1) AS `a` from `s`.`sums`", ""]]),
            ("dark", &[TABLE, SELECT]),
            ("far", &[["table", "BASE TABLE", "FEDERATED"], ALL]),
            ("to_far", &[TABLE, ALL, ["trigger", "INSERT INTO far VALUES (1)", ""]]),
        ]);
        assert_eq!(world.written("t"), Some(hashes(&["t", "log", "sums"])));
        assert_eq!(world.written("v"), Some(hashes(&["v", "sums"])));
        for unknown in ["calls", "dark", "far", "to_far", "never_heard_of"] {
            assert_eq!(world.written(unknown), None, "{unknown}");
        }
        assert!(world.writes_with_read("dark") && world.writes_with_read("v"));
        assert!(!world.writes_with_read("calls") && !world.writes_with_read("never_heard_of"));
    }

    #[test]
    fn a_definition_counts_until_it_may_have_changed() {
        let mut world = world(&[("t", &[TABLE, ALL])]);
        let knows = |world: &World| world.reading("t").refusal.is_none();
        world.sight.now_ms = REFRESH_MS;
        assert!(knows(&world) && world.reading("t").to_ask.len() == 1, "it is asked for in time");
        world.sight.now_ms = AGE_MAX_MS;
        assert!(!knows(&world));
        assert!(!world.learn("t", &[TABLE, ALL]), "it is the same");
        assert!(knows(&world));
        assert!(world.learn("t", &[TABLE, ALL, ["trigger", "DELETE FROM u", ""]]));
        let change = world.versions.begin_write(Scope::of_definitions());
        assert!(!knows(&world), "it is being changed");
        drop(change);
        assert!(!knows(&world), "it was changed");
        world.learn("t", &[TABLE, ALL]);
        assert!(knows(&world));
        world.versions.flush(Scope::all());
        assert!(!knows(&world), "privileges were changed");
    }

    #[test]
    fn there_is_an_end_to_views_in_views() {
        let names: Vec<String> = (0..TABLES_MAX + 2).map(|n| format!("v{n}")).collect();
        let world = world(&[]);
        for two in names.windows(2) {
            let text = format!("select 1 from `s`.`{}`", two[1]);
            world.learn(&two[0], &[["table", "VIEW", ""], ["view", &text, ""]]);
        }
        assert_eq!(world.reading("v0").refusal, Some(Refusal::Hidden));
        assert_eq!(world.written("v0"), None);
    }

    #[test]
    fn there_is_a_limit_and_accounts_are_told_apart() {
        let mut world = world(&[("t", &[TABLE, ALL])]);
        world.sight.whose = Keys::new([1, 2]).builder().number(7).finish();
        assert_eq!(world.reading("t").refusal, Some(Refusal::NotLearnt));
        for number in 0..DEFINITIONS_MAX {
            world.learn(&number.to_string(), &[TABLE, ALL]);
        }
        assert!(world.catalog.0.read().unwrap().len() <= DEFINITIONS_MAX);
    }
}
