use super::super::sample::{MYSQL, column, head, read, table};
use super::*;
use shard::placement::{Function, Hash, Modulo, Sign};
use shard::{Draft, Group, Sequence, SequenceKind};

fn nodes(name: &str) -> Vec<Node> {
    let node = |hostgroup| Node { hostgroup, schema: "shop".to_owned(), table: name.to_owned() };
    vec![node(1), node(2)]
}

fn sharded(name: &str, function: Function) -> Table {
    let level = Level { columns: vec![0], function, nodes: None };
    Table::sharded(["shop", name], nodes(name), vec!["user_id".to_owned()], vec![level])
}

fn modulo() -> Function {
    Function::Modulo(Modulo { shards: 2, sign: Sign::Floor })
}

/// `orders` and `items` are colocated by `user_id`, `lone` is not, `lands` is everywhere.
fn layout(change: impl FnOnce(&mut Draft)) -> Layout {
    let lands = TableKind::Reference { nodes: nodes("lands") };
    let mut draft = Draft {
        hostgroups: vec![1, 2],
        tables: vec![
            sharded("orders", modulo()),
            sharded("items", modulo()),
            sharded("lone", modulo()),
            Table { schema: "shop".to_owned(), name: "lands".to_owned(), kind: lands },
        ],
        groups: vec![Group {
            schema: "shop".to_owned(),
            tables: vec!["orders".to_owned(), "items".to_owned()],
        }],
        ..Draft::default()
    };
    change(&mut draft);
    Layout::new(draft).unwrap()
}

fn findings(layout: &Layout, name: &str, found: &[Answer]) -> Vec<String> {
    check(layout, layout.table("shop", name).unwrap(), found).iter().map(Finding::to_string).collect()
}

fn unique(key: &'static str, column: &'static str) -> [Option<&'static str>; 6] {
    [Some("2"), Some("1"), Some(key), Some("0"), Some(column), None]
}

fn foreign(to: &'static str, own: &'static str, other: &'static str) -> [Option<&'static str>; 7] {
    [Some("3"), Some("1"), Some(to), Some(own), Some("shop"), Some(to), Some(other)]
}

const COLUMNS: [[&str; 2]; 2] = [["no", "int"], ["user_id", "int"]];

#[test]
fn a_node_that_does_not_answer_is_not_judged() {
    let layout = layout(|_| {});
    assert_eq!(findings(&layout, "orders", &[Answer::Unknown, Answer::Unknown]), Vec::<String>::new());
}

#[test]
fn a_table_that_is_right_has_no_findings() {
    let layout = layout(|_| ());
    let right =
        table(MYSQL, &COLUMNS, &[&unique("PRIMARY", "user_id"), &foreign("items", "user_id", "user_id")]);
    assert_eq!(
        findings(&layout, "orders", &[Answer::Table(right.clone()), Answer::Table(right)]),
        Vec::<String>::new()
    );
}

#[test]
fn what_is_missing_is_said_of_its_node() {
    let layout = layout(|_| ());
    let view = read(&[&[Some("0"), Some("VIEW"), None, Some(MYSQL), Some("1024")]]);
    assert_eq!(
        findings(&layout, "orders", &[Answer::NoTable, Answer::Table(view)]),
        [
            "table shop.orders, hostgroup 1, shop.orders: there is no such table, or the user has no privilege \
             for it",
            "table shop.orders, hostgroup 2, shop.orders: it is a view, not a table",
        ]
    );
    let without = table(MYSQL, &[["no", "int"]], &[]);
    assert_eq!(
        findings(&layout, "orders", &[Answer::Table(without)]),
        [
            "table shop.orders, hostgroup 1, shop.orders, column user_id: there is no such column, but it is in \
          the table's `key`"
        ]
    );
    let computed = read(&[&head(MYSQL), &column("1", "user_id", "int", "VIRTUAL GENERATED", None)]);
    let found = check(&layout, layout.table("shop", "orders").unwrap(), &[Answer::Table(computed)]);
    assert_eq!(found.iter().map(|finding| &finding.problem).collect::<Vec<_>>(), [&Problem::Generated]);
}

