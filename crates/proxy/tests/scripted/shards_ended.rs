//! Transactions over shards of which a server ends its part, or does not end it, in another way
//! than a statement of the client says.

use std::sync::Arc;

use config::{Config, QueryRule, ServerStatus};
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Layout, Node, Table};
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

use super::shards_lost::{Fault, World, config, ok, rolled_back, scene, scene_of};
use super::support::{Client, database, log_in, log_in_as, options, play, rule, settle};

async fn refused(client: &mut Client, sql: &str, code: u16) -> String {
    client.send_query(sql).await;
    client.expect_err(code).await.to_string()
}

/// The statements of one server since the last call.
fn at(world: &World, server: &str) -> Vec<String> {
    let all = world.take().into_iter();
    all.filter_map(|text| Some(text.strip_prefix(server)?.strip_prefix(": ")?.to_owned())).collect()
}

/// `innodb_rollback_on_timeout`: an error tells nothing of the transaction.
#[test]
fn c08_a_lock_wait_timeout_that_ends_one_part_ends_all_parts() {
    for (server, sql) in
        [("home", "DO 2"), ("a", "INSERT INTO t (id) VALUES (4)"), ("b", "INSERT INTO t (id) VALUES (5)")]
    {
        for begin in ["BEGIN", "SET autocommit = 0"] {
            play_timeout(server, sql, begin);
        }
    }
}

fn play_timeout(server: &'static str, sql: &'static str, begin: &'static str) {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        let (first, second) = ("INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (3)");
        ok(&mut client, &[begin, first, "DO 1", second]).await;
        world.fails(server, sql, Fault::TimedOut);
        refused(&mut client, sql, 1205).await;
        world.take();
        rolled_back(&mut client, "COMMIT").await;
        let mut all = world.take();
        all.sort();
        let others = ["a: ROLLBACK", "b: ROLLBACK", "home: ROLLBACK"];
        let others: Vec<_> = others.into_iter().filter(|text| !text.starts_with(server)).collect();
        assert_eq!(all, others, "{server} {begin}");
    });
}

#[test]
fn a_lock_wait_timeout_of_a_statement_alone_leaves_the_transaction_open() {
    for (server, sql) in [("home", "DO 2"), ("a", "INSERT INTO t (id) VALUES (4)")] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)", "DO 1"]).await;
            world.fails(server, sql, Fault::Late);
            refused(&mut client, sql, 1205).await;
            ok(&mut client, &["INSERT INTO t (id) VALUES (6)", "COMMIT"]).await;
            let all = world.take();
            assert!(all.ends_with(&["a: COMMIT".to_owned(), "home: COMMIT".to_owned()]), "{all:?}");
        });
    }
}

#[test]
fn c08_no_shard_comes_into_a_transaction_that_a_timeout_has_ended_at_home() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "DO 1"]).await;
        world.fails("home", "DO 2", Fault::TimedOut);
        refused(&mut client, "DO 2", 1205).await;
        ok(&mut client, &["DELETE FROM t", "COMMIT"]).await;
        assert_eq!(at(&world, "a"), ["BEGIN", "DELETE FROM t", "COMMIT"]);
    });
}

/// The server is asked whether its transaction is open, and closes.
#[test]
fn c14_a_home_that_is_lost_at_the_question_for_its_transaction_is_told() {
    for statements in [&["BEGIN", "DO 1"][..], &["BEGIN", "DO 1", "SELECT id FROM t WHERE id = 2"]] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, statements).await;
            world.fails("home", "DO 2", Fault::Late);
            refused(&mut client, "DO 2", 1205).await;
            world.fails("home", "COM_PING", Fault::Closes);
            world.take();
            rolled_back(&mut client, "DELETE FROM t").await;
            assert!(world.take().iter().all(|text| !text.ends_with("DELETE FROM t")));
            ok(&mut client, &["DELETE FROM t"]).await;
        });
    }
}

/// The question sets it to 0 at the server.
#[test]
fn c06_row_count_behind_an_error_is_that_of_the_error() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)", "DO 1"]).await;
        world.fails("home", "DO 2", Fault::Late);
        refused(&mut client, "DO 2", 1205).await;
        world.take();
        ok(&mut client, &["SELECT ROW_COUNT()"]).await;
        assert_eq!(at(&world, "home"), ["SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"]);
    });
}

/// The table `db.t`, in two parts at the server `a`.
fn two_tables() -> Layout {
    let node = |table: &str| Node { hostgroup: 1, schema: "db".to_owned(), table: table.to_owned() };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let nodes = vec![node("t_0"), node("t_1")];
    let table = Table::sharded(["db", "t"], nodes, vec!["id".to_owned()], vec![level]);
    let draft = Draft { hostgroups: vec![0, 1, 2], tables: vec![table], ..Draft::default() };
    Layout::new(draft).expect("a valid layout")
}

