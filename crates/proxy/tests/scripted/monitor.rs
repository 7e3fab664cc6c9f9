//! What the monitor says, and what it does not hold against servers.

use std::time::Duration;

use tokio::time::sleep;
use wire::command::Kind;

use super::support::{config as usual, log_in, ms, play};
use super::world::{PATIENCE, World, events, pair, say, status, until};

#[test]
fn c23_a_server_that_denies_the_monitor_is_not_shunned() {
    play(async || {
        let mut config = pair();
        config.monitor.connect_interval = ms(1_000);
        let (world, stage) = World::of(config);
        world.denies.set(true);
        sleep(Duration::from_mins(2)).await;
        assert_eq!(events(&stage), []);
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        assert_eq!(world.told("INSERT 1"), ["a:3306"], "servers are where their rows are");
        let checks = stage.checks(observe::plane::Check::Connect);
        assert!(checks.len() > 200, "{}", checks.len());
        let error = checks[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("Access denied for user 'monitor'") && checks[0].took_us == 0, "{error}");
        assert_eq!(stage.global("MySQL_Monitor_connect_check_OK"), 0);
    });
}

#[test]
fn c23_a_proxy_that_has_no_files_or_ports_left_shuns_no_server() {
    play(async || {
        // The monitor keeps no connections.
        let (world, stage) = World::of(pair());
        world.denies.set(true);
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        // ENFILE, EMFILE, EADDRNOTAVAIL, ENOBUFS.
        for code in [23, 24, 99, 105] {
            world.starved.set(Some(code));
            sleep(Duration::from_mins(1)).await;
            say(&mut client, "INSERT 2").await;
            let mut other = log_in(&stage).await;
            other.send_query("INSERT 3").await;
            other.expect_err(if code == 24 { 1040 } else { 9001 }).await;
        }
        assert_eq!(events(&stage), []);
        world.starved.set(None);
        say(&mut log_in(&stage).await, "INSERT 3").await;
        assert_eq!(world.told("INSERT 3"), ["a:3306"]);
    });
}

#[test]
fn c23_half_the_answers_lost_shun_no_server() {
    play(async || {
        let mut config = usual();
        (config.monitor.ping_interval, config.monitor.connect_interval) = (ms(1_000), PATIENCE);
        let (world, stage) = World::of(config);
        world.lossy.set(true);
        sleep(Duration::from_mins(5)).await;
        assert_eq!(events(&stage), []);
        let pings = stage.checks(observe::plane::Check::Ping);
        let lost = pings.iter().filter(|ping| ping.error.is_some()).count();
        assert!(lost > 50 && lost < pings.len() * 2 / 3, "{lost} of {}", pings.len());
    });
}

/// Bytes that are no answer, or only seem to be one.
fn garbage() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\xff\xff\xff\x00",
        b"\x00\x00\x00\x00",
        b"\x01\x00\x00\x01\xfb",
        b"\x01\x00\x00\x01\xff",
        b"\x03\x00\x00\x01\xfc\xff\xff",
        b"\x09\x00\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x07\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00",
        // A result of one column without rows, where one is expected.
        b"\x01\x00\x00\x01\x01\x01\x00\x00\x02\x61\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x05\x00\x00\x04\xfe\x00\x00\x02\x00",
    ]
    .map(<[u8]>::to_vec)
    .into();
    let mut number = 7_u32;
    for len in 1..40 {
        let byte = |_| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            number.to_be_bytes()[0]
        };
        all.push((0..len).map(byte).collect());
    }
    all
}

#[test]
fn servers_that_answer_garbage_do_no_harm_and_are_back_when_they_make_sense() {
    play(async || {
        let mut config = pair();
        config.servers[1].max_replication_lag = Duration::from_secs(10);
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(200), ms(100));
        config.monitor.connect_interval = ms(200);
        config.monitor.read_only_interval = ms(100);
        config.monitor.replication_lag_interval = ms(100);
        let (world, stage) = World::of(config);
        world.demote("b");
        let mut client = log_in(&stage).await;
        for greets in [false, true] {
            world.greets_with_garbage.set(greets);
            for garbage in garbage() {
                world.garbage.replace(Some(garbage));
                sleep(ms(500)).await;
            }
            world.garbage.replace(None);
            while status(&stage, 0, "a") != Some("ONLINE") || status(&stage, 1, "b") != Some("ONLINE") {
                sleep(ms(10)).await;
            }
            say(&mut client, "INSERT 1").await;
        }
        assert_eq!(world.told("INSERT 1"), ["a:3306", "a:3306"]);
    });
}

#[test]
fn c30_the_monitor_only_reads() {
    for heartbeat in ["", "percona.heartbeat"] {
        play(async || {
            let mut config = pair();
            config.servers[1].max_replication_lag = Duration::from_secs(10);
            config.monitor.replication_lag_use_percona_heartbeat = heartbeat.to_owned();
            let (world, stage) = World::of(config);
            world.lags("b", Some("3"));
            sleep(Duration::from_mins(5)).await;
            world.demote("a");
            world.freeze("b");
            until(&stage, (1, "b", "SHUNNED")).await;
            let asked = world.asked.borrow();
            let is_read = |command: &Vec<u8>| match command.split_first() {
                Some((&kind, text)) if kind == Kind::Query as u8 => {
                    text.starts_with(b"SELECT ") || text.starts_with(b"SHOW ")
                }
                Some((&kind, _)) => kind == Kind::Ping as u8 || kind == Kind::Quit as u8,
                None => false,
            };
            assert!(asked.len() > 300 && asked.iter().all(is_read), "{asked:?}");
        });
    }
}