#[test]
fn unique_keys_have_the_columns_that_decide() {
    let apart = |key: &str, is_inexact| Problem::UniqueApart {
        key: key.to_owned(),
        by: "user_id".to_owned(),
        is_inexact,
    };
    let found = |layout: &Layout, table: &TableDefinition| {
        let found = check(layout, layout.table("shop", "orders").unwrap(), &[Answer::Table(table.clone())]);
        found.into_iter().map(|finding| finding.problem).collect::<Vec<_>>()
    };
    let keys = table(
        MYSQL,
        &COLUMNS,
        &[
            &unique("PRIMARY", "no"),
            &unique("good", "user_id"),
            &[Some("2"), Some("2"), Some("good"), Some("0"), Some("no"), None],
            &[Some("2"), Some("1"), Some("prefix"), Some("0"), Some("user_id"), Some("3")],
        ],
    );
    assert_eq!(found(&layout(|_| ()), &keys), [apart("PRIMARY", false), apart("prefix", false)]);
    let unchecked = layout(|draft| {
        draft.tables[0] = sharded("orders", modulo()).with_unique(Unique::Unchecked);
    });
    assert_eq!(found(&unchecked, &keys), []);
    // By bytes, `a` and `A` are in other shards: a key under a collation takes them for equal.
    let by = |weights| {
        layout(|draft| {
            draft.tables[0] = sharded("orders", Function::Hash(Hash { shards: 2, weights }));
            draft.groups.clear();
        })
    };
    let text = column("1", "user_id", "varchar(9)", "", Some(("utf8mb4_general_ci", "9")));
    let text = read(&[&head(MYSQL), &text, &unique("PRIMARY", "user_id")]);
    assert_eq!(found(&by(false), &text), [apart("PRIMARY", true)]);
    assert_eq!(found(&by(true), &text), []);
}

#[test]
fn unique_keys_of_a_table_by_hints_are_not_unique() {
    let by_hint = |unique| {
        layout(|draft| {
            let level = Level { columns: Vec::new(), function: modulo(), nodes: None };
            let table = Table::sharded(["shop", "orders"], nodes("orders"), Vec::new(), vec![level]);
            draft.tables[0] = table.with_unique(unique);
            draft.groups.clear();
        })
    };
    let found = |layout: &Layout| {
        let keys = table(MYSQL, &COLUMNS, &[&unique("PRIMARY", "user_id")]);
        findings(layout, "orders", &[Answer::Table(keys.clone()), Answer::Table(keys)])
    };
    let checked = found(&by_hint(Unique::Checked));
    assert_eq!(checked.len(), 2);
    assert!(checked[1].contains("hostgroup 2, shop.orders: hints name the shards"), "{checked:?}");
    assert_eq!(found(&by_hint(Unique::Unchecked)), Vec::<String>::new());
}

#[test]
fn copies_of_reference_tables_have_no_values_of_their_own() {
    let layout = layout(|_| ());
    let lands = read(&[
        &head(MYSQL),
        &column("1", "at", "timestamp", "on update CURRENT_TIMESTAMP", None),
        &column("2", "no", "int", "", None),
        &[Some("5"), Some("0"), Some("t"), Some("SET NEW.no = RAND()")],
    ]);
    let found = findings(&layout, "lands", &[Answer::Table(lands.clone()), Answer::Table(lands.clone())]);
    assert_eq!(
        found[..1],
        [
            "table shop.lands, hostgroup 1, shop.lands: the copies of a row differ: the trigger t calls rand(), and \
             each server has its own value; drop the trigger",
        ]
    );
    assert_eq!(found.len(), 2, "a change has one time at all servers");
    // Each row of a sharded table is there once.
    assert!(!findings(&layout, "lone", &[Answer::Table(lands)]).iter().any(|found| found.contains("copies")));
}

