//! Names of columns in rewritten statements.

use super::*;

/// The text for the shard of a statement that concerns one.
fn text_of(sql: &str) -> String {
    let Plan::One(branch) = planned(sql, &[]) else { panic!("{sql}") };
    text(&branch).map_or_else(|| sql.to_owned(), str::to_owned)
}

#[test]
fn an_expression_whose_bytes_change_keeps_its_name() {
    for (sql, expected) in [
        (
            "SELECT shop.events.id + 1, shop.events.id FROM events WHERE user_id = 5",
            "SELECT events.id + 1 AS `shop.events.id + 1`, events.id FROM `shop`.`events_1` AS `events` \
             WHERE user_id = 5",
        ),
        (
            "SELECT (shop.events.id), EXISTS (SELECT 1 FROM events e WHERE e.user_id = 5) FROM events \
             WHERE user_id = 5",
            "SELECT (events.id), EXISTS (SELECT 1 FROM `shop`.`events_1` e WHERE e.user_id = 5) AS \
             `EXISTS (SELECT 1 FROM events e WHERE e.user_id = 5)` FROM `shop`.`events_1` AS `events` \
             WHERE user_id = 5",
        ),
        (
            "SELECT shop.events.id + 1 AS n, id + 1 FROM events WHERE user_id = 5",
            "SELECT events.id + 1 AS n, id + 1 FROM `shop`.`events_1` AS `events` WHERE user_id = 5",
        ),
    ] {
        assert_eq!(text_of(sql), expected);
    }
}

#[test]
fn an_alias_stands_in_front_of_hidden_columns() {
    let Plan::Many(scatter) = planned("SELECT -shop.events.id FROM events ORDER BY user_id", &[]) else {
        panic!("it goes to all shards")
    };
    assert_eq!(
        text(&scatter.branches[0]),
        Some(
            "SELECT -events.id AS `-shop.events.id`, `events`.`user_id` AS `pointsman_key_0` \
             FROM `shop`.`events_0` AS `events` ORDER BY user_id"
        )
    );
}

#[test]
fn a_long_name_is_cut_where_a_server_cuts_it() {
    let label = |text: &str| {
        let sql = format!("SELECT CONCAT(shop.events.name, '{text}') FROM events WHERE user_id = 5");
        let rewritten = text_of(&sql);
        rewritten.split('`').nth(1).unwrap().to_owned()
    };
    assert_eq!(label(&"x".repeat(300)).len(), 255);
    assert_eq!(label(&"\u{e4}".repeat(200)).len(), 254);
    let spaces =
        format!("SELECT CONCAT(shop.events.name, '{}') FROM events WHERE user_id = 5", " ".repeat(300));
    assert!(matches!(planned(&spaces, &[]), Plan::Refused(refusal) if refusal.cause == Cause::Statement));
}
