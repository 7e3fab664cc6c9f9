//! Statements that end a transaction over shards: home interrupts them, another transaction begins
//! behind them, or the session ends with them.

use std::sync::Arc;

use config::ShardTransactions;
use shard::{Draft, Home, Layout, Sequence, SequenceKind};
use wire::StatusFlags;

use super::shards::layout;
use super::shards_lost::{Fault, config, ok, rolled_back, scene, scene_of};
use super::support::{Client, play};

const READ: &str = "SELECT id FROM t WHERE id = 2";
const WRITE: &str = "INSERT INTO t (id) VALUES (2)";

async fn refused(client: &mut Client, sql: &str, code: u16) -> String {
    client.send_query(sql).await;
    client.expect_err(code).await.to_string()
}

/// Whether a transaction is open behind this statement, which succeeds.
async fn opens(client: &mut Client, sql: &str) -> bool {
    client.send_query(sql).await;
    client.expect_ok().await.status.contains(StatusFlags::IN_TRANSACTION)
}

/// Its home has it as before.
#[test]
fn c08_a_transaction_whose_end_is_interrupted_at_home_has_still_written_there() {
    for (before, end) in [(READ, "COMMIT"), (READ, "COMMIT AND CHAIN"), ("DO 1", "ROLLBACK"), (READ, "BEGIN")]
    {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", "DELETE FROM h", before]).await;
            world.fails("home", if end == "BEGIN" { "COMMIT" } else { end }, Fault::Interrupted);
            refused(&mut client, end, 1317).await;
            ok(&mut client, &[WRITE]).await;
            world.fails("home", "COMMIT", Fault::Interrupted);
            let error = refused(&mut client, "COMMIT", 9010).await;
            assert!(error.contains("rolled back at the home (error 1317)"), "{end}: {error}");
        });
    }
}

#[test]
fn c08_a_transaction_whose_commit_is_interrupted_at_home_writes_at_no_second_server() {
    play(async || {
        let mut config = config();
        config.pointsman.shard_transactions = ShardTransactions::Single;
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["BEGIN", "DELETE FROM h", READ]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT", 1317).await;
        refused(&mut client, WRITE, 1235).await;
        ok(&mut client, &["COMMIT", WRITE]).await;
    });
}

/// A shard that comes into it has all that home has of it.
#[test]
fn c08_a_transaction_whose_commit_is_interrupted_at_home_is_what_it_was() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["START TRANSACTION READ ONLY", "SAVEPOINT s", READ]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT", 1317).await;
        world.take();
        ok(&mut client, &[READ, "ROLLBACK TO s"]).await;
        let expected = [
            "a: START TRANSACTION READ ONLY",
            "a: SAVEPOINT s",
            &format!("a: {READ}"),
            "home: ROLLBACK TO s",
            "a: ROLLBACK TO s",
        ];
        assert_eq!(world.take(), expected);
    });
}

#[test]
fn c08_a_transaction_begins_behind_an_end_over_shards_that_home_has_refused() {
    for (end, fault, begin) in [
        ("COMMIT AND CHAIN", Fault::Interrupted, "home: BEGIN"),
        ("COMMIT AND CHAIN", Fault::Closes, "home: BEGIN"),
        ("ROLLBACK AND CHAIN", Fault::Interrupted, "home: BEGIN"),
        ("ROLLBACK AND CHAIN", Fault::Closes, "home: ROLLBACK AND CHAIN"),
    ] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", "DO 1", WRITE]).await;
            world.fails("home", end, fault);
            assert!(opens(&mut client, end).await, "{end}");
            let all = world.take();
            assert!(all.ends_with(&[begin.to_owned()]), "{end}: {all:?}");
            assert!(all.contains(&format!("a: {}", &end[..end.len() - 10])), "{end}: {all:?}");
            ok(&mut client, &[WRITE, "ROLLBACK"]).await;
            let expected = ["a: BEGIN", &format!("a: {WRITE}"), "a: ROLLBACK", "home: ROLLBACK"];
            assert_eq!(world.take(), expected, "{end}");
        });
    }
}

/// What shards have committed is not told as an error that may be tried again.
#[test]
fn c10_a_commit_over_shards_behind_which_no_transaction_begins_is_told_as_done() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "DO 1", WRITE]).await;
        world.fails("home", "COMMIT AND CHAIN", Fault::Interrupted);
        world.fails("home", "BEGIN", Fault::Interrupted);
        let error = refused(&mut client, "COMMIT AND CHAIN", 9010).await;
        assert!(error.contains("committed at hostgroup 1"), "{error}");
        assert!(!opens(&mut client, "DO 2").await);
    });
}

