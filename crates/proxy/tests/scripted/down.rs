//! Servers that are found down, and come back.

use config::Server;
use tokio::time::{Instant, sleep};

use super::support::{config as usual, database, log_in, ms, play};
use super::world::{PATIENCE, World, events, pair, say, status, until};

#[test]
fn c24_no_session_waits_for_a_server_that_froze_during_setup() {
    play(async || {
        let mut config = pair();
        config.variables.read_write_split = true;
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        let (world, stage, mut client) = World::with_replica(config).await;
        // Connections to both, of which the reader's has not heard the last word.
        while !world.told("SELECT 1 FROM t").contains(&"b:3306".to_owned()) {
            client = log_in(&stage).await;
            say(&mut client, "SELECT 1 FROM t").await;
        }
        say(&mut client, "SET NAMES latin1").await;
        say(&mut client, "INSERT 1").await;
        world.freeze("b");
        let begun = Instant::now();
        say(&mut client, "SELECT 2 FROM t").await;
        assert!(begun.elapsed() <= ms(4_000), "{:?}", begun.elapsed());
        assert_eq!(world.told("SELECT 2 FROM t"), ["a:3306"]);
    });
}

#[test]
fn c24_a_frozen_server_is_shunned_and_comes_back_with_the_first_answer() {
    play(async || {
        let mut config = usual();
        config.monitor.connect_interval = PATIENCE;
        let (world, stage) = World::of(config);
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        world.freeze("db");
        let frozen = Instant::now();
        client.send_query("INSERT 2").await;
        // The ping that comes after at most 8 s, and two more: a second for each.
        let error = client.expect_err(9009).await;
        assert!(error.message.contains("server db:3306 does not answer"), "{error:?}");
        assert!(frozen.elapsed() <= ms(11_100), "{:?}", frozen.elapsed());
        assert_eq!(status(&stage, 0, "db"), Some("SHUNNED"));
        let cause = stage.server_events()[0].cause.clone();
        assert_eq!(cause, "3 pings in a row missed: timeout during ping");
        // No session is sent there, not even as a last resort.
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 3").await;
        sleep(ms(5_000)).await;
        assert_eq!(world.told("SELECT 3"), [""; 0]);
        world.frozen.borrow_mut().clear();
        let thawed = Instant::now();
        client.expect_ok().await;
        assert!(thawed.elapsed() <= ms(1_200), "{:?}", thawed.elapsed());
        assert_eq!(events(&stage).last().map(|event| event.2), Some("ONLINE"));
    });
}

#[test]
fn c24_a_server_that_accepts_and_never_answers_is_shunned() {
    play(async || {
        let mut config = usual();
        config.servers = vec![database("mute"), database("well")].into();
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        let (world, stage) = World::of(config);
        world.freeze("mute");
        let begun = Instant::now();
        until(&stage, (0, "mute", "SHUNNED")).await;
        assert!(begun.elapsed() <= ms(3_000), "{:?}", begun.elapsed());
        let mut client = log_in(&stage).await;
        say(&mut client, "DO 1").await;
        assert_eq!(world.told("DO 1"), ["well:3306"]);
    });
}

#[test]
fn a_server_that_flaps_is_used_each_time_it_is_there() {
    play(async || {
        let mut config = usual();
        config.servers = vec![database("a")].into();
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        config.variables.connect_timeout_server_max = ms(60_000);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        for round in 1..=20 {
            world.gone.borrow_mut().insert("a:3306".to_owned());
            world.freeze("a");
            while status(&stage, 0, "a") != Some("SHUNNED") {
                sleep(ms(10)).await;
            }
            world.gone.borrow_mut().clear();
            world.frozen.borrow_mut().clear();
            let back = Instant::now();
            say(&mut client, "DO 1").await;
            assert!(back.elapsed() <= ms(1_500), "round {round}: {:?}", back.elapsed());
        }
    });
}

#[test]
fn c24_no_session_waits_for_a_server_that_is_found_down_during_a_connect() {
    play(async || {
        let mut config = usual();
        config.servers = vec![Server { weight: 1_000_000, ..database("frozen") }, database("well")].into();
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        config.variables.connect_timeout_server = ms(30_000);
        config.variables.connect_timeout_server_max = ms(60_000);
        let (world, stage) = World::of(config);
        world.freeze("frozen");
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        say(&mut client, "DO 1").await;
        assert!(begun.elapsed() <= ms(4_000), "{:?}", begun.elapsed());
        assert_eq!(world.told("DO 1"), ["well:3306"]);
        assert_eq!(stage.usage(0).open, 1, "what was begun is over");
    });
}

/// The monitor has never missed it: its own connection was there all the time. A new one, begun
/// behind the last error, proves that there can be others.
#[test]
fn a_server_that_sessions_could_not_reach_is_back_when_the_monitor_has_reached_it() {
    play(async || {
        let mut config = usual();
        config.servers = vec![Server { weight: 1_000_000, ..database("a") }, database("b")].into();
        config.monitor.connect_interval = ms(2_000);
        let (world, stage) = World::of(config);
        sleep(ms(100)).await;
        world.gone.borrow_mut().insert("a:3306".to_owned());
        let mut clients = Vec::new();
        for _ in 0..5 {
            let mut client = log_in(&stage).await;
            say(&mut client, "SELECT 1").await;
            clients.push(client);
        }
        assert_eq!(status(&stage, 0, "a"), Some("SHUNNED"));
        sleep(ms(3_000)).await;
        assert_eq!(status(&stage, 0, "a"), Some("SHUNNED"), "the monitor cannot reach it either");
        world.gone.borrow_mut().clear();
        sleep(ms(2_100)).await;
        assert_eq!(status(&stage, 0, "a"), Some("ONLINE"));
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 2").await;
        assert_eq!(world.told("SELECT 2"), ["a:3306"]);
    });
}
