//! Several nodes of a table on one server.

use super::refused::is_refused;
use super::*;

fn texts(plan: Plan) -> Vec<String> {
    let branches = match plan {
        Plan::One(branch) => vec![branch],
        Plan::Many(scatter) => scatter.branches,
        Plan::Write(write) => write.branches,
        Plan::Each(branches) => branches,
        other => panic!("{other:?}"),
    };
    assert!(branches.iter().all(|branch| branch.hostgroup == 10));
    branches.iter().map(|branch| text(branch).unwrap().to_owned()).collect()
}

#[test]
fn each_node_is_asked() {
    let all = ["`shop_0`.`parts_0`", "`shop_0`.`parts_1`", "`shop_1`.`parts_2`", "`shop_1`.`parts_3`"];
    let expected = |before: &str, behind: &str| all.map(|name| format!("{before}{name}{behind}"));
    assert_eq!(texts(planned("SELECT id FROM parts", &[])), expected("SELECT id FROM ", " AS `parts`"));
    assert_eq!(texts(planned("DELETE FROM parts", &[])), expected("DELETE FROM ", ""));
    assert_eq!(texts(planned("DROP TABLE shop.parts", &[])), expected("DROP TABLE ", ""));
    assert_eq!(
        texts(planned("INSERT INTO parts (id) VALUES (6), (5), (2)", &[])),
        [
            "INSERT INTO `shop_0`.`parts_1` (id) VALUES (5)",
            "INSERT INTO `shop_1`.`parts_2` (id) VALUES (6), (2)",
        ]
    );
}

#[test]
fn a_reference_table_is_read_beside_and_written_in_all_schemas() {
    assert_eq!(
        texts(planned("SELECT * FROM parts p JOIN codes c ON c.id = p.state WHERE p.id IN (1, 2)", &[])),
        [
            "SELECT * FROM `shop_0`.`parts_1` p JOIN `shop_0`.`codes` c ON c.id = p.state WHERE p.id IN (1, 2)",
            "SELECT * FROM `shop_1`.`parts_2` p JOIN `shop_1`.`codes` c ON c.id = p.state WHERE p.id IN (1, 2)",
        ]
    );
    let expected = |n: u32| format!("UPDATE `shop_{n}`.`codes` AS `codes` SET name = 1");
    assert_eq!(texts(planned("UPDATE codes SET name = 1", &[])), [0, 1, 2].map(expected));
}

#[test]
fn constraints_of_one_schema_need_names_of_their_own() {
    is_refused(
        "ALTER TABLE parts ADD CONSTRAINT c CHECK (id > 0)",
        Cause::Constraint,
        "CONSTRAINT c CHECK (id > 0)",
    );
    assert!(matches!(planned("ALTER TABLE parts ADD CONSTRAINT CHECK (id > 0)", &[]), Plan::Each(_)));
    assert!(matches!(planned("ALTER TABLE users ADD CONSTRAINT c CHECK (id > 0)", &[]), Plan::Each(_)));
}

#[test]
fn a_hint_needs_the_name_of_the_node() {
    let hinted =
        |shard| asking("SELECT COUNT(*) FROM parts", &[], Asked { shard: Some(shard), ..Asked::default() });
    assert!(matches!(hinted("10"), Plan::Refused(Refusal { cause: Cause::Hint, .. })));
    assert_eq!(texts(hinted("parts_2")), ["SELECT COUNT(*) FROM `shop_1`.`parts_2` AS `parts`"]);
}

#[test]
fn a_node_is_not_written_by_its_own_name() {
    let is_refused_at = |sql: &str, part: &str| is_refused(sql, Cause::Node, part);
    is_refused_at("INSERT INTO events_0 (user_id) VALUES (1)", "events_0");
    is_refused_at("REPLACE INTO shop_1.parts_2 (id) VALUES (1)", "parts_2");
    is_refused_at("UPDATE events_1 SET user_id = 2", "events_1");
    is_refused_at("DELETE FROM events_1 WHERE user_id = 2", "events_1");
    is_refused_at("LOAD DATA LOCAL INFILE 'a' INTO TABLE events_1", "events_1");
    is_refused_at("TRUNCATE events_1", "events_1");
    is_refused_at("ALTER TABLE events_1 DROP COLUMN user_id", "events_1");
    is_refused_at("drop table if exists other, events_1", "events_1");
    is_refused_at("RENAME TABLE events_1 TO events_8", "events_1");
    for sql in
        ["SELECT * FROM events_0", "INSERT INTO events_9 VALUES (1)", "INSERT INTO shop.parts_2 VALUES (1)"]
    {
        assert_eq!(planned(sql, &[]), Plan::Home, "{sql}");
    }
    let hinted = Asked { shard: Some("10"), ..Asked::default() };
    for sql in ["INSERT INTO events_0 (user_id) VALUES (1)", "TRUNCATE events_0", "DROP TABLE events_0"] {
        let plan = asking(sql, &[], hinted);
        assert!(matches!(plan, Plan::One(Branch { hostgroup: 10, text: None, .. })), "{sql}");
    }
}