/// Home has no part of either.
#[test]
fn a_transaction_that_shards_alone_are_in_is_followed_by_another_one() {
    for end in ["COMMIT", "ROLLBACK"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", WRITE]).await;
            assert!(opens(&mut client, &format!("{end} AND CHAIN")).await);
            ok(&mut client, &[WRITE, "COMMIT"]).await;
            let write = format!("a: {WRITE}");
            let expected = ["a: BEGIN", &write, &format!("a: {end}"), "a: BEGIN", &write, "a: COMMIT"];
            assert_eq!(world.take(), expected);
        });
    }
}

/// Servers begin it with the same characteristics, and with no savepoints.
#[test]
fn a_transaction_behind_another_one_is_like_it_at_shards() {
    for end in ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["START TRANSACTION READ ONLY", "SAVEPOINT s", READ]).await;
            assert!(opens(&mut client, end).await);
            world.take();
            ok(&mut client, &[READ]).await;
            assert_eq!(world.take(), ["a: START TRANSACTION READ ONLY", &format!("a: {READ}")]);
        });
        play(async || {
            let (_stage, _world, mut client) = scene().await;
            let level = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
            ok(&mut client, &[level, "BEGIN", end]).await;
            let error = refused(&mut client, WRITE, 1235).await;
            assert!(error.contains("SET TRANSACTION"), "{error}");
        });
    }
}

#[test]
fn what_home_has_written_before_another_transaction_is_none_of_its_writes() {
    play(async || {
        let mut config = config();
        config.pointsman.shard_transactions = ShardTransactions::Single;
        let (_stage, _world, mut client) = scene_of(config).await;
        ok(&mut client, &["BEGIN", "DELETE FROM h", "COMMIT AND CHAIN", WRITE, "COMMIT"]).await;
    });
}

#[test]
fn c10_the_end_of_a_transaction_and_of_its_session_is_told_before_the_session_ends() {
    for (before, end) in [
        ("DO 1", "COMMIT RELEASE"),
        ("DO 1", "ROLLBACK RELEASE"),
        (READ, "COMMIT RELEASE"),
        (READ, "ROLLBACK RELEASE"),
    ] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", before, WRITE]).await;
            assert!(!opens(&mut client, end).await);
            client.expect_end().await;
            let all = world.take();
            let word = end.split(' ').next().unwrap();
            assert!(all.contains(&format!("a: {word}")), "{all:?}");
            assert_eq!(all.iter().any(|text| text.starts_with(&format!("home: {word}"))), before == "DO 1");
        });
    }
}

#[test]
fn c24_a_rollback_that_ends_the_session_and_is_killed_at_home_is_a_rollback() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "DO 1", WRITE]).await;
        world.fails("home", "ROLLBACK", Fault::Interrupted);
        assert!(!opens(&mut client, "ROLLBACK RELEASE").await);
        client.expect_end().await;
    });
}

/// A server that refuses a commit does not end the session.
#[test]
fn c10_a_session_goes_on_whose_last_commit_is_refused() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "DELETE FROM h", WRITE]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT RELEASE", 9010).await;
        assert!(!opens(&mut client, "DO 2").await);
    });
}

/// What servers make of them is not known when shards are to hear it.
#[test]
fn an_end_of_a_transaction_that_servers_may_refuse_changes_nothing_over_shards() {
    for end in ["COMMIT AND CHAIN RELEASE", "ROLLBACK NOW", "COMMIT /*! RELEASE */"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", WRITE]).await;
            world.take();
            refused(&mut client, end, 1235).await;
            assert!(world.take().is_empty());
            ok(&mut client, &["COMMIT"]).await;
            assert_eq!(world.take(), ["a: COMMIT"]);
        });
    }
}

