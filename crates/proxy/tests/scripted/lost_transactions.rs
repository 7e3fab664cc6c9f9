//! Servers that are lost with transactions: what of them is told to whom.

use config::{Config, MysqlVariables};
use wire::StatusFlags;
use wire::command::Kind;

use super::lost::{next, scene, scene_of};
use super::support::{
    begin, config as usual, expect_alive, expect_nothing_left, messages, pair_of_servers, play, run, settle,
};

#[test]
fn c14_a_transaction_that_is_lost_is_told_with_the_next_statement() {
    for sql in ["INSERT 1", "SELECT 1", "COMMIT"] {
        play(async || {
            let (stage, mut servers, mut client, mut db) = scene().await;
            run(&mut client, &mut db, "SET NAMES latin1").await;
            begin(&mut client, &mut db).await;
            drop(db);
            settle().await;
            client.send_query(sql).await;
            let error = client.expect_err(1213).await;
            assert_eq!(
                error.to_string(),
                "1213 (40001): Transaction was rolled back: server db:3306 has closed the connection; try restarting \
                 transaction"
            );
            client.send_query("INSERT 2").await;
            let mut other = next(&mut servers, "SET NAMES latin1").await;
            other.expect_query("INSERT 2").await;
            other.ok().await;
            client.expect_ok().await;
            expect_alive(&mut client, &mut other).await;
            drop(client);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn c14_a_ping_that_was_sent_behind_begin_tells_that_the_transaction_is_lost() {
    play(async || {
        let (_stage, _servers, mut client, mut db) = scene().await;
        client.send_bytes(&[messages(0, &[b"\x03BEGIN"]), messages(0, &[b"\x0e"])].concat()).await;
        db.expect_query("BEGIN").await;
        db.status |= StatusFlags::IN_TRANSACTION;
        db.ok().await;
        assert_eq!(db.read_command().await, [Kind::Ping as u8]);
        drop(db);
        client.packets().expect_seq(1);
        client.expect_ok().await;
        client.packets().expect_seq(1);
        assert_eq!(client.read().await[0], 0xff);
    });
}

#[test]
fn who_rolls_back_hears_nothing_of_a_transaction_that_is_lost() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        drop(db);
        settle().await;
        client.send_query("ROLLBACK").await;
        let mut other = next(&mut servers, "ROLLBACK").await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut other).await;
    });
}

#[test]
fn c14_a_change_of_the_schema_does_not_take_the_error_of_a_statement() {
    for waits in [true, false] {
        play(async || {
            let (_stage, mut servers, mut client, mut db) = scene().await;
            begin(&mut client, &mut db).await;
            drop(db);
            if waits {
                settle().await;
            }
            client.send_command(Kind::InitDb, b"s0").await;
            let mut other = servers.accept().await;
            other.expect_command(Kind::InitDb, b"s0").await;
            other.ok().await;
            client.expect_ok().await;
            client.send_query("INSERT 1").await;
            client.expect_err(1213).await;
            expect_alive(&mut client, &mut other).await;
        });
    }
}

#[test]
fn a_ping_does_not_take_the_error_of_a_statement() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        drop(db);
        settle().await;
        client.send_command(Kind::Ping, b"").await;
        let mut other = servers.accept().await;
        assert_eq!(other.read_command().await, [Kind::Ping as u8]);
        other.ok().await;
        client.expect_ok().await;
        client.send_query("INSERT 1").await;
        client.expect_err(1213).await;
        expect_alive(&mut client, &mut other).await;
    });
}

#[test]
fn a_statement_in_a_transaction_is_told_that_it_was_rolled_back() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        client.send_query("INSERT 1").await;
        db.expect_query("INSERT 1").await;
        drop(db);
        client.expect_err(1213).await;
        client.send_query("ROLLBACK").await;
        let mut other = next(&mut servers, "ROLLBACK").await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut other).await;
    });
}

#[test]
fn c10_the_outcome_of_a_commit_without_an_answer_is_unknown() {
    for sql in ["COMMIT", "BEGIN", "CREATE TABLE t (a INT)", "CALL p()", "SET autocommit = 1", "DO 1; COMMIT"]
    {
        play(async || {
            let (_stage, mut servers, mut client, mut db) = scene().await;
            begin(&mut client, &mut db).await;
            client.send_query(sql).await;
            db.expect_query(sql).await;
            drop(db);
            let error = client.expect_err(9009).await;
            assert_eq!(
                error.to_string(),
                "9009 (08007): Outcome unknown: server db:3306 has closed the connection before it answered; the statement \
                 may have been done, and is not repeated",
                "{sql}"
            );
            assert!(servers.settled().await.is_none(), "{sql} is not sent again");
            client.send_query("DO 2").await;
            next(&mut servers, "DO 2").await;
            client.expect_ok().await;
        });
    }
}

#[test]
fn c14_a_transaction_at_another_server_that_is_lost_is_told() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene_of(pair_of_servers()).await;
        // A connection to the reader is not in use, and the transaction is at the writer.
        client.send_query("SELECT a FROM t").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        begin(&mut client, &mut db).await;
        drop(reader);
        settle().await;
        run(&mut client, &mut db, "INSERT 1").await;
        drop(db);
        settle().await;
        client.send_query("SELECT a FROM t").await;
        client.expect_err(1213).await;
        client.send_query("SELECT a FROM t").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
    });
}

/// Drivers believe the flag, and reads would go to a reader.
#[test]
fn without_autocommit_it_stays_off_when_a_server_is_lost() {
    play(async || {
        let variables = MysqlVariables { multiplexing: true, ..usual().variables };
        let (_stage, mut servers, mut client, mut db) = scene_of(Config { variables, ..usual() }).await;
        db.status = StatusFlags::default();
        run(&mut client, &mut db, "SET autocommit = 0").await;
        db.status = StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut db, "INSERT 1").await;
        client.send_query("SELECT 1").await;
        db.expect_query("SELECT 1").await;
        drop(db);
        client.expect_err(1213).await;
        client.send_command(Kind::Ping, b"").await;
        assert_eq!(client.expect_ok().await.status, StatusFlags::default());
        client.send_query("INSERT 2").await;
        let mut other = next(&mut servers, "SET SESSION autocommit = 0").await;
        other.expect_query("INSERT 2").await;
    });
}

#[test]
fn without_autocommit_what_was_not_committed_is_rolled_back() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        db.status -= StatusFlags::AUTOCOMMIT;
        run(&mut client, &mut db, "SET autocommit = 0").await;
        client.send_query("INSERT INTO t VALUES (1)").await;
        db.expect_query("INSERT INTO t VALUES (1)").await;
        drop(db);
        client.expect_err(1213).await;
        client.send_query("DO 2").await;
        let mut other = next(&mut servers, "SET SESSION autocommit = 0").await;
        other.expect_query("DO 2").await;
        other.ok().await;
        client.expect_ok().await;
    });
}
