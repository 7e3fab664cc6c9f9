//! Servers that are watched: which are shunned, which come back, and who gets the writes.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use config::{Config, HostgroupAttributes, QueryRule, Server};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, Database, config as usual, database, log_in, ms, pair_of_servers, play, rule,
    stage_failing,
};

/// Longer than any pause between two checks.
const PATIENCE: Duration = Duration::from_hours(1);

/// Servers that answer the monitor by themselves, and clients with OK.
#[derive(Default)]
pub(super) struct World {
    /// Those that are read-only.
    pub(super) read_only: RefCell<HashSet<String>>,
    /// Those that do not answer any more, and do not close connections either.
    pub(super) frozen: RefCell<HashSet<String>>,
    /// The replicas that servers name.
    followers: RefCell<HashMap<String, &'static str>>,
    /// How many connections each server has.
    open: RefCell<HashMap<String, u32>>,
    /// Those that do not answer clients any more.
    slow: RefCell<HashSet<String>>,
    /// Those that cannot be reached.
    pub(super) gone: RefCell<HashSet<String>>,
    /// The proxy can open no more connections, with this error of the system.
    pub(super) starved: Cell<Option<i32>>,
    /// What servers say of their lag.
    pub(super) lag: RefCell<HashMap<String, Option<&'static str>>>,
    /// Whether the monitor is let in.
    pub(super) denies: Cell<bool>,
    /// Every other check is not answered.
    pub(super) lossy: Cell<bool>,
    /// What the monitor gets in the place of each answer.
    pub(super) garbage: RefCell<Option<Vec<u8>>>,
    /// Whether it is what everybody gets in the place of a greeting, too.
    pub(super) greets_with_garbage: Cell<bool>,
    pub(super) checks: Cell<u64>,
    /// What the monitor has said.
    pub(super) asked: RefCell<Vec<Vec<u8>>>,
    /// What clients have said, and to whom.
    pub(super) said: RefCell<Vec<(String, String)>>,
}

impl World {
    /// The servers of `config`, watched.
    pub(super) fn of(mut config: Config) -> (Rc<Self>, Stage) {
        config.monitor.enabled = true;
        let world = Rc::new(Self::default());
        let away = Rc::clone(&world);
        let failure = move |endpoint: &config::Endpoint| {
            let gone = away.gone.borrow().contains(&endpoint.to_string());
            let starved = away.starved.get().map(io::Error::from_raw_os_error);
            starved.or_else(|| gone.then(|| io::ErrorKind::ConnectionRefused.into()))
        };
        let (stage, servers) = stage_failing(config, CAPACITY, failure);
        let served = Rc::clone(&world);
        servers.converse(move |name, end| converse(Rc::clone(&served), name, end));
        stage.watch();
        (world, stage)
    }

    pub(super) fn told(&self, sql: &str) -> Vec<String> {
        let said = self.said.borrow();
        said.iter().filter(|(_, text)| text == sql).map(|(server, _)| server.clone()).collect()
    }

    async fn thaw(&self, name: &str) {
        while self.frozen.borrow().contains(name) {
            sleep(ms(50)).await;
        }
    }
}

async fn converse(world: Rc<World>, name: String, end: End) {
    world.thaw(&name).await;
    let mut server = ScriptedServer::new(end);
    server.patience(PATIENCE);
    let garbage = || world.garbage.borrow().clone();
    if let Some(garbage) = garbage().filter(|_| world.greets_with_garbage.get()) {
        return server.send_bytes(&garbage).await;
    }
    server.greet().await;
    let login = server.read_login().await;
    let is_monitor = login.username == "monitor";
    if is_monitor && world.denies.get() {
        server.err(1045, "28000", "Access denied for user 'monitor'@'localhost' (using password: YES)").await;
        return;
    }
    server.let_in(&login).await;
    *world.open.borrow_mut().entry(name.clone()).or_default() += 1;
    while let Some(command) = server.next_command().await {
        if command.first() == Some(&(Kind::Quit as u8)) {
            break;
        }
        world.thaw(&name).await;
        if is_monitor {
            world.asked.borrow_mut().push(command.clone());
        }
        if let Some(garbage) = garbage().filter(|_| is_monitor) {
            server.send_bytes(&garbage).await;
            continue;
        }
        if is_monitor && world.lossy.get() {
            world.checks.set(world.checks.get() + 1);
            if world.checks.get().is_multiple_of(2) {
                // Nobody hears of this one.
                return sleep(PATIENCE).await;
            }
        }
        while !is_monitor && world.slow.borrow().contains(&name) {
            sleep(ms(50)).await;
        }
        answer(&world, &name, &mut server, &command).await;
    }
    *world.open.borrow_mut().entry(name).or_default() -= 1;
}

