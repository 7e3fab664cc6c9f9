use super::*;
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Node};

/// `shop.orders` in two parts, one of them in a schema of another name, and `shop.countries`, which
/// each server has.
fn layout() -> Layout {
    let node = |hostgroup, schema: &str, table: &str| Node {
        hostgroup,
        schema: schema.to_owned(),
        table: table.to_owned(),
    };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let nodes = vec![node(1, "shop", "orders"), node(2, "shop_2", "orders_1")];
    let orders = shard::Table::sharded(["shop", "orders"], nodes, vec!["id".to_owned()], vec![level]);
    let nodes = vec![node(1, "shop", "countries"), node(2, "shop", "countries")];
    let countries = shard::Table {
        schema: "shop".to_owned(),
        name: "countries".to_owned(),
        kind: TableKind::Reference { nodes },
    };
    let draft = Draft { hostgroups: vec![1, 2], tables: vec![orders, countries], ..Draft::default() };
    Layout::new(draft).unwrap()
}

fn found(rows: &[[Option<&str>; 4]]) -> Found {
    let rows: Vec<_> = rows.iter().map(|row| row.map(|cell| cell.map(str::as_bytes)).to_vec()).collect();
    Found::of(&layout(), &rows).unwrap()
}

/// A body in the schema `shop`.
fn body(text: &str) -> Found {
    found(&[[Some("2"), Some("shop"), Some(text), Some("")]])
}

#[test]
fn code_that_would_see_a_part_is_wrong() {
    let orders = || Some(Wrong::Sharded("shop.orders".to_owned()));
    for (text, wrong) in [
        ("RETURN (SELECT COUNT(*) FROM orders)", orders()),
        ("BEGIN UPDATE orders SET note = ''; END", orders()),
        ("select `shop`.`orders`.`id` AS `id` from `shop`.`orders`", orders()),
        ("RETURN (SELECT COUNT(*) FROM countries)", None),
        ("INSERT INTO countries VALUES (1)", Some(Wrong::Reference("shop.countries".to_owned()))),
        ("DELETE FROM shop_2.orders_1", Some(Wrong::Node("shop_2.orders_1".to_owned()))),
        // Its own name says which part it reads, as in a statement.
        ("RETURN (SELECT COUNT(*) FROM shop_2.orders_1)", None),
        ("BEGIN PREPARE s FROM @a; EXECUTE s; END", Some(Wrong::Prepares)),
        ("RETURN (SELECT COUNT(*) FROM old.orders)", None),
        // Servers may tell texts without their quotes.
        ("RETURN 'SELECT * FROM orders'", orders()),
        ("BEGIN SET @a = 'it's'; SELECT * FROM orders; END", orders()),
        ("DROP TABLE IF EXISTS orders", orders()),
        ("TRUNCATE orders", orders()),
        ("BEGIN CREATE TEMPORARY TABLE kept (id INT); INSERT INTO kept VALUES (1); END", None),
        ("CALL sys.execute_prepared_stmt('SELECT 1')", Some(Wrong::Prepares)),
    ] {
        assert_eq!(body(text).wrong, wrong, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_wrong() {
    let view = [Some("1"), Some("shop"), None, Some("")];
    let seen = [Some("2"), Some("shop"), Some("select 1"), Some("")];
    let empty = [Some("2"), Some("shop"), Some(""), Some("")];
    let hidden = Some(Wrong::Hidden);
    assert_eq!(found(&[]), Found::default());
    let oracle = [Some("2"), Some("shop"), Some("BEGIN p; END"), Some("PIPES_AS_CONCAT,ORACLE")];
    assert_eq!(found(&[oracle]).wrong, Some(Wrong::Oracle));
    let table = [Some("3"), Some("shop"), None, Some("")];
    assert_eq!(found(&[table]), Found { is_there: true, ..Found::default() });
    assert_eq!(found(&[view]).wrong, hidden);
    assert_eq!(found(&[view, empty]).wrong, hidden);
    assert_eq!(found(&[view, seen]).wrong, None);
    assert_eq!(found(&[[Some("2"), Some("shop"), None, Some("")]]).wrong, hidden);
    assert_eq!(Found::of(&layout(), &[vec![Some(b"5"), None, None, None]]), Err(Unreadable));
}

#[test]
fn what_it_uses_is_told() {
    let table = |name: &str, is_written| Object::Table {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        is_written,
    };
    let routine =
        |schema: &str, name: &str| Object::Routine { schema: Some(schema.to_owned()), name: name.to_owned() };
    let uses = body("BEGIN INSERT INTO log SELECT * FROM v; CALL a.p(f(1)); SELECT sys.x(1); END").uses;
    for object in [table("log", true), table("v", false), routine("a", "p"), routine("shop", "f")] {
        assert!(uses.contains(&Used { object, is_certain: false }), "{uses:?}");
    }
    assert!(!uses.iter().any(|used| used.object == routine("sys", "x")));
    let view = "select `a`.`f`(1) AS `x`,`g`() AS `y`,json_value(1) AS `z` from (`shop`.`v` join `c`)";
    let uses = found(&[[Some("4"), Some("shop"), Some(view), Some("")]]).uses;
    let certain: Vec<_> = uses.into_iter().filter(|used| used.is_certain).map(|used| used.object).collect();
    assert_eq!(certain, [table("v", false), routine("a", "f"), routine("shop", "g")]);
}

#[test]
fn names_stand_in_questions_as_bytes() {
    let any = Object::Routine { schema: None, name: "it's".to_owned() }.question();
    assert!(any.contains("ROUTINE_NAME = _utf8mb4 X'69742773'"), "{any}");
    for (is_written, unions) in [(false, 1), (true, 2)] {
        let table = Object::Table { schema: "a".to_owned(), name: "b".to_owned(), is_written }.question();
        assert_eq!(table.matches(" UNION ALL ").count(), unions);
    }
}
