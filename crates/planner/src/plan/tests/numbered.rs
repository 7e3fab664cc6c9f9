//! Rows that get ids of a sequence.

use super::refused::is_refused;
use super::*;

/// The texts of the branches, and what the sequence is told.
fn numbered(sql: &str, asked: Asked<'_>) -> (Vec<String>, Ids) {
    match asking(sql, &[], asked) {
        Plan::Write(write) => {
            let of = |branch: &Branch| text(branch).unwrap_or(sql).to_owned();
            (write.branches.iter().map(of).collect(), write.ids.unwrap())
        }
        other => panic!("{sql}: {other:?}"),
    }
}

fn with_ids(sql: &str) -> (Vec<String>, Ids) {
    numbered(sql, Asked { ids: &[100, 101, 102], ..Asked::default() })
}

fn told(table: &str, first: Option<u64>, largest: Option<u64>) -> Ids {
    Ids { schema: "shop".to_owned(), table: table.to_owned(), first, largest }
}

#[test]
fn ids_are_wanted_first() {
    let sql = "INSERT INTO tickets (id, name) VALUES (NULL, 'a'), (7, 'b'), (0, 'c'), (DEFAULT, 'd')";
    let wanted =
        |count| Plan::NeedsIds(Wanted { schema: "shop".to_owned(), table: "tickets".to_owned(), count });
    assert_eq!(planned(sql, &[]), wanted(3));
    let asked = Asked { keeps_zero: true, ..Asked::default() };
    assert_eq!(asking(sql, &[], asked), wanted(2));
    let asked = Asked { ids: &[1], ..Asked::default() };
    assert_eq!(asking(sql, &[], asked), wanted(3), "one is too few");
}

#[test]
fn ids_take_the_places_of_missing_values() {
    let sql = "INSERT INTO tickets (id, name) VALUES (NULL, 'a'), (7, 'b'), (0, 'c'), (DEFAULT, 'd')";
    let (texts, ids) = with_ids(sql);
    assert_eq!(
        texts,
        [
            "INSERT INTO tickets (id, name) VALUES (100, 'a')",
            "INSERT INTO tickets (id, name) VALUES (101, 'c')",
            "INSERT INTO tickets (id, name) VALUES (102, 'd')",
            "INSERT INTO tickets (id, name) VALUES (7, 'b')",
        ]
    );
    assert_eq!(ids, told("tickets", Some(100), Some(7)));
}

#[test]
fn a_column_that_is_left_out_is_added() {
    for (sql, expected) in [
        (
            "INSERT INTO items (user_id) VALUES (4), (8)",
            "INSERT INTO `shop`.`items_0` (user_id, `id`) VALUES (4, 100), (8, 101)",
        ),
        ("INSERT INTO items SET user_id = 4", "INSERT INTO `shop`.`items_0` SET user_id = 4, `id` = 100"),
        (
            "INSERT INTO items SET user_id = 4, id = 0",
            "INSERT INTO `shop`.`items_0` SET user_id = 4, id = 100",
        ),
        (
            "INSERT INTO items VALUES (NULL, 4, 'x', 1, 2)",
            "INSERT INTO `shop`.`items_0` VALUES (100, 4, 'x', 1, 2)",
        ),
        ("INSERT INTO tickets VALUES (), ()", ""),
        ("INSERT INTO tickets () VALUES ()", "INSERT INTO tickets (`id`) VALUES (100)"),
        ("INSERT INTO tickets VALUES ()", "INSERT INTO tickets (`id`) VALUES (100)"),
    ] {
        let (texts, ids) = with_ids(sql);
        if !expected.is_empty() {
            assert_eq!(texts, [expected]);
        }
        assert_eq!((ids.first, ids.largest), (Some(100), None), "{sql}");
    }
    assert_eq!(with_ids("INSERT INTO tickets VALUES (), ()").0.len(), 2);
}

#[test]
fn ids_of_the_client_raise_the_sequence() {
    let (texts, ids) = with_ids("INSERT INTO tickets (id) VALUES (8), ('12'), (-4)");
    assert_eq!(texts, ["INSERT INTO tickets (id) VALUES (8), ('12'), (-4)"]);
    assert_eq!(ids, told("tickets", None, Some(12)));
}

#[test]
fn a_placeholder_that_is_null_gives_way_to_an_id() {
    let sql = "INSERT INTO items (id, user_id) VALUES (?, ?), (?, ?)";
    let values = [Value::Null, Value::Signed(4), Value::Signed(9), Value::Signed(8)];
    let Plan::Write(write) = asking(sql, &values, Asked { ids: &[100], ..Asked::default() }) else {
        panic!()
    };
    let branch = &write.branches[0];
    assert_eq!(text(branch), Some("INSERT INTO `shop`.`items_0` (id, user_id) VALUES (100, ?), (?, ?)"));
    assert_eq!(branch.placeholders.as_deref(), Some([1, 2, 3].as_slice()));
    assert_eq!(write.ids, Some(told("items", Some(100), Some(9))));
}

#[test]
fn servers_make_no_ids_for_several_nodes() {
    is_refused("INSERT INTO notes (user_id) VALUES (4)", Cause::Ids, "(4)");
    is_refused("INSERT INTO notes (user_id, id) VALUES (4, 1), (8, 0)", Cause::Ids, "(8, 0)");
    is_refused("INSERT INTO notes (user_id, id) VALUES (4, 1 - 1)", Cause::Id, "1 - 1");
    is_refused("INSERT INTO notes (user_id, id) VALUES (4, '0.1')", Cause::Id, "'0.1'");
    let sql = "INSERT INTO notes (user_id, id) VALUES (4, 1)";
    assert!(matches!(planned(sql, &[]), Plan::One(_)));
    is_refused(
        "INSERT INTO notes (user_id) SELECT user_id FROM notes",
        Cause::Ids,
        "SELECT user_id FROM notes",
    );
    assert!(matches!(planned("INSERT INTO notes SELECT * FROM notes", &[]), Plan::Write(_)));
}
