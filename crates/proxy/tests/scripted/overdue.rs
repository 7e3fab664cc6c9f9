//! Statements that take longer than they may.

use config::{Config, QueryRule};
use proxy::stage::Stage;
use tokio::time::{Instant, sleep};

use super::support::{
    Client, Database, Servers, config, expect_alive, first_query, log_in, ms, play, rule, run, settle, stage,
};

/// Statements with `impatient` in them may take 250 ms, others five seconds.
fn limited() -> Config {
    let mut config = config();
    config.query_rules.push(QueryRule { timeout: Some(ms(250)), ..rule(1, "impatient") });
    config.variables.default_query_timeout = ms(5000);
    config
}

async fn session() -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(limited());
    let mut client = log_in(&stage).await;
    client.patience(ms(100_000));
    let mut server = first_query(&mut client, &mut servers).await;
    server.patience(ms(100_000));
    (stage, servers, client, server)
}

/// The statement that runs is killed; what the client hears, and when that began.
async fn expect_killed(servers: &mut Servers, client: &mut Client, server: &mut Database) -> Instant {
    let mut side = servers.accept().await;
    let killed = Instant::now();
    side.expect_query("KILL QUERY 7").await;
    side.ok().await;
    server.err(1317, "70100", "Query execution was interrupted").await;
    let error = client.expect_err(1907).await;
    assert_eq!(error.to_string(), "1907 (70100): Query execution was interrupted, query_timeout exceeded");
    killed
}

#[test]
fn a_rule_and_a_hint_are_kept_to_the_millisecond() {
    for sql in ["SELECT 'impatient'", "/* query_timeout=250 */ SELECT 'hinted'"] {
        play(async || {
            let (_stage, mut servers, mut client, mut server) = session().await;
            let began = Instant::now();
            client.send_query(sql).await;
            server.expect_query(sql).await;
            let killed = expect_killed(&mut servers, &mut client, &mut server).await;
            assert!(killed - began >= ms(250) && killed - began < ms(260), "{:?}", killed - began);
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn others_have_as_long_as_the_variable_says() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session().await;
        let began = Instant::now();
        client.send_query("SELECT 'patient'").await;
        server.expect_query("SELECT 'patient'").await;
        let killed = expect_killed(&mut servers, &mut client, &mut server).await;
        let took = killed - began;
        assert!(took >= ms(5000) && took <= ms(6010), "within a look of the worker: {took:?}");
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn who_is_in_time_is_not_killed_and_neither_is_the_next_statement() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session().await;
        for _ in 0..3 {
            client.send_query("SELECT 'impatient'").await;
            server.expect_query("SELECT 'impatient'").await;
            sleep(ms(200)).await;
            server.ok().await;
            client.expect_ok().await;
        }
        let patient = "/* query_timeout=0 */ SELECT 'impatient'";
        client.send_query(patient).await;
        server.expect_query(patient).await;
        sleep(ms(4000)).await;
        server.ok().await;
        client.expect_ok().await;
        // An idle session is not a statement.
        sleep(ms(20_000)).await;
        assert!(servers.settled().await.is_none());
        run(&mut client, &mut server, "DO 1").await;
    });
}

#[test]
fn a_kill_by_another_client_is_not_a_timeout() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session().await;
        client.send_query("SELECT 'impatient'").await;
        server.expect_query("SELECT 'impatient'").await;
        server.err(1317, "70100", "Query execution was interrupted").await;
        client.expect_err(1317).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_result_that_has_begun_ends_with_the_error() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session().await;
        client.send_query("SELECT 'impatient'").await;
        server.expect_query("SELECT 'impatient'").await;
        server.columns(&["a"]).await;
        server.row(&[Some("1")]).await;
        expect_killed(&mut servers, &mut client, &mut server).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_result_that_is_over_before_the_server_hears_of_the_kill_is_passed_on() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session().await;
        client.send_query("SELECT 'impatient'").await;
        server.expect_query("SELECT 'impatient'").await;
        let mut side = servers.accept().await;
        side.expect_query("KILL QUERY 7").await;
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        side.ok().await;
        settle().await;
        expect_alive(&mut client, &mut server).await;
    });
}
