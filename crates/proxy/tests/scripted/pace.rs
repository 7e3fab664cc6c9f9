//! Statements that wait before they are sent: delays, and limits of users and rules.

use std::time::Duration;

use config::{Config, QueryRule};
use proxy::stage::Stage;
use tokio::time::{Instant, sleep};

use super::kill::log_in_with_id;
use super::kill_races::expect_silence;
use super::support::{
    Client, Database, Servers, config, expect_nothing_left, first_query, log_in, ms, options, play, rule,
    settle, stage,
};

async fn session(stage: &Stage, servers: &mut Servers) -> (Client, Database) {
    let mut client = log_in(stage).await;
    client.patience(ms(100_000));
    let mut server = first_query(&mut client, servers).await;
    server.patience(ms(100_000));
    (client, server)
}

/// Sends a statement to a server that answers at once; how long it was on its way there.
async fn time_to_server(client: &mut Client, server: &mut Database, sql: &str) -> Duration {
    let began = Instant::now();
    client.send_query(sql).await;
    server.expect_query(sql).await;
    let took = began.elapsed();
    server.ok().await;
    client.expect_ok().await;
    took
}

fn delayed() -> Config {
    let mut config = config();
    config.query_rules.push(QueryRule { delay: Some(ms(300)), ..rule(1, "slowly") });
    config
}

/// Statements with `dear` in them run one at a time.
fn one_at_a_time() -> Config {
    let mut config = config();
    let attributes = r#"{"max_concurrent": 1}"#.to_owned();
    config.query_rules.push(QueryRule { attributes, ..rule(7, "dear") });
    config.variables.connect_timeout_server_max = ms(60_000);
    config
}

#[test]
fn delays_add_up() {
    play(async || {
        let mut config = delayed();
        let (stage, mut servers) = stage(config.clone());
        let (mut client, mut server) = session(&stage, &mut servers).await;
        for (sql, expected) in [
            ("SELECT 1", 0),
            ("SELECT 'slowly'", 300),
            ("/* query_delay=40 */ SELECT 2", 40),
            ("/* query_delay=40 */ SELECT 'slowly'", 40),
        ] {
            let took = time_to_server(&mut client, &mut server, sql).await;
            assert!(took >= ms(expected) && took < ms(expected + 10), "{sql}: {took:?}");
        }
        config.variables.default_query_delay = ms(50);
        stage.apply(config).unwrap();
        for (sql, expected) in [("SELECT 1", 50), ("SELECT 'slowly'", 350)] {
            let took = time_to_server(&mut client, &mut server, sql).await;
            assert!(took >= ms(expected) && took < ms(expected + 10), "{sql}: {took:?}");
        }
    });
}

#[test]
fn who_is_delayed_is_shown_as_such() {
    play(async || {
        let (stage, mut servers) = stage(delayed());
        let (mut client, mut server) = session(&stage, &mut servers).await;
        client.send_query("SELECT 'slowly'").await;
        sleep(ms(100)).await;
        let command = || stage.processes()[0].command;
        assert_eq!(command(), "Delay");
        server.expect_query("SELECT 'slowly'").await;
        assert_eq!(command(), "Query");
        server.ok().await;
        client.expect_ok().await;
        assert_eq!(command(), "Sleep");
    });
}

