//! Statements whose server a hint names.

use super::*;

fn hinted(sql: &str, shard: &str) -> Result<(u32, Option<String>), Cause> {
    match asking(sql, &[], Asked { shard: Some(shard), ..Asked::default() }) {
        Plan::One(branch) => Ok((branch.hostgroup, text(&branch).map(str::to_owned))),
        Plan::Refused(refusal) => Err(refusal.cause),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_hint_names_the_server_or_the_node() {
    for (sql, hint) in [
        ("SELECT COUNT(*) FROM users", "12"),
        ("SELECT COUNT(*) FROM users JOIN countries", "12"),
        ("DELETE FROM users LIMIT 5", "12/shop.users"),
        ("SELECT @@hostname", "12"),
        ("SHOW PROCESSLIST", "12"),
        ("SELECT * FROM users WHERE id = 5", "12"),
        ("INSERT INTO users (id) VALUES (2), (6)", "12"),
    ] {
        assert_eq!(hinted(sql, hint), Ok((12, None)), "{sql}");
    }
    for hint in ["13", "events_3", "shop.events_3", "13/shop.events_3"] {
        let text = "SELECT MAX(id) FROM `shop`.`events_3` AS `events`";
        assert_eq!(hinted("SELECT MAX(id) FROM events", hint), Ok((13, Some(text.to_owned()))), "{hint}");
    }
}

#[test]
fn a_hint_does_not_take_settings_away_from_the_session() {
    for sql in ["SET @a = 5", "BEGIN", "USE shop", "CREATE TABLE x (a INT)"] {
        let asked = Asked { shard: Some("12"), ..Asked::default() };
        assert_eq!(asking(sql, &[], asked), Plan::Home, "{sql}");
    }
}

#[test]
fn a_hint_does_not_leave_servers_apart() {
    for (sql, hint, cause) in [
        ("SELECT * FROM users", "99", Cause::Hint),
        ("SELECT * FROM users", "users", Cause::Hint),
        ("SELECT * FROM users", "shop.events_3", Cause::Hint),
        ("SELECT * FROM users JOIN prices", "12", Cause::Hint),
        ("SELECT * FROM users JOIN settings", "12", Cause::Hint),
        ("INSERT INTO users (id) VALUES (2), (3)", "12", Cause::Hint),
        ("INSERT INTO users (id) VALUES (NOW())", "12", Cause::Row(Reason::NoCondition)),
        ("UPDATE users SET id = 5", "12", Cause::Key),
        ("UPDATE countries SET id = 5", "12", Cause::Reference),
        ("TRUNCATE countries", "12", Cause::Statement),
    ] {
        assert_eq!(hinted(sql, hint), Err(cause), "{sql}");
    }
}
