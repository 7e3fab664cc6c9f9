//! Servers that are lost while sessions have connections to them: who goes on, and what is told to whom.

use config::{Config, QueryRule};
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    Client, Database, Servers, begin, config as usual, expect_alive, expect_nothing_left, first_query,
    log_in, messages, pair_of_servers, play, rule, run, secs, settle, stage,
};

/// A session with a connection to `db`.
async fn scene_of(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    let db = first_query(&mut client, &mut servers).await;
    (stage, servers, client, db)
}

async fn scene() -> (Stage, Servers, Client, Database) {
    scene_of(usual()).await
}

/// The next connection, over which this comes first.
async fn next(servers: &mut Servers, sql: &str) -> Database {
    let mut server = servers.accept().await;
    server.expect_query(sql).await;
    server.ok().await;
    server
}

#[test]
fn a_session_outside_of_a_transaction_does_not_notice() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "SET NAMES latin1").await;
        drop(db);
        settle().await;
        client.send_query("DO 1").await;
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("DO 1").await;
        other.ok().await;
        client.expect_ok().await;
        // Nor does it hear what a server says when it goes.
        other.packets().expect_seq(1);
        other.err(1053, "08S01", "Server shutdown in progress").await;
        drop(other);
        settle().await;
        client.send_query("DO 2").await;
        let mut third = next(&mut servers, "SET NAMES latin1").await;
        third.expect_query("DO 2").await;
        third.ok().await;
        client.expect_ok().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

/// It was counted as often as it was sent.
#[test]
fn a_statement_that_is_sent_again_is_one_statement() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        let before = stage.global("Questions");
        let _ = stage.take_digests();
        client.send_query("SELECT 1").await;
        db.expect_query("SELECT 1").await;
        tokio::time::sleep(secs(2)).await;
        drop(db);
        let mut other = servers.accept().await;
        other.expect_query("SELECT 1").await;
        let running = &stage.processes()[0];
        assert!(running.time >= secs(2), "{running:?}");
        other.ok().await;
        client.expect_ok().await;
        assert_eq!((stage.global("Questions") - before, stage.command("SELECT").count), (1, 1));
        assert_eq!(stage.take_digests().iter().map(|digest| digest.count).sum::<u64>(), 1);
        // The next one is another one.
        client.send_query("SELECT 1").await;
        other.expect_query("SELECT 1").await;
        other.ok().await;
        client.expect_ok().await;
        assert_eq!(stage.global("Questions") - before, 2);
    });
}

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
fn c10_nobody_knows_what_became_of_a_commit_without_an_answer() {
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
fn c10_a_write_without_an_answer_is_not_sent_again() {
    for sql in ["INSERT INTO t VALUES (1)", "SELECT f(1)", "SELECT GET_LOCK('a', 1)", "SET GLOBAL a = 1"] {
        play(async || {
            let (_stage, mut servers, mut client, mut db) = scene().await;
            client.send_query(sql).await;
            db.expect_query(sql).await;
            drop(db);
            client.expect_err(9009).await;
            assert!(servers.settled().await.is_none(), "{sql}");
        });
    }
}

#[test]
fn c11_a_read_without_an_answer_is_sent_again_once() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_query("SELECT a FROM t").await;
        db.expect_query("SELECT a FROM t").await;
        drop(db);
        let mut other = servers.accept().await;
        other.expect_query("SELECT a FROM t").await;
        other.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        for end in [false, true] {
            client.send_query("SELECT b FROM t").await;
            other.expect_query("SELECT b FROM t").await;
            drop(other);
            other = servers.accept().await;
            other.expect_query("SELECT b FROM t").await;
            if !end {
                other.rows(&["a"], &[&[Some("1")]]).await;
                client.expect_rows(&[&[Some("1")]]).await;
            }
        }
        // A statement that takes its servers along does not take all of them along.
        drop(other);
        let error = client.expect_err(1213).await;
        assert_eq!(
            error.to_string(),
            "1213 (40001): Nothing was changed: server db:3306 has closed the connection; try again"
        );
        client.send_query("DO 2").await;
        next(&mut servers, "DO 2").await;
        client.expect_ok().await;
    });
}

