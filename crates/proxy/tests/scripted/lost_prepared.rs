//! Prepared statements of servers that are lost.

use config::QueryRule;
use wire::StatusFlags;
use wire::command::Kind;

use super::lost::{next, scene, scene_of};
use super::split_prepared::{prepare, prepared};
use super::support::{config as usual, play, rule, run, settle};

#[test]
fn c11_a_rule_says_how_often_an_execution_is_sent_again() {
    play(async || {
        let mut config = usual();
        config.query_rules = vec![QueryRule { retries: Some(2), ..rule(1, "^SELECT a") }].into();
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

#[test]
fn c16_types_are_known_of_an_execution_that_hears_of_a_lost_transaction() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        let sql = b"INSERT INTO t VALUES (?)";
        let id = prepare(&mut client, &mut db, sql, 7).await;
        db.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut db, "BEGIN").await;
        drop(db);
        settle().await;
        let typed = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &typed).await;
        client.expect_err(1213).await;
        client.send_command(Kind::StmtExecute, &[&id[..], b"\0\x01\0\0\0\0\0\x05\0\0\0"].concat()).await;
        let mut other = servers.accept().await;
        other.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut other, 7).await;
        other.expect_command(Kind::StmtExecute, &typed).await;
        other.ok().await;
        client.expect_ok().await;
    });
}

/// A statement with the number 7, without parameters and columns.
const PREPARED: [u8; 12] = [0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Its execution.
const EXECUTE: [u8; 9] = [7, 0, 0, 0, 0, 1, 0, 0, 0];