async fn answer(world: &World, name: &str, server: &mut Database, command: &[u8]) {
    let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
    if command.first() != Some(&(Kind::Query as u8)) {
        return server.ok().await;
    }
    match text.as_str() {
        "SELECT @@global.read_only read_only" => {
            let said = if world.read_only.borrow().contains(name) { "1" } else { "0" };
            server.rows(&["read_only"], &[&[Some(said)]]).await;
        }
        "SELECT @@global.server_id id" => {
            let id = name.bytes().next().unwrap_or_default().to_string();
            server.rows(&["id"], &[&[Some(&id)]]).await;
        }
        "SHOW SLAVE HOSTS" => {
            let follower = world.followers.borrow().get(name).copied();
            let id = follower.and_then(|host| host.bytes().next()).unwrap_or_default().to_string();
            let row = follower.map(|host| [Some(&*id), Some(host), Some("3306")]);
            let rows: Vec<&[Option<&str>]> = row.iter().map(|row| &row[..]).collect();
            server.rows(&["Server_id", "Host", "Port"], &rows).await;
        }
        "SHOW ALL SLAVES STATUS" => {
            let lag = world.lag.borrow().get(name).copied();
            let row = lag.map(|lag| [lag]);
            let rows: Vec<&[Option<&str>]> = row.iter().map(|row| &row[..]).collect();
            server.rows(&["Seconds_Behind_Master"], &rows).await;
        }
        _ if text.starts_with("INSERT") && world.read_only.borrow().contains(name) => {
            let why = "The MariaDB server is running with the --read-only option so it cannot execute this statement";
            server.err(1290, "HY000", why).await;
        }
        _ => {
            match text.as_str() {
                "BEGIN" => server.status |= StatusFlags::IN_TRANSACTION,
                "COMMIT" | "ROLLBACK" => server.status -= StatusFlags::IN_TRANSACTION,
                _ => {}
            }
            world.said.borrow_mut().push((name.to_owned(), text));
            server.ok().await;
        }
    }
}

pub(super) async fn say(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_ok().await;
}

/// `a` in hostgroup 0 and `b` in hostgroup 1, a pair.
pub(super) fn pair() -> Config {
    let mut config = pair_of_servers();
    config.servers = vec![database("a"), Server { hostgroup_id: 1, ..database("b") }];
    config.variables.read_write_split = false;
    config
}

pub(super) fn events(stage: &Stage) -> Vec<(u32, String, &'static str)> {
    stage.server_events().into_iter().map(|event| (event.hostgroup, event.host, event.event)).collect()
}

pub(super) fn status(stage: &Stage, hostgroup: u32, host: &str) -> Option<&'static str> {
    let servers = stage.servers(false);
    let server = servers.iter().find(|server| server.hostgroup == hostgroup && server.host == host);
    server.map(|server| server.status)
}

pub(super) async fn until(stage: &Stage, event: (u32, &str, &'static str)) {
    let is_it =
        |(hostgroup, host, name): &(u32, String, &'static str)| (*hostgroup, host.as_str(), *name) == event;
    while !events(stage).iter().any(is_it) {
        sleep(ms(10)).await;
    }
}

#[test]
fn c24_nobody_waits_for_a_server_that_froze_while_it_was_told_what_the_client_has_set() {
    play(async || {
        let mut config = pair();
        config.variables.read_write_split = true;
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        let (world, stage) = World::of(config);
        world.read_only.borrow_mut().insert("b:3306".to_owned());
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        // Connections to both, of which the reader's has not heard the last word.
        while !world.told("SELECT 1 FROM t").contains(&"b:3306".to_owned()) {
            client = log_in(&stage).await;
            say(&mut client, "SELECT 1 FROM t").await;
        }
        say(&mut client, "SET NAMES latin1").await;
        say(&mut client, "INSERT 1").await;
        world.frozen.borrow_mut().insert("b:3306".to_owned());
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
        world.frozen.borrow_mut().insert("db:3306".to_owned());
        let frozen = Instant::now();
        client.send_query("INSERT 2").await;
        // The ping that comes after at most 8 s, and two more: a second for each.
        let error = client.expect_err(9009).await;
        assert!(error.message.contains("server db:3306 does not answer"), "{error:?}");
        assert!(frozen.elapsed() <= ms(11_100), "{:?}", frozen.elapsed());
        assert_eq!(status(&stage, 0, "db"), Some("SHUNNED"));
        let cause = stage.server_events()[0].cause.clone();
        assert_eq!(cause, "3 pings in a row missed: timeout during ping");
        // Nobody is sent there, not even as a last resort.
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
        let checks = stage.checks(proxy::Check::Connect);
        assert!(checks.len() > 200, "{}", checks.len());
        let error = checks[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("Access denied for user 'monitor'") && checks[0].took_us == 0, "{error}");
        assert_eq!(stage.global("MySQL_Monitor_connect_check_OK"), 0);
    });
}

#[test]
fn c23_a_proxy_that_has_no_files_or_ports_left_shuns_nobody() {
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
            other.expect_err(9001).await;
        }
        assert_eq!(events(&stage), []);
        world.starved.set(None);
        say(&mut log_in(&stage).await, "INSERT 3").await;
        assert_eq!(world.told("INSERT 3"), ["a:3306"]);
    });
}

