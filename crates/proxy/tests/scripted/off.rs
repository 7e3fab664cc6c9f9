//! Servers that are set `OFFLINE_HARD` while sessions have connections to them.

use config::{Config, Server, ServerStatus};
use proxy::stage::Stage;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;
use wire::StatusFlags;

use super::support::{
    Client, Database, Servers, begin, config as usual, database, expect_alive, expect_nothing_left,
    first_query, log_in, ms, options, play, run, settle, stage,
};

/// `db` is off, and `other` is there, too.
fn without_db() -> Config {
    let mut config = usual();
    config.servers =
        vec![Server { status: ServerStatus::OfflineHard, ..database("db") }, database("other")].into();
    config
}

async fn next(servers: &mut Servers, name: &str) -> Database {
    let (to, end) = servers.dialled().await;
    assert_eq!(to, name);
    Database::accept(end).await.0
}

/// A session with a connection to `db`.
async fn scene() -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(usual());
    let mut client = log_in(&stage).await;
    let db = first_query(&mut client, &mut servers).await;
    (stage, servers, client, db)
}

#[test]
fn an_idle_session_gets_another_server_and_hears_nothing() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "SET NAMES latin1").await;
        stage.apply(without_db()).unwrap();
        db.expect_end().await;
        client.send_query("DO 1").await;
        let mut other = next(&mut servers, "other:3306").await;
        other.expect_query("SET NAMES latin1").await;
        other.ok().await;
        other.expect_query("DO 1").await;
        other.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut other).await;
        // A configuration that switches nothing off disturbs no session.
        stage.apply(without_db()).unwrap();
        expect_alive(&mut client, &mut other).await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn no_session_waits_for_a_silent_server_that_is_switched_off() {
    play(async || {
        let (stage, mut servers) = stage(usual());
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        client.send_query("DO 1").await;
        let (to, mut silent) = servers.dialled().await;
        assert_eq!(to, "db:3306");
        stage.apply(without_db()).unwrap();
        let mut other = next(&mut servers, "other:3306").await;
        assert_eq!(begun.elapsed(), ms(1), "the pause between two attempts");
        other.expect_query("DO 1").await;
        other.ok().await;
        client.expect_ok().await;
        assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0, "nothing was said there");
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_session_in_a_transaction_is_told() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        stage.apply(without_db()).unwrap();
        db.expect_end().await;
        client.send_query("INSERT 1").await;
        let error = client.expect_err(1213).await;
        assert_eq!(
            error.to_string(),
            "1213 (40001): Transaction was rolled back: server db:3306 was set OFFLINE_HARD; try restarting transaction"
        );
        client.send_query("DO 2").await;
        let mut other = next(&mut servers, "other:3306").await;
        other.expect_query("DO 2").await;
        other.ok().await;
        client.expect_ok().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_session_that_has_left_something_there_is_told() {
    play(async || {
        let (stage, _servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "CREATE TEMPORARY TABLE t (a INT)").await;
        stage.apply(without_db()).unwrap();
        client.packets().expect_seq(1);
        client.expect_err(1053).await;
        client.expect_end().await;
    });
}

#[test]
fn a_statement_that_runs_is_broken_off_and_told() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        client.send_query("DELETE FROM t").await;
        db.expect_query("DELETE FROM t").await;
        stage.apply(without_db()).unwrap();
        let error = client.expect_err(9009).await;
        assert!(error.message.contains("server db:3306 was set OFFLINE_HARD"), "{error:?}");
        assert_eq!(servers.dialled().await.0, "db:3306", "to kill it");
        client.send_query("SELECT SLEEP(100)").await;
        let mut other = next(&mut servers, "other:3306").await;
        other.expect_query("SELECT SLEEP(100)").await;
        other.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn nothing_is_said_in_the_middle_of_a_packet() {
    play(async || {
        let (stage, _servers, mut client, mut db) = scene().await;
        client.send_query("SELECT a").await;
        db.expect_query("SELECT a").await;
        // Half of a column count.
        db.send_bytes(&[1, 0, 0]).await;
        settle().await;
        stage.apply(without_db()).unwrap();
        client.read_bytes(3).await;
        client.expect_end().await;
    });
}

/// What a slow client has not taken yet comes before it.
#[test]
fn what_is_said_within_a_reply_stands_behind_all_of_it() {
    play(async || {
        let (stage, mut servers) = stage(usual());
        let mut client = Client::new(stage.client(256).unwrap());
        client.log_in(&options()).await.unwrap();
        let mut db = first_query(&mut client, &mut servers).await;
        client.send_query("SELECT a").await;
        db.expect_query("SELECT a").await;
        let long = "x".repeat(1000);
        db.columns(&["a"]).await;
        db.row(&[Some(&long)]).await;
        settle().await;
        stage.apply(without_db()).unwrap();
        settle().await;
        let error = client.expect_err(1053).await;
        assert!(error.message.contains("OFFLINE_HARD"), "{error:?}");
        client.expect_end().await;
    });
}

#[test]
fn other_states_and_other_servers_leave_sessions_alone() {
    play(async || {
        let (stage, _servers, mut client, mut db) = scene().await;
        for status in [ServerStatus::OfflineSoft, ServerStatus::Shunned] {
            let mut config = usual();
            config.servers[0].status = status;
            stage.apply(config).unwrap();
            expect_alive(&mut client, &mut db).await;
        }
        let mut config = usual();
        config.servers.push(Server { status: ServerStatus::OfflineHard, ..database("other") });
        stage.apply(config).unwrap();
        begin(&mut client, &mut db).await;
        db.status -= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut db, "COMMIT").await;
    });
}
