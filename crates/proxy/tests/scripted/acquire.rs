//! Getting a connection to a server: attempts, their time, and what is said when there is none.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use config::{Config, Endpoint, Server, ServerStatus};
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::{Instant, sleep};
use wire::command::Kind;
use wire::frame::MAX_PAYLOAD;

use super::support::{
    CAPACITY, Client, Servers, config, connect, database, first_query, log_in, ms, options, options_for,
    play, stage, stage_with, user,
};

/// The default configuration with these servers, attempts after the first, and pauses between them.
pub(super) fn retrying(servers: &[&str], retries: u32, delay: Duration) -> Config {
    let mut config = Config { servers: servers.iter().map(|host| database(host)).collect(), ..config() };
    config.variables.connect_retries_on_failure = retries;
    config.variables.connect_retries_delay = delay;
    config.variables.connect_timeout_server = ms(1000);
    config.variables.connect_timeout_server_max = ms(10_000);
    config
}

/// A stage whose servers all refuse, and the number of their refusals.
fn refusing(config: Config) -> (Stage, Servers, Rc<Cell<u32>>) {
    let refusals = Rc::new(Cell::new(0));
    let count = Rc::clone(&refusals);
    let (stage, servers) = stage_with(config, CAPACITY, move |_| {
        count.set(count.get() + 1);
        true
    });
    (stage, servers, refusals)
}

/// The text of the error 9001 that a query gets, and after what time.
pub(super) async fn no_server(client: &mut Client) -> (String, Duration) {
    let start = Instant::now();
    client.send_query("SELECT 1").await;
    let error = client.expect_err(9001).await;
    assert_eq!(error.sql_state, "HY000");
    (error.message, start.elapsed())
}

#[test]
fn a_server_that_refuses_is_tried_as_often_as_configured() {
    for (retries, attempts) in [(0, "1 time"), (1, "2 times"), (3, "4 times")] {
        play(async || {
            let (stage, _servers, refusals) = refusing(retrying(&["db"], retries, ms(70)));
            let mut client = log_in(&stage).await;
            let (text, elapsed) = no_server(&mut client).await;
            assert_eq!(refusals.get(), retries + 1);
            assert_eq!(elapsed, ms(70) * retries, "no pause before the first attempt and after the last");
            let expected = format!(
                "Max connect timeout reached while reaching hostgroup 0 after {}ms: \
                 tried db:3306 {attempts} (connection refused)",
                elapsed.as_millis()
            );
            assert_eq!(text, expected);
            assert_eq!(stage.usage(0).open, 0);
        });
    }
}

#[test]
fn a_session_without_a_server_goes_on_and_tries_anew() {
    play(async || {
        let down = Rc::new(Cell::new(true));
        let refused = Rc::clone(&down);
        let (stage, mut servers) = stage_with(retrying(&["db"], 1, ms(1)), CAPACITY, move |_| refused.get());
        let mut client = log_in(&stage).await;
        no_server(&mut client).await;
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
        no_server(&mut client).await;
        down.set(false);
        first_query(&mut client, &mut servers).await;
    });
}

#[test]
fn a_server_that_comes_up_between_two_attempts_is_used() {
    play(async || {
        let left = Rc::new(Cell::new(2));
        let (stage, mut servers) = stage_with(retrying(&["db"], 3, ms(50)), CAPACITY, move |_| {
            left.set(left.get() - 1);
            left.get() >= 0
        });
        let mut client = log_in(&stage).await;
        let start = Instant::now();
        first_query(&mut client, &mut servers).await;
        assert_eq!(start.elapsed(), ms(100));
    });
}

#[test]
fn c24_a_server_that_never_answers_is_given_up_in_time() {
    play(async || {
        let (stage, mut servers) = stage(retrying(&["db"], 100, ms(1)));
        let mut client = log_in(&stage).await;
        let (text, elapsed) = no_server(&mut client).await;
        assert_eq!(elapsed, ms(10_000));
        let expected = "Max connect timeout reached while reaching hostgroup 0 after 10000ms: \
                        tried db:3306 10 times (no answer within 991ms)";
        assert_eq!(text, expected);
        for _ in 0..10 {
            servers.dialled().await;
        }
        assert!(servers.settled().await.is_none());
        assert_eq!(stage.usage(0).open, 0);
    });
}