#[test]
fn c23_half_the_answers_lost_shun_nobody() {
    play(async || {
        let mut config = usual();
        (config.monitor.ping_interval, config.monitor.connect_interval) = (ms(1_000), PATIENCE);
        let (world, stage) = World::of(config);
        world.lossy.set(true);
        sleep(Duration::from_mins(5)).await;
        assert_eq!(events(&stage), []);
        let pings = stage.checks(proxy::Check::Ping);
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
        world.read_only.borrow_mut().insert("b:3306".to_owned());
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
fn c24_a_server_that_accepts_and_never_answers_is_shunned() {
    play(async || {
        let mut config = usual();
        config.servers = vec![database("mute"), database("well")];
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        let (world, stage) = World::of(config);
        world.frozen.borrow_mut().insert("mute:3306".to_owned());
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
        config.servers = vec![database("a")];
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        config.variables.connect_timeout_server_max = ms(60_000);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        for round in 1..=20 {
            world.gone.borrow_mut().insert("a:3306".to_owned());
            world.frozen.borrow_mut().insert("a:3306".to_owned());
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
fn c30_the_monitor_only_reads() {
    for heartbeat in ["", "percona.heartbeat"] {
        play(async || {
            let mut config = pair();
            config.servers[1].max_replication_lag = Duration::from_secs(10);
            config.monitor.replication_lag_use_percona_heartbeat = heartbeat.to_owned();
            let (world, stage) = World::of(config);
            world.lag.borrow_mut().insert("b:3306".to_owned(), Some("3"));
            sleep(Duration::from_mins(5)).await;
            world.read_only.borrow_mut().insert("a:3306".to_owned());
            world.frozen.borrow_mut().insert("b:3306".to_owned());
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

#[test]
fn c12_a_replica_that_lags_gets_no_reads() {
    play(async || {
        let mut config = usual();
        let replica = |name| Server { max_replication_lag: Duration::from_secs(10), ..database(name) };
        config.servers = vec![replica("a"), replica("b")];
        config.monitor.replication_lag_interval = ms(1_000);
        config.monitor.replication_lag_count = 2;
        let (world, stage) = World::of(config);
        world.lag.borrow_mut().extend([("a:3306".to_owned(), Some("0")), ("b:3306".to_owned(), Some("10"))]);
        sleep(ms(3_000)).await;
        assert_eq!(events(&stage), []);
        world.lag.borrow_mut().insert("b:3306".to_owned(), Some("11"));
        sleep(ms(2_100)).await;
        assert_eq!(status(&stage, 0, "b"), Some("SHUNNED_REPLICATION_LAG"));
        for _ in 0..20 {
            say(&mut log_in(&stage).await, "SELECT 1").await;
        }
        assert!(!world.told("SELECT 1").contains(&"b:3306".to_owned()));
        // Replication has stopped: a minute, if nobody says anything else.
        world.lag.borrow_mut().insert("b:3306".to_owned(), None);
        sleep(ms(2_000)).await;
        assert_eq!(status(&stage, 0, "b"), Some("SHUNNED_REPLICATION_LAG"));
        world.lag.borrow_mut().insert("b:3306".to_owned(), Some("3"));
        sleep(ms(1_100)).await;
        assert_eq!((status(&stage, 0, "b"), events(&stage).len()), (Some("ONLINE"), 2));
        assert_eq!(stage.checks(proxy::Check::Lag).last().and_then(|check| check.value), Some(3));
    });
}

#[test]
fn without_a_monitor_servers_are_where_their_rows_are() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.read_only.borrow_mut().insert("a:3306".to_owned());
        until(&stage, (0, "a", "LEFT")).await;
        stage.apply(pair()).unwrap();
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        assert_eq!(world.told("SELECT 1"), ["a:3306"]);
    });
}

#[test]
fn what_was_found_holds_until_the_last_session_has_gone() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.read_only.borrow_mut().insert("a:3306".to_owned());
        until(&stage, (0, "a", "LEFT")).await;
        stage.stop_watching();
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        assert_eq!((world.told("INSERT 1"), status(&stage, 0, "a")), (vec!["b:3306".to_owned()], None));
    });
}

#[test]
fn c12_sessions_leave_a_replica_that_lags() {
    for multiplexing in [false, true] {
        play(async || {
            let mut config = pair();
            config.variables.read_write_split = true;
            config.variables.multiplexing = multiplexing;
            config.servers[1].max_replication_lag = Duration::from_secs(10);
            config.monitor.writer_is_also_reader = false;
            config.monitor.replication_lag_interval = ms(1_000);
            let (world, stage) = World::of(config);
            world.read_only.borrow_mut().insert("b:3306".to_owned());
            world.lag.borrow_mut().insert("b:3306".to_owned(), Some("3"));
            sleep(ms(2_000)).await;
            let mut client = log_in(&stage).await;
            say(&mut client, "SELECT 1 FROM t").await;
            world.lag.borrow_mut().insert("b:3306".to_owned(), Some("11"));
            until(&stage, (1, "b", "SHUNNED_REPLICATION_LAG")).await;
            say(&mut client, "SELECT 2 FROM t").await;
            world.lag.borrow_mut().insert("b:3306".to_owned(), Some("3"));
            until(&stage, (1, "b", "CAUGHT_UP")).await;
            say(&mut client, "SELECT 3 FROM t").await;
            let told = [1, 2, 3].map(|number| world.told(&format!("SELECT {number} FROM t")).concat());
            assert_eq!(told, ["b:3306", "a:3306", "b:3306"], "multiplexing: {multiplexing}");
        });
    }
}

#[test]
fn c12_a_replica_that_is_promoted_takes_writes_though_it_does_not_know_its_lag() {
    play(async || {
        let mut config = pair();
        config.servers[1].max_replication_lag = Duration::from_secs(10);
        config.monitor.replication_lag_interval = ms(1_000);
        let (world, stage) = World::of(config);
        world.read_only.borrow_mut().insert("b:3306".to_owned());
        world.lag.borrow_mut().insert("b:3306".to_owned(), None);
        until(&stage, (1, "b", "SHUNNED_REPLICATION_LAG")).await;
        world.read_only.borrow_mut().insert("a:3306".to_owned());
        until(&stage, (0, "a", "LEFT")).await;
        let mut client = log_in(&stage).await;
        client.send_query("INSERT 1").await;
        world.read_only.borrow_mut().remove("b:3306");
        client.expect_ok().await;
        sleep(Duration::from_mins(1)).await;
        say(&mut client, "INSERT 2").await;
        assert_eq!(world.told("INSERT 2"), ["b:3306"]);
    });
}

#[test]
fn c24_nobody_waits_for_a_server_that_is_found_down_while_it_is_connected_to() {
    play(async || {
        let mut config = usual();
        config.servers = vec![Server { weight: 1_000_000, ..database("frozen") }, database("well")];
        (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
        config.variables.connect_timeout_server = ms(30_000);
        config.variables.connect_timeout_server_max = ms(60_000);
        let (world, stage) = World::of(config);
        world.frozen.borrow_mut().insert("frozen:3306".to_owned());
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        say(&mut client, "DO 1").await;
        assert!(begun.elapsed() <= ms(4_000), "{:?}", begun.elapsed());
        assert_eq!(world.told("DO 1"), ["well:3306"]);
        assert_eq!(stage.usage(0).open, 1, "what was begun is over");
    });
}

/// A server `a`, and a server `copies` that gets copies of what is selected there.
fn mirrored() -> Config {
    let mut config = usual();
    config.servers = vec![database("a"), Server { hostgroup_id: 1, ..database("copies") }];
    config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "^SELECT") }];
    (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
    config.variables.connect_timeout_server = ms(30_000);
    config.variables.connect_timeout_server_max = ms(60_000);
    config
}

#[test]
fn c24_no_copy_waits_for_a_server_that_is_found_down_while_it_is_connected_to() {
    play(async || {
        let (world, stage) = World::of(mirrored());
        world.frozen.borrow_mut().insert("copies:3306".to_owned());
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        say(&mut client, "SELECT 1").await;
        until(&stage, (1, "copies", "SHUNNED")).await;
        sleep(ms(10)).await;
        assert!(begun.elapsed() <= ms(4_000), "{:?}", begun.elapsed());
        assert_eq!(stage.usage(1).open, 0, "what was begun is over");
    });
}

#[test]
fn c24_no_copy_waits_for_the_answer_of_a_server_that_is_found_down() {
    play(async || {
        let (world, stage) = World::of(mirrored());
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "copies:3306"]);
        world.frozen.borrow_mut().insert("copies:3306".to_owned());
        say(&mut client, "SELECT 2").await;
        until(&stage, (1, "copies", "SHUNNED")).await;
        sleep(ms(10)).await;
        assert_eq!(stage.usage(1).open, 0, "what was begun is over");
    });
}

#[test]
fn a_copy_goes_to_a_server_that_is_well_when_the_one_it_knows_is_found_down() {
    play(async || {
        let mut config = mirrored();
        config.servers.push(Server { hostgroup_id: 1, ..database("other") });
        config.servers[1].weight = 1_000_000;
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "copies:3306"]);
        world.frozen.borrow_mut().insert("copies:3306".to_owned());
        while status(&stage, 1, "copies") == Some("ONLINE") {
            sleep(ms(1)).await;
        }
        say(&mut client, "SELECT 2").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 2"), ["a:3306", "other:3306"]);
        assert_eq!((stage.global("Mirror_done"), stage.global("Mirror_failed")), (2, 0));
    });
}