/// Nothing has been committed by then: a client that commits again has all that it has written.
#[test]
fn c10_a_commit_that_all_shards_interrupt_leaves_the_transaction_open() {
    for end in ["COMMIT", "COMMIT RELEASE", "BEGIN"] {
        for (before, write) in
            [("DO 1", WRITE), (READ, WRITE), ("DELETE FROM h", "INSERT INTO t (id) VALUES (2), (3)")]
        {
            play(async || {
                let (_stage, world, mut client) = scene().await;
                ok(&mut client, &["BEGIN", before, write]).await;
                let is_at_b = write != WRITE;
                world.fails("a", "COMMIT", Fault::Interrupted);
                if is_at_b {
                    world.fails("b", "COMMIT", Fault::Interrupted);
                }
                refused(&mut client, end, 1317).await;
                world.take();
                ok(&mut client, &["COMMIT"]).await;
                let all = world.take();
                assert!(all.contains(&"a: COMMIT".to_owned()), "{end}: {all:?}");
                assert_eq!(all.contains(&"b: COMMIT".to_owned()), is_at_b, "{end}: {all:?}");
            });
        }
    }
}

/// No half of a statement that was told as failed is committed.
#[test]
fn c08_a_shard_that_does_not_end_its_part_of_a_statement_ends_the_transaction() {
    for begin in ["BEGIN", "SET autocommit = 0"] {
        for (end, code) in [("ROLLBACK TO", 1205), ("RELEASE", 1317)] {
            play(async || {
                let (_stage, world, mut client) = scene().await;
                ok(&mut client, &[begin]).await;
                if end == "ROLLBACK TO" {
                    world.fails("b", "VALUES (3)", Fault::Late);
                }
                world.fails("a", end, Fault::Interrupted);
                refused(&mut client, "INSERT INTO t (id) VALUES (2), (3)", code).await;
                rolled_back(&mut client, "COMMIT").await;
                let all = world.take();
                assert!(!all.iter().any(|text| text.ends_with("COMMIT")), "{begin}, {end}: {all:?}");
            });
        }
    }
}

/// The proxy's own ends of transactions are ends and no more.
#[test]
fn c10_completion_type_is_about_the_ends_of_the_client_alone() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET completion_type = 2", "DELETE FROM t", "BEGIN", WRITE, "BEGIN", WRITE]).await;
        assert!(!opens(&mut client, "COMMIT").await);
        client.expect_end().await;
        let all = world.take();
        let commits = all.iter().filter(|text| text.starts_with("a: COMMIT")).count();
        assert_eq!(commits, 3, "{all:?}");
    });
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET completion_type = 1", "BEGIN", "DO 1", WRITE]).await;
        assert!(opens(&mut client, "COMMIT").await);
        world.take();
        ok(&mut client, &[WRITE]).await;
        assert_eq!(world.take(), ["a: BEGIN", &format!("a: {WRITE}")]);
        world.fails("a", "VALUES (4)", Fault::Deadlock);
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        assert!(!opens(&mut client, "DO 2").await);
    });
}

/// It may have written there: an error tells nothing of the transaction.
#[test]
fn c09_without_autocommit_home_is_rolled_back_behind_its_first_error() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET autocommit = 0", WRITE]).await;
        world.fails("home", "DO 1", Fault::Late);
        refused(&mut client, "DO 1", 1205).await;
        world.fails("a", "VALUES (4)", Fault::Deadlock);
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        let all = world.take();
        assert!(all.contains(&"home: ROLLBACK".to_owned()), "{all:?}");
    });
}

/// As with a procedure.
#[test]
fn c08_a_statement_that_begins_a_transaction_and_writes_has_written_at_home() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["EXECUTE begins", WRITE]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT", 9010).await;
    });
}

/// Another session would get them as well.
#[test]
fn c08_ids_whose_counter_is_not_committed_are_not_given() {
    play(async || {
        let mut config = config();
        let sequence = Sequence {
            schema: "db".to_owned(),
            table: "t".to_owned(),
            column: "id".to_owned(),
            kind: SequenceKind::Segment { step: 1 },
        };
        let home = Home { schema: None, hostgroup: 0, physical_schema: None };
        let (tables, hostgroups) = (layout().tables().to_vec(), vec![0, 1, 2]);
        let draft =
            Draft { hostgroups, tables, sequences: vec![sequence], homes: vec![home], groups: vec![] };
        config.shards = Some(Arc::new(Layout::new(draft).expect("a valid layout")));
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["SET autocommit = 0"]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        let many = "INSERT INTO t (id) VALUES (NULL), (NULL), (NULL), (NULL)";
        refused(&mut client, many, 1467).await;
        let all = world.take();
        assert!(!all.iter().any(|text| text.contains("INTO t ")), "{all:?}");
        ok(&mut client, &[many]).await;
    });
}
