//! `LOAD DATA LOCAL` into tables of several nodes.

use super::refused::is_refused;
use super::*;
use crate::load::{Field, Format, Taken};

const HEAD: &str = "LOAD DATA LOCAL INFILE 'f' INTO TABLE";

fn load(rest: &str) -> Load {
    load_in(rest, Modes::default())
}

fn load_in(rest: &str, modes: Modes) -> Load {
    let sql = format!("{HEAD} {rest}");
    let plan = with_request(&sql, &[], |request| plan(&Request { modes, ..*request }));
    match plan {
        Plan::Load(load) => *load,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Which shards get the lines of a file.
fn receivers(load: &Load, file: &str) -> Vec<Result<Receiver, Cause>> {
    let mut splitter = load.splitter();
    splitter.feed(file.as_bytes());
    splitter.end();
    let mut found = Vec::new();
    while let Taken::Line(line) = splitter.take() {
        found.push(load.receiver(&line));
    }
    found
}

#[test]
fn each_line_goes_to_the_shard_of_its_key() {
    let plan = load("users");
    assert_eq!((plan.branches.len(), plan.branches[1].hostgroup, plan.counts), (4, 11, Counts::Sum));
    assert_eq!(plan.branches[1].text, None);
    let shard = |number| Ok(Receiver::Shard(number));
    assert_eq!(receivers(&plan, "6\ta\n-1\n4"), [shard(2), shard(3), shard(0)]);
    let refused = |reason| Err(Cause::Row(reason));
    assert_eq!(receivers(&plan, "6x\n\\N\n"), [refused(Reason::Inexact), refused(Reason::Null)]);
    assert_eq!(receivers(&plan, "9223372036854775807\n"), [shard(3)]);
    for text in ["", "06", "+6", " 6", "6 ", "-0", "6.0", "9223372036854775808"] {
        assert_eq!(receivers(&plan, &format!("{text}\n")), [refused(Reason::Inexact)], "{text}");
    }
    let events =
        load("events FIELDS TERMINATED BY ',' IGNORE 1 LINES (@x, name, `user_id`) SET state = @x + 1");
    assert_eq!(
        text(&events.branches[2]).unwrap(),
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE `shop`.`events_2` FIELDS TERMINATED BY ',' IGNORE 1 LINES \
         (@x, name, `user_id`) SET state = @x + 1"
    );
    assert_eq!(
        receivers(&events, "x,y,z\n1,2,7\n1,2\n"),
        [Ok(Receiver::All), shard(3), refused(Reason::Inexact)]
    );
    let codes = load("codes");
    assert_eq!((codes.branches.len(), codes.counts), (3, Counts::Same));
    assert_eq!(receivers(&codes, "a\n"), [Ok(Receiver::All)]);
}

#[test]
fn clauses_say_what_separates_fields() {
    let format = |clauses: &str| load(&format!("users {clauses}")).format;
    assert_eq!(format(""), Format::default());
    assert_eq!(
        format(
            "COLUMNS TERMINATED BY 0x2c OPTIONALLY ENCLOSED BY x'22' ESCAPED BY '' LINES STARTING BY '' \
             TERMINATED BY '\\r\\n' IGNORE 3 ROWS;"
        ),
        Format {
            field_end: b",".to_vec(),
            line_end: b"\r\n".to_vec(),
            quote: Some(b'"'),
            escape: None,
            skipped: 3
        }
    );
    let raw = Modes { no_backslash_escapes: true, ..Modes::default() };
    assert_eq!(load_in("users", raw).format.escape, None);
    assert_eq!(load_in("users FIELDS ESCAPED BY '/'", raw).format.escape, Some(b'/'));
    assert_eq!(load("users CHARACTER SET latin1").charset.as_deref(), Some("latin1"));
}

#[test]
fn ids_come_with_the_file() {
    let items = load("items (user_id, id)");
    assert_eq!(
        receivers(&items, "5\t7\n5\t0\n5\t\\N\n5\n"),
        [Ok(Receiver::Shard(1)), Err(Cause::Ids), Err(Cause::Ids), Err(Cause::Ids)]
    );
    let mut splitter = items.splitter();
    splitter.feed(b"5\t7\n");
    let Taken::Line(line) = splitter.take() else { panic!("no line") };
    assert_eq!(line.fields, [Field::Text(b"5".to_vec()), Field::Text(b"7".to_vec())]);
    assert_eq!(items.id(&line), Some(7));
    let ids = items.ids(Some(7)).unwrap();
    assert_eq!((ids.table.as_str(), ids.first, ids.largest), ("items", None, Some(7)));
    assert_eq!(load("notes (user_id, id)").ids(Some(7)), None);
    is_refused(&format!("{HEAD} items (user_id, name)"), Cause::Ids, "items");
    is_refused(&format!("{HEAD} notes (user_id, name)"), Cause::Ids, "notes");
}

#[test]
fn what_is_not_read_as_servers_do_is_refused() {
    let refused = |rest: &str, cause, part: &str| is_refused(&format!("{HEAD} {rest}"), cause, part);
    is_refused("LOAD DATA INFILE 'f' INTO TABLE users", Cause::ServerFile, "INFILE 'f' INTO TABLE users");
    let missing = Cause::Row(Reason::NoCondition);
    refused("users (name, state)", missing, "users");
    refused("users (name, id) SET id = 5", missing, "users");
    refused("users LINES STARTING BY 'x'", Cause::Clause, "'x'");
    refused("users PARTITION (p0)", Cause::Clause, "PARTITION (p0)");
    refused("users (users.id)", Cause::Clause, "users.id");
    refused("users FIELDS TERMINATED BY '\u{a7}'", Cause::Clause, "'\u{a7}'");
    let fixed = "users FIELDS TERMINATED BY ''";
    refused(fixed, Cause::Clause, &format!("{HEAD} {fixed}"));
    refused("users (id) SET name = @a", Cause::Function, "@a");
    refused("users (id) SET name = CONNECTION_ID()", Cause::Function, "CONNECTION_ID");
    refused("users (id) SET name = CURRENT_USER", Cause::Function, "CURRENT_USER");
    refused("users (id) SET name = (SELECT 1)", Cause::Gather, "SELECT 1");
    refused("codes (id) SET name = UUID()", Cause::Function, "UUID");
    assert_eq!(load("users (id) SET name = UUID(), state = (id IN (1, 2)) + NOW()").branches.len(), 4);
    assert!(matches!(planned(&format!("{HEAD} prices"), &[]), Plan::One(_)));
    assert!(matches!(planned(&format!("{HEAD} settings"), &[]), Plan::Home));
}