#[test]
fn a_copy_that_runs_at_a_server_that_leaves_may_end() {
    play(async || {
        let mut config = pair();
        config.monitor.writer_is_also_reader = false;
        config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "^SELECT") }];
        let (world, stage) = World::of(config);
        world.read_only.borrow_mut().insert("b:3306".to_owned());
        let mut client = log_in(&stage).await;
        world.slow.borrow_mut().insert("b:3306".to_owned());
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(stage.global("Mirror_concurrency"), 1);
        world.read_only.borrow_mut().clear();
        until(&stage, (1, "b", "LEFT")).await;
        sleep(ms(100)).await;
        world.slow.borrow_mut().clear();
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "b:3306"]);
        assert_eq!((stage.global("Mirror_done"), stage.global("Mirror_failed")), (1, 0));
    });
}

#[test]
fn c29_nothing_stays_open_to_a_replica_that_is_forgotten() {
    play(async || {
        let mut config = pair();
        config.servers.truncate(1);
        let mut attributes = HostgroupAttributes { hostgroup_id: 0, ..HostgroupAttributes::default() };
        attributes.hostgroup_settings.discover_replicas = Some(true);
        attributes.hostgroup_settings.forget_replicas_after = Some(5);
        config.hostgroup_attributes.push(attributes);
        let (world, stage) = World::of(config);
        world.read_only.borrow_mut().insert("b:3306".to_owned());
        world.followers.borrow_mut().insert("a:3306".to_owned(), "b");
        until(&stage, (1, "b", "JOINED")).await;
        sleep(ms(20_000)).await;
        assert!(world.open.borrow()["b:3306"] > 0);
        world.followers.borrow_mut().clear();
        until(&stage, (1, "b", "LEFT")).await;
        sleep(ms(100)).await;
        assert_eq!(world.open.borrow()["b:3306"], 0);
        assert!(world.open.borrow()["a:3306"] > 0);
    });
}

#[test]
fn what_was_counted_of_servers_that_have_left_is_forgotten() {
    play(async || {
        let mut config = pair();
        config.monitor.read_only_interval = ms(100);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        for round in 0..20 {
            let (writer, reader) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
            *world.read_only.borrow_mut() = HashSet::from([format!("{reader}:3306")]);
            while status(&stage, 0, writer) != Some("ONLINE") || status(&stage, 0, reader).is_some() {
                sleep(ms(10)).await;
            }
            say(&mut client, "INSERT 1").await;
        }
        assert_eq!(world.told("INSERT 1").len(), 20);
        let counted = stage.servers_counted();
        assert!(counted <= 4, "two servers in two hostgroups are {counted}");
    });
}
