use super::*;
use crate::placement::{Function, Hash, Level};
use crate::prune::Shards;

fn node(hostgroup: u32, table: &str) -> Node {
    Node { hostgroup, schema: "shop".to_owned(), table: table.to_owned() }
}

fn level(shards: u32) -> Level {
    Level { columns: vec![0], function: Function::Hash(Hash { shards, weights: false }), nodes: None }
}

fn sharded(name: &str, nodes: Vec<Node>, shards: u32) -> Table {
    Table::sharded(["shop", name], nodes, vec!["id".to_owned()], vec![level(shards)])
}

fn draft(tables: Vec<Table>) -> Draft {
    Draft { hostgroups: vec![1, 2], tables, ..Draft::default() }
}

fn problems(draft: Draft) -> Vec<String> {
    Layout::new(draft).unwrap_err().iter().map(Invalid::to_string).collect()
}

#[test]
fn tables_are_found_by_name() {
    let orders = sharded("orders", vec![node(1, "orders_0"), node(2, "orders_1")], 2);
    let items = sharded("items", vec![node(1, "items"), node(2, "items")], 2);
    let mut draft = draft(vec![orders.clone(), items]);
    draft.groups.push(Group { schema: "shop".into(), tables: vec!["orders".into(), "items".into()] });
    draft.homes.push(Home { schema: None, hostgroup: 2, physical_schema: None });
    let layout = Layout::new(draft).unwrap();
    assert_eq!(layout.table("shop", "orders"), Some(&orders));
    assert_eq!(layout.table("shop", "Orders"), None);
    assert!(layout.is_colocated("shop", ["items", "orders"]));
    assert!(!layout.is_colocated("shop", ["items", "other"]));
    assert_eq!(layout.homes_of("anything").count(), 1);
}

#[test]
fn every_error_names_its_key() {
    let two = || vec![node(1, "a"), node(2, "a")];
    assert_eq!(
        problems(draft(vec![sharded("a", two(), 3)])),
        ["table shop.a: `placement`: `hash` yields 3 shards, but there are 2 nodes"]
    );
    assert_eq!(
        problems(draft(vec![sharded("a", vec![node(1, "a"), node(1, "a")], 2)])),
        ["table shop.a: `nodes`: shop.a in hostgroup 1 is there twice"]
    );
    assert_eq!(
        problems(draft(vec![sharded("a", vec![node(1, "a"), node(7, "a")], 2)])),
        ["table shop.a: `nodes`: there is no hostgroup 7"]
    );
    assert_eq!(problems(draft(vec![sharded("a", Vec::new(), 0)])), ["table shop.a: `nodes`: there are none"]);
    assert_eq!(
        problems(draft(vec![sharded("a", two(), 2), sharded("b", two(), 2)])),
        [
            "table shop.b: `nodes`: shop.a in hostgroup 1 is a node of table a as well",
            "table shop.b: `nodes`: shop.a in hostgroup 2 is a node of table a as well",
        ]
    );
    let twice = [sharded("a", two(), 2), sharded("a", two(), 2)];
    assert_eq!(problems(draft(twice.to_vec())), ["table shop.a: `name`: the table is there twice"]);
    let columns = vec!["id".to_owned(), "ID".to_owned()];
    let table = Table::sharded(["shop", "a"], two(), columns, vec![level(2)]);
    assert_eq!(problems(draft(vec![table])), ["table shop.a: `key`: column ID is there twice"]);
    let table = Table::sharded(["shop", "a"], two(), Vec::new(), vec![level(2)]);
    assert_eq!(problems(draft(vec![table])), ["table shop.a: `key`: a column is missing"]);
    let gap = Level { nodes: Some(vec![Shards::one(0), Shards::default()]), ..level(2) };
    let table = Table::sharded(["shop", "a"], two(), vec!["id".to_owned()], vec![gap]);
    assert_eq!(problems(draft(vec![table])), ["table shop.a: `placement`: number 1 of `hash` has no node"]);
    let long = "n".repeat(65);
    let table = sharded(&long, two(), 2);
    assert_eq!(
        problems(draft(vec![table])),
        [format!("table shop.{long}: `name`: a name has 1 to 64 characters")]
    );
}