#[test]
fn c08_no_part_of_a_statement_runs_behind_a_timeout_that_has_ended_its_transaction() {
    for begin in ["DO 1", "BEGIN"] {
        play(async || {
            let mut config = config();
            config.shards = Some(Arc::new(two_tables()));
            let (_stage, world, mut client) = scene_of(config).await;
            ok(&mut client, &[begin]).await;
            world.fails("a", "DELETE", Fault::TimedOut);
            refused(&mut client, "DELETE FROM t", 1205).await;
            let all = at(&world, "a");
            assert_eq!(all.iter().filter(|text| text.starts_with("DELETE")).count(), 1, "{all:?}");
            if begin == "BEGIN" {
                rolled_back(&mut client, "COMMIT").await;
            }
            ok(&mut client, &["DELETE FROM t"]).await;
        });
    }
}

/// It may commit or roll back there, and nothing says which.
#[test]
fn c08_what_may_end_the_transaction_at_home_does_not_run_while_shards_have_changes_in_it() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)"]).await;
        world.take();
        for sql in ["EXECUTE s", "EXECUTE s USING @a"] {
            let error = refused(&mut client, sql, 1235).await;
            assert!(error.contains("may end the transaction"), "{error}");
        }
        assert!(world.take().is_empty());
        ok(&mut client, &["COMMIT", "EXECUTE s"]).await;
        assert_eq!(world.take(), ["a: COMMIT", "home: EXECUTE s"]);
    });
}

#[test]
fn shards_that_have_only_read_leave_a_transaction_that_has_ended_at_home() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "SELECT id FROM t WHERE id = 2"]).await;
        world.fails("home", "EXECUTE s", Fault::Ends);
        ok(&mut client, &["EXECUTE s", "INSERT INTO t (id) VALUES (2)"]).await;
        let expected =
            ["BEGIN", "SELECT id FROM t WHERE id = 2", "ROLLBACK", "INSERT INTO t (id) VALUES (2)"];
        assert_eq!(at(&world, "a"), expected);
    });
}

#[test]
fn c09_a_home_that_does_not_roll_back_is_left() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "DO 1", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("a", "VALUES (4)", Fault::Deadlock);
        // It is told twice.
        world.fails("home", "ROLLBACK", Fault::Interrupted);
        world.fails("home", "ROLLBACK", Fault::Interrupted);
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        client.send_query("DO 2").await;
        assert!(!client.expect_ok().await.status.contains(StatusFlags::IN_TRANSACTION));
    });
}

#[test]
fn c09_a_transaction_that_has_not_begun_at_home_is_over_if_its_end_is_refused() {
    play(async || {
        let mut config = config();
        config.query_rules =
            vec![QueryRule { error_msg: Some("no".to_owned()), apply: true, ..rule(1, "^ROLLBACK") }].into();
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("a", "VALUES (4)", Fault::Deadlock);
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        world.take();
        ok(&mut client, &["INSERT INTO t (id) VALUES (6)"]).await;
        assert_eq!(world.take(), ["a: INSERT INTO t (id) VALUES (6)"]);
    });
}

/// In a transaction of the client, and in one of the statement's own.
#[test]
fn c24_no_end_of_a_transaction_waits_for_a_server_that_is_switched_off() {
    let of_client = ["BEGIN", "INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (3)"];
    for (before, last) in [(&of_client[..], "COMMIT"), (&[], "DELETE FROM t")] {
        play(async || {
            let (stage, world, mut client) = scene().await;
            ok(&mut client, before).await;
            world.fails("b", "COMMIT", Fault::Hangs);
            client.send_query(last).await;
            settle().await;
            let mut without_b = config();
            without_b.servers[2].status = ServerStatus::OfflineHard;
            stage.apply(without_b).unwrap();
            let error = client.expect_err(9010).await.to_string();
            assert!(error.contains("committed at hostgroup 1; not known at hostgroup 2"), "{error}");
        });
    }
}

#[test]
fn c24_a_statement_over_shards_whose_server_does_not_commit_ends_with_its_session() {
    play(async || {
        let (stage, world, mut client) = scene().await;
        let mut killer = log_in(&stage).await;
        world.fails("b", "COMMIT", Fault::Hangs);
        client.send_query("DELETE FROM t").await;
        settle().await;
        let id = stage.processes().iter().map(|session| session.id).min().unwrap();
        killer.send_query(&format!("KILL {id}")).await;
        killer.expect_ok().await;
        client.expect_err(1927).await;
    });
}

