//! Transactions that bind a session to its connection: those that have begun, and settings of the
//! next one.

use wire::command::Kind;
use wire::{Capabilities, StatusFlags, packet};

use super::shared::{asked, comes, config, two, two_of};
use super::shared_traces::COLUMN;
use super::support::{CLASSIC, options, play, run, settle};

/// Of a transaction that an error has ended the server tells with its next OK, and the ends of rows
/// are none.
#[test]
fn what_a_server_has_not_told_of_a_transaction_binds() {
    play(async || {
        let classic = options().capabilities(CLASSIC | Capabilities::SESSION_TRACK);
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config(), &classic, &classic).await;
        run(&mut one, &mut server, "SELECT 1").await;
        one.send_query("BEGIN").await;
        server.expect_query("BEGIN").await;
        let status = StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION;
        server.send_packet(&packet::Ok::plain(status)).await;
        one.expect_ok().await;
        one.send_query("ALTER TABLE t DROP COLUMN x").await;
        server.expect_query("ALTER TABLE t DROP COLUMN x").await;
        server.err(1091, "42000", "Can't DROP 'x'").await;
        one.expect_err(1091).await;
        one.send_query("SELECT a FROM t").await;
        server.expect_query("SELECT a FROM t").await;
        server.send(&[1]).await;
        server.send(&COLUMN).await;
        server.eof().await;
        server.eof().await;
        for _ in 0..4 {
            one.read().await;
        }
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "COMMIT").await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "0").await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// Without locked tables it commits nothing.
#[test]
fn c05_what_was_said_of_the_next_transaction_outlives_an_unlock() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET TRANSACTION READ ONLY").await;
        run(&mut one, &mut server, "UNLOCK TABLES").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
    });
}

/// A rollback warns that it could not roll that back.
#[test]
fn c05_a_write_that_cannot_be_rolled_back_binds_without_autocommit() {
    play(async || {
        let (stage, _servers, mut one, _two, mut server) = two().await;
        for sql in ["SET autocommit = 0", "INSERT INTO t VALUES (1)"] {
            one.send_query(sql).await;
            server.expect_query(sql).await;
            server.send_packet(&packet::Ok::plain(StatusFlags::empty())).await;
            one.expect_ok().await;
        }
        settle().await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 0));
        run(&mut one, &mut server, "ROLLBACK").await;
        settle().await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 1));
    });
}

/// MariaDB goes on reading only, behind the transaction that this commits.
#[test]
fn a_transaction_that_reads_is_not_over_by_autocommit() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        server.status = StatusFlags::IN_TRANSACTION | StatusFlags::IN_TRANSACTION_READONLY;
        run(&mut one, &mut server, "START TRANSACTION READ ONLY").await;
        server.status = StatusFlags::AUTOCOMMIT;
        run(&mut one, &mut server, "SET autocommit = 1").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "COMMIT").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
    });
}

#[test]
fn what_is_said_of_the_next_transaction_outlives_autocommit() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET TRANSACTION READ ONLY").await;
        run(&mut one, &mut server, "SET autocommit = 1").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
    });
}

/// MySQL's next transaction may still write, and so may a statement be prepared that would.
#[test]
fn what_is_said_of_all_transactions_within_one_comes_after_the_next_behind_autocommit() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET autocommit = 0").await;
        server.status = StatusFlags::IN_TRANSACTION;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "SET SESSION TRANSACTION READ ONLY").await;
        server.status = StatusFlags::AUTOCOMMIT;
        run(&mut one, &mut server, "SET autocommit = 1").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "INSERT INTO t VALUES (1)").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
    });
}