#[test]
fn foreign_keys_stay_on_their_node() {
    let layout = layout(|_| ());
    let refers = |to, own, other| {
        let table = table(MYSQL, &COLUMNS, &[&foreign(to, own, other)]);
        findings(&layout, "orders", &[Answer::Table(table)]).len()
    };
    assert_eq!(refers("items", "user_id", "user_id"), 0);
    assert_eq!(refers("orders", "user_id", "user_id"), 0);
    assert_eq!(refers("lands", "no", "no"), 0);
    assert_eq!(refers("items", "no", "no"), 1);
    assert_eq!(refers("items", "user_id", "no"), 1);
    assert_eq!(refers("lone", "user_id", "user_id"), 1);
    assert_eq!(refers("elsewhere", "user_id", "user_id"), 1);
}

#[test]
fn numbers_of_a_server_come_twice() {
    let own = table(MYSQL, &[["id", "int"], ["user_id", "int"]], &[]);
    let sequence = |column: &str| {
        let sequence = Sequence {
            schema: "shop".to_owned(),
            table: "orders".to_owned(),
            column: column.to_owned(),
            kind: SequenceKind::Segment { step: 1 },
        };
        layout(|draft| draft.sequences.push(sequence))
    };
    let found = |layout: &Layout, name| {
        let found = check(layout, layout.table("shop", name).unwrap(), &[Answer::Table(own.clone())]);
        found
            .into_iter()
            .map(|finding| (finding.column.unwrap_or_default(), finding.problem))
            .collect::<Vec<_>>()
    };
    let twice = [("id".to_owned(), Problem::OwnNumbers)];
    assert_eq!(found(&layout(|_| ()), "orders"), twice);
    assert_eq!(found(&layout(|_| ()), "lands"), twice);
    assert_eq!(found(&sequence("ID"), "orders"), []);
    assert_eq!(found(&sequence("user_id"), "orders"), twice);
    assert_eq!(found(&sequence("no"), "orders"), [("no".to_owned(), Problem::NoSequenceColumn)]);
}

#[test]
fn a_node_that_differs_is_said_with_what_differs() {
    let layout = layout(|_| ());
    let one = table(MYSQL, &COLUMNS, &[]);
    let other = table(MYSQL, &[["no", "bigint"], ["user_id", "int"]], &[]);
    assert_eq!(
        findings(&layout, "orders", &[Answer::Table(one.clone()), Answer::Table(other)]),
        ["table shop.orders, hostgroup 2, shop.orders: it differs from the first node; only here: column 1 \
          `no` bigint NULL DEFAULT NULL; only there: column 1 `no` int NULL DEFAULT NULL"]
    );
    let many: Vec<[&str; 2]> = ["a", "b", "c", "d", "user_id"].map(|name| [name, "int"]).to_vec();
    let found = findings(&layout, "orders", &[Answer::Table(one), Answer::Table(table(MYSQL, &many, &[]))]);
    assert!(found[0].contains("2 more only here") && !found[0].contains("more only there"), "{found:?}");
}

#[test]
fn a_key_that_is_not_unique_stops_no_writes() {
    let layout = layout(|_| ());
    let stops = |others: &[&[Option<&str>]]| {
        let (one, other) = (table(MYSQL, &COLUMNS, &[]), table(MYSQL, &COLUMNS, others));
        let found = check(
            &layout,
            layout.table("shop", "orders").unwrap(),
            &[Answer::Table(one), Answer::Table(other)],
        );
        found.iter().map(|finding| finding.problem.stops_writes()).collect::<Vec<_>>()
    };
    assert_eq!(stops(&[]), Vec::<bool>::new());
    assert_eq!(stops(&[&[Some("2"), Some("1"), Some("k"), Some("1"), Some("no"), None]]), [false]);
    assert_eq!(stops(&[&unique("k", "user_id")]), [true]);
    assert!(!Problem::OwnNumbers.stops_writes() && Problem::NoTable.stops_writes());
}