#[test]
fn c11_a_rule_says_how_often_a_read_is_sent_again() {
    for (retries, sql, again) in [
        (Some(0), "SELECT a FROM t", 0),
        (Some(3), "SELECT a FROM t", 3),
        // The variable says it for all others, and nobody for what may have been done.
        (Some(3), "SELECT b FROM t", 1),
        (None, "SELECT a FROM t", 1),
        (Some(3), "SELECT a FROM t FOR UPDATE", 0),
        // Who sends it knows better.
        (Some(0), "/* query_retries=2 */ SELECT a FROM t", 2),
    ] {
        play(async || {
            let mut config = usual();
            config.query_rules = vec![QueryRule { retries, ..rule(1, "^SELECT a") }];
            let (_stage, mut servers, mut client, mut db) = scene_of(config).await;
            client.send_query(sql).await;
            db.expect_query(sql).await;
            for _ in 0..again {
                drop(db);
                db = servers.accept().await;
                db.expect_query(sql).await;
            }
            drop(db);
            client.expect_err(if sql.contains("UPDATE") { 9009 } else { 1213 }).await;
            assert!(servers.settled().await.is_none(), "{sql}");
        });
    }
}

#[test]
fn c11_a_rule_says_how_often_an_execution_is_sent_again() {
    play(async || {
        let mut config = usual();
        config.query_rules = vec![QueryRule { retries: Some(2), ..rule(1, "^SELECT a") }];
        let (_stage, mut servers, mut client, mut db) = scene_of(config).await;
        client.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        assert_eq!(db.read_command().await, b"\x16SELECT a FROM t");
        db.send(&PREPARED).await;
        client.read().await;
        client.send_command(Kind::StmtExecute, &EXECUTE).await;
        db.expect_command(Kind::StmtExecute, &EXECUTE).await;
        for _ in 0..2 {
            drop(db);
            db = servers.accept().await;
            assert_eq!(db.read_command().await, b"\x16SELECT a FROM t");
            db.packets().expect_seq(1);
            db.send(&PREPARED).await;
            db.expect_command(Kind::StmtExecute, &EXECUTE).await;
        }
        drop(db);
        client.expect_err(1213).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn what_a_rule_says_of_one_statement_holds_for_none_behind_it() {
    play(async || {
        let mut config = usual();
        config.query_rules = vec![QueryRule { retries: Some(0), ..rule(1, "^SELECT a") }];
        let (_stage, mut servers, mut client, mut db) = scene_of(config).await;
        run(&mut client, &mut db, "SELECT a FROM t").await;
        client.send_query("SELECT b FROM t").await;
        db.expect_query("SELECT b FROM t").await;
        drop(db);
        let mut other = servers.accept().await;
        other.expect_query("SELECT b FROM t").await;
        other.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn c11_after_the_first_byte_of_an_answer_nothing_is_sent_again() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_query("SELECT a FROM t").await;
        db.expect_query("SELECT a FROM t").await;
        db.columns(&["a"]).await;
        drop(db);
        client.expect_err(2013).await;
        client.expect_end().await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn what_is_set_or_begun_is_said_again() {
    for sql in ["SET NAMES latin1", "BEGIN", "USE other", "SHOW TABLES"] {
        play(async || {
            let (_stage, mut servers, mut client, mut db) = scene().await;
            client.send_query(sql).await;
            db.expect_query(sql).await;
            drop(db);
            let mut other = next(&mut servers, sql).await;
            client.expect_ok().await;
            expect_alive(&mut client, &mut other).await;
        });
    }
}

#[test]
fn each_of_several_commands_that_were_sent_together_has_its_answer() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        let commands: Vec<u8> = [&b"\x03INSERT 1"[..], b"\x03INSERT 2", b"\x03INSERT 3"]
            .iter()
            .flat_map(|one| messages(0, &[one]))
            .collect();
        client.send_bytes(&commands).await;
        db.expect_query("INSERT 1").await;
        db.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        db.expect_query("INSERT 2").await;
        drop(db);
        for _ in 0..2 {
            client.packets().expect_seq(1);
            client.expect_err(9009).await;
        }
        client.send_query("DO 2").await;
        next(&mut servers, "DO 2").await;
        client.expect_ok().await;
    });
}

#[test]
fn a_ping_is_answered_whatever_becomes_of_its_server() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_command(Kind::Ping, b"").await;
        assert_eq!(db.read_command().await, [Kind::Ping as u8]);
        drop(db);
        client.expect_ok().await;
        client.send_query("DO 2").await;
        next(&mut servers, "DO 2").await;
        client.expect_ok().await;
    });
}