/// Behind a part of the reply an error would be taken for another part.
#[test]
fn c24_a_session_that_is_killed_within_the_reply_of_shards_ends_without_a_word() {
    play(async || {
        let (stage, world, mut client) = scene().await;
        let mut killer = log_in(&stage).await;
        for server in ["a", "b"] {
            world.fails(server, "SELECT id", Fault::Stalls);
        }
        client.send_query("SELECT id FROM t").await;
        client.expect(&[1]).await;
        client.read().await;
        if !client.capabilities().contains(Capabilities::DEPRECATE_EOF) {
            client.read().await;
        }
        client.expect(b"\x011").await;
        client.expect(b"\x011").await;
        let id = stage.processes().iter().map(|session| session.id).min().unwrap();
        killer.send_query(&format!("KILL {id}")).await;
        killer.expect_ok().await;
        client.expect_end().await;
    });
}

/// What the session of this user begins with has not been said again by then.
#[test]
fn c05_a_reset_session_has_autocommit_again() {
    play(async || {
        let mut config = config();
        let level = r#"{"default-transaction_isolation": "READ-COMMITTED"}"#;
        config.users[0].attributes = level.parse().unwrap();
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["SET autocommit = 0"]).await;
        client.send_command(Kind::ResetConnection, b"").await;
        client.expect_ok().await;
        client.send_query("BEGIN").await;
        let began = client.expect_ok().await;
        assert_eq!(began.status, StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION);
        ok(&mut client, &["INSERT INTO t (id) VALUES (2)", "ROLLBACK"]).await;
        world.take();
        ok(&mut client, &["INSERT INTO t (id) VALUES (4)"]).await;
        assert_eq!(world.take(), ["a: INSERT INTO t (id) VALUES (4)"]);
    });
}

/// Sharded tables come with a configuration while a query waits in line: where it would have gone
/// is nothing to the next one, whether it is refused or runs at one shard.
#[test]
fn c06_a_query_that_comes_to_shards_after_its_wait_leaves_nothing_to_the_next_one() {
    let one = "SELECT id FROM t WHERE id = 2";
    for (query, code) in [("SELECT COUNT(DISTINCT v) FROM t", Some(1235)), (one, None)] {
        play(async || {
            let mut config = config();
            config.variables.multiplexing = true;
            config.servers[0].max_connections = 1;
            config.servers.push(config::Server { hostgroup_id: 3, ..database("c") });
            let away = QueryRule { destination_hostgroup: Some(3), apply: true, ..rule(1, "DO 9") };
            config.query_rules = vec![away].into();
            let (stage, world, mut holder) = scene_of(Config { shards: None, ..config.clone() }).await;
            ok(&mut holder, &["BEGIN"]).await;
            let mut client = log_in_as(&stage, &options().schema("db")).await;
            client.send_query(query).await;
            settle().await;
            stage.apply(config).unwrap();
            let mut other = log_in_as(&stage, &options().schema("db")).await;
            other.send_query(one).await;
            settle().await;
            ok(&mut holder, &["COMMIT"]).await;
            other.expect_ok().await;
            match code {
                Some(code) => drop(client.expect_err(code).await),
                None => drop(client.expect_ok().await),
            }
            world.take();
            ok(&mut client, &["DO 9"]).await;
            assert_eq!(world.take(), ["c: DO 9"]);
        });
    }
}

/// At shards it is done by then: the transaction does not go on without their parts.
#[test]
fn c24_a_rollback_that_is_killed_at_home_is_a_rollback() {
    for begins in ["BEGIN", "SET autocommit = 0"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &[begins, "DO 1", "INSERT INTO t (id) VALUES (2)"]).await;
            world.fails("home", "ROLLBACK", Fault::Interrupted);
            ok(&mut client, &["ROLLBACK"]).await;
            world.take();
            ok(&mut client, &["DO 2", "COMMIT"]).await;
            let all = world.take();
            assert!(!all.contains(&"a: COMMIT".to_owned()), "{all:?}");
            assert_eq!(all.iter().filter(|text| text.contains("home: DO")).count(), 1, "{all:?}");
        });
    }
}

/// What home says of the rollback itself is told.
#[test]
fn a_rollback_that_home_refuses_is_refused() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET autocommit = 0", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("home", "ROLLBACK", Fault::Late);
        client.send_query("ROLLBACK").await;
        client.expect_err(1205).await;
        assert!(world.take().contains(&"a: ROLLBACK".to_owned()));
    });
}

/// The other shard of the transaction is still to answer.
#[test]
fn c24_a_session_can_be_killed_behind_the_error_of_one_shard() {
    play(async || {
        let (stage, world, mut client) = scene().await;
        let mut killer = log_in(&stage).await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2), (3)"]).await;
        world.fails("a", "SELECT id", Fault::Late);
        world.fails("b", "SELECT id", Fault::Hangs);
        client.send_query("SELECT id FROM t").await;
        client.expect_err(1205).await;
        let id = stage.processes().iter().map(|session| session.id).min().unwrap();
        killer.send_query(&format!("KILL {id}")).await;
        killer.expect_ok().await;
        client.expect_end().await;
    });
}