#[test]
fn c24_one_attempt_has_its_own_limit() {
    play(async || {
        let (stage, mut servers) = stage(retrying(&["db"], 100, ms(1)));
        let mut client = log_in(&stage).await;
        let start = Instant::now();
        client.send_query("SELECT 1").await;
        let mut first = ScriptedServer::new(servers.dialled().await.1);
        // A greeting does not prolong it.
        sleep(ms(900)).await;
        first.greet().await;
        first.read_login().await;
        first.expect_end().await;
        assert_eq!(start.elapsed(), ms(1000));
        let mut second = servers.accept().await;
        assert_eq!(start.elapsed(), ms(1001));
        second.expect_query("SELECT 1").await;
        second.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_pause_does_not_outlast_the_limit() {
    play(async || {
        let (stage, _servers, refusals) = refusing(retrying(&["db"], 100, ms(4000)));
        let mut client = log_in(&stage).await;
        let (_, elapsed) = no_server(&mut client).await;
        assert!(elapsed <= ms(10_000), "{elapsed:?}");
        assert_eq!(refusals.get(), 3, "at 0, 4 and 8 seconds");
    });
}

#[test]
fn another_server_is_taken_when_the_first_fails() {
    play(async || {
        let (stage, mut servers) = stage_with(retrying(&["down", "up"], 1, ms(1)), CAPACITY, |endpoint| {
            endpoint.to_string() == "down:3306"
        });
        // The choice is random: with one retry, so many sessions find it only if failures are
        // avoided.
        for _ in 0..30 {
            let mut client = log_in(&stage).await;
            first_query(&mut client, &mut servers).await;
        }
    });
}

#[test]
fn every_server_that_was_tried_is_named() {
    play(async || {
        let (stage, _servers, _) = refusing(retrying(&["one", "two"], 3, ms(1)));
        let mut client = log_in(&stage).await;
        let (text, _) = no_server(&mut client).await;
        assert!(text.contains("one:3306") && text.contains("two:3306"), "{text}");
        assert!(text.matches("(connection refused)").count() == 2, "{text}");
    });
}

#[test]
fn the_text_says_when_there_is_nothing_to_try() {
    let offline = |status| Server { status, ..database("db") };
    let elsewhere = Server { hostgroup_id: 5, ..database("db") };
    let cases = [
        (vec![elsewhere], "no server is configured for this hostgroup"),
        (
            vec![offline(ServerStatus::OfflineSoft)],
            "none of its 1 servers can be taken: db:3306: its status is configured as OFFLINE_SOFT",
        ),
        (
            vec![offline(ServerStatus::OfflineHard), offline(ServerStatus::Shunned)],
            "none of its 2 servers can be taken: db:3306: its status is configured as OFFLINE_HARD; \
             db:3306: its status is configured as SHUNNED",
        ),
        (
            vec![Server { weight: 0, ..database("db") }],
            "none of its 1 servers can be taken: db:3306: its weight is 0",
        ),
    ];
    for (servers, why) in cases {
        play(async || {
            let (stage, mut dialled) = stage(Config { servers: servers.clone().into(), ..config() });
            let mut client = log_in(&stage).await;
            let (text, elapsed) = no_server(&mut client).await;
            assert_eq!(elapsed, Duration::ZERO, "waiting would not help");
            let start = "Max connect timeout reached while reaching hostgroup 0 after 0ms: ";
            assert_eq!(text, format!("{start}{why}"));
            assert!(dialled.settled().await.is_none());
        });
    }
}

#[test]
fn a_user_gets_servers_of_its_own_hostgroup() {
    play(async || {
        let other = config::User { default_hostgroup: 3, ..user("other", "secret") };
        let servers = vec![database("db"), Server { hostgroup_id: 3, ..database("third") }];
        let (stage, mut servers) =
            stage(Config { users: vec![other].into(), servers: servers.into(), ..config() });
        let mut client = Client::connect(connect(&stage), &options_for("other", "secret")).await;
        client.send_query("SELECT 1").await;
        assert_eq!(servers.dialled().await.0, "third:3306");
        assert_eq!((stage.usage(0).open, stage.usage(3).open), (0, 1));
    });
}

#[test]
fn unix_sockets_are_named_by_their_path() {
    play(async || {
        let unix = Server { hostname: "/run/db.sock".to_owned(), port: 0, ..database("") };
        let seen = Rc::new(RefCell::new(None));
        let endpoint = Rc::clone(&seen);
        let config = Config { servers: vec![unix].into(), ..retrying(&[], 0, ms(1)) };
        let (stage, _servers) = stage_with(config, CAPACITY, move |server| {
            *endpoint.borrow_mut() = Some(server.clone());
            true
        });
        let mut client = log_in(&stage).await;
        let (text, _) = no_server(&mut client).await;
        assert_eq!(*seen.borrow(), Some(Endpoint::Unix("/run/db.sock".into())));
        assert!(text.contains("tried /run/db.sock 1 time"), "{text}");
    });
}

#[test]
fn a_long_command_without_a_server_is_read_before_it_is_answered() {
    play(async || {
        let (stage, _servers, _) = refusing(retrying(&["db"], 0, ms(1)));
        let mut client = Client::connect(stage.client(1 << 20).unwrap(), &options()).await;
        for len in [100_000, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
            // The answer's sequence id counts the packets of the command.
            client.send_command(Kind::Query, &vec![b'x'; len - 1]).await;
            client.expect_err(9001).await;
        }
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
    });
}
