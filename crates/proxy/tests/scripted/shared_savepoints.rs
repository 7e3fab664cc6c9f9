//! Savepoints without `autocommit`: no status flag tells of them before a table is used, and they
//! belong to the transaction.

use wire::StatusFlags;

use super::shared::two;
use super::support::{Client, Database, play, run, settle};

/// The first client has no `autocommit`, and does this.
async fn without_autocommit(one: &mut Client, server: &mut Database, statements: &[&str]) {
    server.status = StatusFlags::empty();
    for sql in ["SET autocommit = 0"].iter().chain(statements) {
        run(one, server, sql).await;
    }
}

/// The first client is bound by these, and not behind the last.
fn is_over_with(statements: &[&str], last: &str, status: StatusFlags) {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        without_autocommit(&mut one, &mut server, statements).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        server.status = status;
        run(&mut one, &mut server, last).await;
        settle().await;
        assert_eq!(stage.usage(0).resting, 1, "{statements:?} {last}");
    });
}

#[test]
fn c04_a_savepoint_without_autocommit_binds_until_the_end_of_the_transaction() {
    const NO: StatusFlags = StatusFlags::empty();
    for statements in [
        &["SAVEPOINT a"][..],
        &["savepoint `a b`", "ROLLBACK TO SAVEPOINT `a b`"],
        &["SAVEPOINT a", "RELEASE SAVEPOINT a", "SELECT 1"],
        &["/*!50000 SAVEPOINT a */"],
    ] {
        is_over_with(statements, "COMMIT", NO);
        is_over_with(statements, "ROLLBACK", NO);
        is_over_with(statements, "SET autocommit = 1", StatusFlags::AUTOCOMMIT);
    }
}

#[test]
fn c04_a_savepoint_outlives_an_end_in_a_comment_that_not_every_server_executes() {
    for end in ["/*!99999 COMMIT */", "/*M! ROLLBACK */"] {
        play(async || {
            let (stage, _servers, mut one, _two, mut server) = two().await;
            without_autocommit(&mut one, &mut server, &["SAVEPOINT a", end]).await;
            settle().await;
            assert_eq!(stage.usage(0).resting, 0, "{end}");
        });
    }
}

#[test]
fn a_savepoint_with_autocommit_is_nothing() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SAVEPOINT a").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

/// What ends a transaction without being its end, ends its savepoints.
#[test]
fn a_savepoint_ends_with_the_transaction_that_a_statement_commits() {
    play(async || {
        let (stage, _servers, mut one, _two, mut server) = two().await;
        without_autocommit(&mut one, &mut server, &["SAVEPOINT a"]).await;
        server.status = StatusFlags::IN_TRANSACTION;
        run(&mut one, &mut server, "INSERT INTO t VALUES (1)").await;
        server.status = StatusFlags::empty();
        run(&mut one, &mut server, "CREATE TABLE u (a INT)").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        settle().await;
        assert_eq!(stage.usage(0).resting, 1);
    });
}

#[test]
fn a_savepoint_ends_with_a_transaction_that_a_deadlock_has_ended() {
    play(async || {
        let (stage, _servers, mut one, _two, mut server) = two().await;
        without_autocommit(&mut one, &mut server, &["SAVEPOINT a"]).await;
        one.send_query("UPDATE t SET a = 1").await;
        server.expect_query("UPDATE t SET a = 1").await;
        server.err(1213, "40001", "Deadlock found when trying to get lock").await;
        one.expect_err(1213).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        settle().await;
        assert_eq!(stage.usage(0).resting, 1);
    });
}

/// As with any other transaction.
#[test]
fn a_savepoint_that_is_lost_is_told_as_a_transaction() {
    for next in ["INSERT INTO t VALUES (1)", "/*!99999 ROLLBACK */"] {
        play(async || {
            let (_stage, mut servers, mut one, _two, mut server) = two().await;
            without_autocommit(&mut one, &mut server, &["SAVEPOINT a"]).await;
            drop(server);
            settle().await;
            one.send_query(next).await;
            one.expect_err(1213).await;
            one.send_query("SELECT 1").await;
            let mut server = servers.accept().await;
            server.expect_query("SET SESSION autocommit = 0").await;
        });
    }
}
