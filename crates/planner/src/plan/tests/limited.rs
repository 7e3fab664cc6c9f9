//! `UPDATE` and `DELETE` with `LIMIT` over several servers.

use super::refused::is_refused;
use super::*;
use crate::limits::{CHANGED_ROWS_MAX, PIECE_ROWS};
use crate::merge::Window;

fn limited(sql: &str, parameters: &[Value<'_>]) -> Limited {
    match planned(sql, parameters) {
        Plan::Limited(limited) => *limited,
        other => panic!("{sql}: {other:?}"),
    }
}

fn rows(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|row| row.as_bytes().to_vec()).collect()
}

fn texts(branches: &[Branch]) -> Vec<&str> {
    branches.iter().map(|branch| text(branch).unwrap()).collect()
}

#[test]
fn without_an_order_shards_take_turns() {
    let plan = limited("DELETE FROM users WHERE state = 3 LIMIT 5", &[]);
    assert_eq!((plan.limit, plan.changes.len(), &plan.keys), (5, 4, &None));
    let turn = plan.turn(1, 2).unwrap();
    assert_eq!((turn.hostgroup, text(&turn)), (11, Some("DELETE FROM users WHERE state = 3 LIMIT 2")));
    assert_eq!(plan.turn(4, 2), None);
    let plan = limited("UPDATE events SET name = ? WHERE events.state = ? LIMIT ?", &[Value::Signed(4); 3]);
    let turn = plan.turn(0, 4).unwrap();
    let expected = "UPDATE `shop`.`events_0` AS `events` SET name = ? WHERE events.state = ? LIMIT 4";
    assert_eq!((text(&turn), turn.placeholders.as_deref()), (Some(expected), Some(&[0, 1][..])));
}

#[test]
fn with_an_order_keys_come_first() {
    let sql = "UPDATE LOW_PRIORITY events SET events.name = ?, state = 1 WHERE events.state > ? \
               ORDER BY name DESC, id LIMIT 3";
    let plan = limited(sql, &[Value::Signed(4); 2]);
    let keys = plan.keys.as_ref().unwrap();
    assert_eq!((keys.reads.order.len(), keys.reads.window), (2, Window::new(0, 3)));
    let read = &keys.reads.branches[2];
    assert_eq!(
        text(read).unwrap(),
        "SELECT CONCAT('00002 ', `id`) AS `pointsman_row`, WEIGHT_STRING(`name`) AS `pointsman_key_0`, \
         `id` AS `pointsman_key_1` FROM `shop`.`events_2` AS `events` WHERE events.state > ? \
         ORDER BY name DESC, id LIMIT 3 FOR UPDATE"
    );
    assert_eq!(read.placeholders, Some(vec![1]));
    let write = plan.changes_of(&rows(&["00002 7", "00000 5", "00002 9"])).unwrap();
    assert_eq!(
        texts(&write.branches),
        [
            "UPDATE LOW_PRIORITY `shop`.`events_0` AS `events` SET events.name = ?, state = 1 \
             WHERE `id` IN (5)  ORDER BY name DESC, id ",
            "UPDATE LOW_PRIORITY `shop`.`events_2` AS `events` SET events.name = ?, state = 1 \
             WHERE `id` IN (7, 9)  ORDER BY name DESC, id "
        ]
    );
    assert_eq!(
        (write.rows, write.branches[0].placeholders.clone()),
        (vec![vec![2], vec![1, 3]], Some(vec![0]))
    );
}

#[test]
fn keys_of_several_columns_are_conditions() {
    let plan = limited("DELETE FROM orders ORDER BY id LIMIT 2", &[]);
    let write = plan.changes_of(&rows(&["00003 (a = 1)", "00003 (a = 2)"])).unwrap();
    assert_eq!(texts(&write.branches), ["DELETE FROM orders WHERE ((a = 1) OR (a = 2)) ORDER BY id "]);
    // One that changes no row says what a server says of that.
    let write = plan.changes_of(&[]).unwrap();
    assert_eq!(write.branches, [Branch { hostgroup: 10, ..Branch::default() }]);
    for row in ["00004 (a = 1)", "x", ""] {
        assert_eq!(plan.changes_of(&rows(&[row])), None, "{row}");
    }
}

#[test]
fn many_keys_are_several_statements() {
    let plan = limited("DELETE FROM users ORDER BY id LIMIT 99999", &[]);
    let window = plan.keys.as_ref().unwrap().reads.window;
    assert_eq!(window, Window::new(0, CHANGED_ROWS_MAX + 1));
    let row = |number: usize| format!("00001 {number}").into_bytes();
    let write = plan.changes_of(&(0..=2 * PIECE_ROWS).map(row).collect::<Vec<_>>()).unwrap();
    assert_eq!(write.rows.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE_ROWS, PIECE_ROWS, 1]);
}

#[test]
fn what_has_no_first_rows_is_refused() {
    is_refused("DELETE FROM notes ORDER BY id LIMIT 1", Cause::NoRowKey, "notes");
    is_refused("DELETE FROM users ORDER BY state + 1 LIMIT 1", Cause::Order, "state + 1");
    is_refused("DELETE FROM users ORDER BY data LIMIT 1", Cause::Order, "data");
    is_refused("UPDATE users SET state = RAND(3) LIMIT 1", Cause::Function, "RAND");
    is_refused("WITH c AS (SELECT 1) DELETE FROM users LIMIT 1", Cause::SomeRows, "WITH c AS (SELECT 1)");
    let join = "UPDATE users u JOIN orders o ON o.user_id = u.id SET o.state = 1 LIMIT 1";
    is_refused(join, Cause::SomeRows, "LIMIT 1");
    is_refused("DELETE FROM users LIMIT ?", Cause::Limit, "LIMIT ?");
}
