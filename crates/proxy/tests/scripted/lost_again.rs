//! Statements without an answer from a server that is lost: which of them are sent again, and how
//! often.

use config::QueryRule;

use super::lost::{next, scene, scene_of};
use super::support::{config as usual, expect_alive, play, rule, run, secs};

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
        // The variable says it for all others; what may have been done is never sent again.
        (Some(3), "SELECT b FROM t", 1),
        (None, "SELECT a FROM t", 1),
        (Some(3), "SELECT a FROM t FOR UPDATE", 0),
        // Who sends it knows better.
        (Some(0), "/* query_retries=2 */ SELECT a FROM t", 2),
    ] {
        play(async || {
            let mut config = usual();
            config.query_rules = vec![QueryRule { retries, ..rule(1, "^SELECT a") }].into();
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
fn what_a_rule_says_of_one_statement_holds_for_none_behind_it() {
    play(async || {
        let mut config = usual();
        config.query_rules = vec![QueryRule { retries: Some(0), ..rule(1, "^SELECT a") }].into();
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