#[test]
fn who_is_delayed_may_leave() {
    play(async || {
        let (stage, mut servers) = stage(delayed());
        let (mut client, server) = session(&stage, &mut servers).await;
        client.send_query("SELECT 'slowly'").await;
        sleep(ms(100)).await;
        drop(client);
        settle().await;
        drop(server);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn who_is_delayed_can_be_killed() {
    play(async || {
        let mut config = delayed();
        config.query_rules[0].delay = Some(ms(60_000));
        let (stage, mut servers) = stage(config);
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        let (mut killer, _its_server) = session(&stage, &mut servers).await;
        for (sql, what) in [("KILL QUERY", 1317), ("KILL", 1927)] {
            client.send_query("SELECT 'slowly'").await;
            settle().await;
            killer.send_query(&format!("{sql} {id}")).await;
            killer.expect_ok().await;
            client.expect_err(what).await;
            if what == 1317 {
                time_to_server(&mut client, &mut server, "SELECT 1").await;
            }
        }
        client.expect_end().await;
    });
}

#[test]
fn who_is_delayed_is_cut_off_when_the_time_to_drain_is_over() {
    play(async || {
        let mut config = delayed();
        config.query_rules[0].delay = Some(ms(60_000));
        config.pointsman.drain_timeout = ms(1000);
        let (stage, mut servers) = stage(config);
        let (mut client, server) = session(&stage, &mut servers).await;
        client.send_query("SELECT 'slowly'").await;
        settle().await;
        let began = Instant::now();
        stage.drain();
        client.expect_end().await;
        assert!(began.elapsed() < ms(1100), "{:?}", began.elapsed());
        drop(server);
    });
}

#[test]
fn a_limit_of_a_rule_holds_for_all_sessions_in_their_order() {
    play(async || {
        let (stage, mut servers) = stage(one_at_a_time());
        let mut sessions = Vec::new();
        for _ in 0..3 {
            sessions.push(session(&stage, &mut servers).await);
        }
        for (client, _) in &mut sessions {
            client.send_query("SELECT 'dear'").await;
            settle().await;
        }
        // What is not dear is sent.
        let (mut other, mut other_server) = session(&stage, &mut servers).await;
        time_to_server(&mut other, &mut other_server, "SELECT 'cheap'").await;
        for at in 0..3 {
            sessions[at].1.expect_query("SELECT 'dear'").await;
            for (_, waits) in sessions.iter_mut().skip(at + 1) {
                expect_silence(waits).await;
            }
            let (client, server) = &mut sessions[at];
            server.ok().await;
            client.expect_ok().await;
        }
    });
}

#[test]
fn who_waits_too_long_hears_which_limit_it_is() {
    play(async || {
        let mut config = one_at_a_time();
        config.variables.connect_timeout_server_max = ms(2000);
        let (stage, mut servers) = stage(config);
        let (mut first, mut server) = session(&stage, &mut servers).await;
        let (mut second, mut other) = session(&stage, &mut servers).await;
        first.send_query("SELECT 'dear'").await;
        server.expect_query("SELECT 'dear'").await;
        second.send_query("SELECT 'dear'").await;
        let error = second.expect_err(1226).await;
        assert_eq!(
            error.to_string(),
            "1226 (42000): Query rule 7 has reached its limit of 1 statements at a time (max_concurrent): 1 run, 0 more \
             wait; no place within 2000ms"
        );
        // Its session goes on, and so does the line.
        time_to_server(&mut second, &mut other, "SELECT 'cheap'").await;
        server.ok().await;
        first.expect_ok().await;
        time_to_server(&mut second, &mut other, "SELECT 'dear'").await;
    });
}

#[test]
fn a_session_that_ends_gives_its_place_back() {
    play(async || {
        let (stage, mut servers) = stage(one_at_a_time());
        let (mut first, mut server) = session(&stage, &mut servers).await;
        let (mut second, mut other) = session(&stage, &mut servers).await;
        first.send_query("DELETE 'dear'").await;
        server.expect_query("DELETE 'dear'").await;
        second.send_query("DELETE 'dear'").await;
        settle().await;
        drop(server);
        first.expect_err(9009).await;
        other.expect_query("DELETE 'dear'").await;
    });
}

#[test]
fn a_limit_of_a_user_is_kept() {
    play(async || {
        let mut config = config();
        config.users[0].attributes = r#"{"max_qps": 2}"#.parse().unwrap();
        let (stage, mut servers) = stage(config);
        let (mut client, mut server) = session(&stage, &mut servers).await;
        sleep(ms(5000)).await;
        let began = Instant::now();
        for _ in 0..5 {
            time_to_server(&mut client, &mut server, "SELECT 1").await;
        }
        let took = began.elapsed();
        assert!(took >= ms(2000) && took < ms(2010), "{took:?}");
    });
}

#[test]
fn a_new_configuration_keeps_running_statements_and_wakes_no_session_in_vain() {
    play(async || {
        let (stage, mut servers) = stage(one_at_a_time());
        let (mut first, mut server) = session(&stage, &mut servers).await;
        let (mut second, mut other) = session(&stage, &mut servers).await;
        first.send_query("SELECT 'dear'").await;
        server.expect_query("SELECT 'dear'").await;
        let mut config = one_at_a_time();
        config.query_rules.push(rule(9, "another"));
        stage.apply(config).unwrap();
        second.send_query("SELECT 'dear'").await;
        expect_silence(&mut other).await;
        server.ok().await;
        first.expect_ok().await;
        other.expect_query("SELECT 'dear'").await;
    });
}