#[test]
fn colocated_tables_are_in_the_same_places() {
    let group = |tables: &[&str], drafted: Vec<Table>| {
        let tables = tables.iter().map(|name| (*name).to_owned()).collect();
        let mut draft = draft(drafted);
        draft.groups.push(Group { schema: "shop".to_owned(), tables });
        problems(draft)
    };
    let a = || sharded("a", vec![node(1, "a"), node(2, "a")], 2);
    let swapped = sharded("b", vec![node(2, "b"), node(1, "b")], 2);
    assert_eq!(
        group(&["a", "b"], vec![a(), swapped]),
        ["group 1: `tables`: a and b have their shards in different places"]
    );
    let mut other = level(2);
    other.function = Function::Hash(Hash { shards: 2, weights: true });
    let nodes = vec![node(1, "c"), node(2, "c")];
    let other = Table::sharded(["shop", "c"], nodes, vec!["id".to_owned()], vec![other]);
    assert_eq!(group(&["a", "c"], vec![a(), other]), ["group 1: `tables`: a and c are sharded differently"]);
    assert_eq!(group(&["a", "d"], vec![a()]), ["group 1: `tables`: there is no sharded table d"]);
    assert_eq!(group(&[], vec![a()]), ["group 1: `tables`: there are none"]);
}

#[test]
fn a_sequence_belongs_to_a_table_that_is_spread() {
    let sequence = |table: &str, kind| Sequence {
        schema: "shop".to_owned(),
        table: table.to_owned(),
        column: "id".to_owned(),
        kind,
    };
    let segment = SequenceKind::Segment { step: 1 };
    let single = Table {
        schema: "shop".to_owned(),
        name: "s".to_owned(),
        kind: TableKind::Single { node: node(1, "s") },
    };
    let mut draft = draft(vec![sharded("a", vec![node(1, "a"), node(2, "a")], 2), single]);
    draft.sequences = vec![sequence("a", segment)];
    let layout = Layout::new(draft.clone()).unwrap();
    assert_eq!(layout.sequence("shop", "a"), draft.sequences.first());
    assert_eq!(layout.sequence("shop", "s"), None);
    draft.sequences.extend([
        sequence("a", SequenceKind::Snowflake { worker: 1_024, vibration: 0 }),
        sequence("s", SequenceKind::Segment { step: 0 }),
        sequence("t", SequenceKind::Snowflake { worker: 0, vibration: 4_096 }),
    ]);
    assert_eq!(
        problems(draft),
        [
            "sequence 2: `table`: a has a sequence already",
            "sequence 2: `worker`: must be 0 to 1023",
            "sequence 3: `table`: s is on one node: its server makes ids",
            "sequence 3: `step`: must be 1 to 1000000",
            "sequence 4: `table`: there is no table t",
            "sequence 4: `vibration`: must be 0 to 4095",
        ]
    );
}

#[test]
fn statements_run_in_the_schema_whose_names_stay_as_they_are() {
    let at = |hostgroup: u32, schema: &str, table: &str| Node {
        schema: schema.to_owned(),
        ..node(hostgroup, table)
    };
    let tables = vec![
        sharded("events", vec![at(1, "parts", "events_0"), at(2, "parts", "events_1")], 2),
        sharded("orders", vec![at(1, "shop", "orders"), at(3, "shop", "orders")], 2),
    ];
    let layout = Layout::new(Draft { hostgroups: vec![1, 2, 3], ..draft(tables) }).unwrap();
    assert_eq!(layout.schema_at("shop", 1), Some("shop"), "of several the one with the logical name");
    assert_eq!(layout.schema_at("shop", 2), Some("parts"));
    assert_eq!(layout.schema_at("shop", 3), Some("shop"));
    assert_eq!(layout.schema_at("shop", 4), None);
    assert_eq!(layout.schema_at("other", 1), None);
}