#[test]
fn c14_a_transaction_at_another_server_that_is_lost_is_told() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene_of(pair_of_servers()).await;
        // A connection to the reader is put aside, and the transaction is at the writer.
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

#[test]
fn a_statement_that_was_not_sent_goes_elsewhere() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "SET NAMES latin1").await;
        drop(db);
        settle().await;
        client.send_query("INSERT 1").await;
        // They die while they are told what the client has set.
        for _ in 0..3 {
            let mut other = servers.accept().await;
            other.expect_query("SET NAMES latin1").await;
        }
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("INSERT 1").await;
        other.ok().await;
        client.expect_ok().await;
        // That has an end.
        drop(other);
        settle().await;
        client.send_query("INSERT 2").await;
        for _ in 0..=5 {
            let mut other = servers.accept().await;
            other.expect_query("SET NAMES latin1").await;
        }
        client.expect_err(9008).await;
        client.send_query("INSERT 3").await;
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("INSERT 3").await;
        other.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_prepared_statement_is_prepared_at_the_next_server() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_command(Kind::StmtPrepare, b"INSERT 1").await;
        assert_eq!(db.read_command().await, b"\x16INSERT 1");
        db.send(&PREPARED).await;
        client.read().await;
        client.send_command(Kind::StmtExecute, &EXECUTE).await;
        assert_eq!(db.read_command().await[..5], [&[0x17][..], &[7, 0, 0, 0]].concat());
        db.ok().await;
        client.expect_ok().await;
        drop(db);
        settle().await;
        client.send_command(Kind::StmtExecute, &EXECUTE).await;
        // The first one dies before it has been prepared there, the second one does it.
        let mut other = servers.accept().await;
        assert_eq!(other.read_command().await, b"\x16INSERT 1");
        drop(other);
        let mut other = servers.accept().await;
        assert_eq!(other.read_command().await, b"\x16INSERT 1");
        other.packets().expect_seq(1);
        let mut prepared = PREPARED;
        prepared[1] = 9;
        other.send(&prepared).await;
        assert_eq!(other.read_command().await[..5], [&[0x17][..], &[9, 0, 0, 0]].concat());
        other.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_statement_is_prepared_elsewhere_when_its_server_dies() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_command(Kind::StmtPrepare, b"INSERT 1").await;
        assert_eq!(db.read_command().await, b"\x16INSERT 1");
        db.send(&PREPARED).await;
        client.read().await;
        drop(db);
        settle().await;
        client.send_query("DO 2").await;
        // The first statement is not at this one: what the second is called is not up to it alone.
        let mut other = next(&mut servers, "DO 2").await;
        client.expect_ok().await;
        client.send_command(Kind::StmtPrepare, b"INSERT 2").await;
        assert_eq!(other.read_command().await, b"\x16INSERT 2");
        drop(other);
        let mut other = servers.accept().await;
        assert_eq!(other.read_command().await, b"\x16INSERT 2");
        other.packets().expect_seq(1);
        other.send(&PREPARED).await;
        let answer = client.read().await;
        assert_eq!((answer[0], answer.len()), (0, PREPARED.len()));
        client.send_command(Kind::StmtExecute, &[&answer[1..5], &EXECUTE[4..]].concat()).await;
        assert_eq!(other.read_command().await[..5], [&[0x17][..], &[7, 0, 0, 0]].concat());
        other.ok().await;
        client.expect_ok().await;
    });
}

/// A statement with the number 7, without parameters and columns.
const PREPARED: [u8; 12] = [0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Its execution.
const EXECUTE: [u8; 9] = [7, 0, 0, 0, 0, 1, 0, 0, 0];
