use std::sync::Arc;

use super::reach::hash_of;
use super::*;
use crate::definition::TABLES_MAX;
use crate::definition::tests::of;
use crate::key::Keys;
use crate::refusal::Refusal;
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
    let world = World { catalog: Catalog::new(usize::MAX), versions: Arc::default(), sight };
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
        self.catalog.learn(learnt, &self.versions, self.sight.now_ms)
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
fn a_table_is_absent_if_the_account_would_see_it() {
    let world = world(&[("t", &[TABLE, SELECT]), ("hidden", &[ALL]), ("absent", &[SELECT])]);
    let is_absent = |name| world.catalog.is_absent(world.sight, &world.versions, &table(name));
    assert_eq!(["t", "hidden", "absent", "unknown"].map(is_absent), [false, false, true, false]);
    world.versions.flush(Scope::of_definitions());
    assert!(!is_absent("absent"), "it may have been made");
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
fn accounts_are_told_apart() {
    let mut world = world(&[("t", &[TABLE, ALL])]);
    world.sight.whose = Keys::new([1, 2]).builder().number(7).finish();
    assert_eq!(world.reading("t").refusal, Some(Refusal::NotLearnt));
}

#[test]
fn what_is_full_learns_nothing_new_until_something_is_too_old() {
    let mut world = world(&[]);
    for number in 0..DEFINITIONS_MAX {
        world.learn(&number.to_string(), &[TABLE, ALL]);
    }
    world.learn("t", &[TABLE, ALL]);
    let reading = world.reading("t");
    assert_eq!((reading.refusal, reading.to_ask.len()), (Some(Refusal::NotLearnt), 0), "nobody asks");
    assert_eq!(world.reading("0").refusal, None, "what is known stays");
    assert!(world.learn("0", &[TABLE, SELECT]), "and is learnt anew");
    world.sight.now_ms = FULL_MS;
    assert_eq!(world.reading("t").to_ask.len(), 1, "it is tried again");
    world.sight.now_ms = AGE_MAX_MS;
    world.learn("t", &[TABLE, ALL]);
    assert_eq!((world.reading("t").refusal, world.catalog.len()), (None, 1));
}

#[test]
fn what_is_full_forgets_what_a_change_has_made_too_old() {
    let mut world = world(&[]);
    for number in 0..DEFINITIONS_MAX {
        world.learn(&number.to_string(), &[TABLE, ALL]);
    }
    world.learn("t", &[TABLE, ALL]);
    drop(world.versions.begin_write(Scope::of_definitions()));
    world.learn("t", &[TABLE, ALL]);
    assert_eq!(world.catalog.len(), DEFINITIONS_MAX, "it was looked for a moment ago");
    world.sight.now_ms = FULL_MS;
    world.learn("t", &[TABLE, ALL]);
    assert_eq!((world.reading("t").refusal, world.catalog.len()), (None, 1));
}

#[test]
fn definitions_have_a_part_of_the_memory() {
    let mut world = world(&[("c", &[TABLE, ALL, ["parent", "s", "p"]])]);
    let one = world.catalog.bytes();
    assert!(one > 200, "{one} bytes");
    world.learn("c", &[TABLE, ALL, ["parent", "s", "p"]]);
    assert_eq!(world.catalog.bytes(), one, "it was learnt anew");
    world.catalog.set_limit(3 * one);
    for name in ["d", "e", "f", "g"] {
        world.learn(name, &[TABLE, ALL, ["parent", "s", "p"]]);
    }
    assert_eq!((world.catalog.len(), world.catalog.bytes()), (3, 3 * one));
    world.catalog.set_limit(one);
    assert_eq!((world.catalog.len(), world.catalog.bytes()), (0, 0));
    world.sight.now_ms = FULL_MS;
    world.learn("c", &[TABLE, ALL]);
    world.catalog.sweep(AGE_MAX_MS);
    assert_eq!(world.catalog.len(), 1);
    world.catalog.sweep(FULL_MS + AGE_MAX_MS);
    assert_eq!((world.catalog.len(), world.catalog.bytes()), (0, 0), "it is too old");
}
