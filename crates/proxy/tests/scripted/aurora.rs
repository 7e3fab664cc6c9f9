//! Servers that say that they are an Aurora cluster: who gets what, and which of them were never
//! configured.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use std::time::SystemTime;

use config::{AuroraHostgroups, Config, Server};
use proxy::memory::End;
use proxy::stage::Stage;
use tokio::time::sleep;
use wire::command::Kind;

use super::support::{Client, Database, config as usual, database, lets_in, log_in, ms, play, watched};

/// A cluster.
#[derive(Default)]
struct World {
    /// Who writes.
    writer: RefCell<&'static str>,
    /// Who reads, and how many milliseconds they lag.
    readers: RefCell<Vec<(&'static str, &'static str)>>,
    /// Servers that cannot be reached.
    gone: RefCell<HashSet<String>>,
    /// What clients have said, and to whom.
    said: RefCell<Vec<(String, String)>>,
}

/// A proxy that knows one server of a cluster.
fn cluster() -> Config {
    let mut config =
        Config { servers: vec![Server { hostgroup_id: 1, ..database("a.x") }].into(), ..usual() };
    config.aurora_hostgroups = vec![AuroraHostgroups {
        writer_hostgroup: 0,
        reader_hostgroup: 1,
        domain_name: ".x".to_owned(),
        max_lag: ms(500),
        ..AuroraHostgroups::default()
    }];
    config.monitor.enabled = true;
    config.variables.read_write_split = true;
    config
}

impl World {
    /// `a` writes, `b` reads, and the proxy has been told of `a`.
    fn new() -> (Rc<Self>, Stage) {
        Self::of(cluster())
    }

    fn of(config: Config) -> (Rc<Self>, Stage) {
        let world = Rc::new(Self { writer: RefCell::new("a"), ..Self::default() });
        world.readers.borrow_mut().push(("b", "20.5"));
        let refused = |world: &Self, endpoint: &config::Endpoint| {
            let is_gone = world.gone.borrow().contains(&endpoint.to_string());
            is_gone.then(|| io::ErrorKind::ConnectionRefused.into())
        };
        let stage = watched(config, &world, refused, converse);
        (world, stage)
    }

    fn told(&self, sql: &str) -> Vec<String> {
        let said = self.said.borrow();
        said.iter().filter(|(_, text)| text == sql).map(|(server, _)| server.clone()).collect()
    }
}

async fn converse(world: Rc<World>, name: String, end: End) {
    let mut server = lets_in(end).await;
    while let Some(command) = server.next_command().await {
        if world.gone.borrow().contains(&name) {
            return;
        }
        answer(&world, &name, &mut server, &command).await;
    }
}

async fn answer(world: &World, name: &str, server: &mut Database, command: &[u8]) {
    let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
    if command.first() != Some(&(Kind::Query as u8)) {
        return server.ok().await;
    }
    if !text.contains("REPLICA_HOST_STATUS") {
        world.said.borrow_mut().push((name.to_owned(), text));
        return server.ok().await;
    }
    let now = Some("2026-01-01 00:00:00");
    let (writer, readers) = (*world.writer.borrow(), world.readers.borrow().clone());
    let mut rows = vec![[Some(writer), Some("MASTER_SESSION_ID"), now, Some("0"), Some("3.5")]];
    rows.extend(readers.iter().map(|(id, lag)| [Some(*id), Some("other"), now, Some(*lag), Some("3.5")]));
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| &row[..]).collect();
    let columns = ["SERVER_ID", "SESSION_ID", "LAST_UPDATE_TIMESTAMP", "REPLICA_LAG_IN_MILLISECONDS", "CPU"];
    server.rows(&columns, &rows).await;
}

async fn say(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_ok().await;
}

/// The servers that get a read with this comment, of ten sessions that say it.
async fn readers(world: &World, stage: &Stage, comment: &str) -> Vec<String> {
    readers_of(world, stage, comment, 10).await
}

/// The same of so many sessions: of ten, all may get the same one of two servers by chance.
async fn readers_of(world: &World, stage: &Stage, comment: &str, sessions: usize) -> Vec<String> {
    let sql = format!("SELECT /* {comment} */ a FROM t");
    for _ in 0..sessions {
        say(&mut log_in(stage).await, &sql).await;
    }
    let mut readers = world.told(&sql);
    readers.sort_unstable();
    readers.dedup();
    readers
}

async fn until(stage: &Stage, hostgroup: u32, host: &str, event: &str) {
    let is_it =
        |is: &observe::rows::ServerEvent| is.hostgroup == hostgroup && is.host == host && is.event == event;
    while !stage.server_events().iter().any(is_it) {
        sleep(ms(10)).await;
    }
}

#[test]
fn c13_writes_go_to_the_writer_and_reads_to_discovered_replicas() {
    play(async || {
        let (world, stage) = World::new();
        until(&stage, 1, "b.x", "JOINED").await;
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        say(&mut client, "SELECT a FROM t").await;
        assert_eq!(
            (world.told("INSERT 1"), world.told("SELECT a FROM t")),
            (vec!["a.x:3306".into()], vec!["b.x:3306".into()])
        );
        // They change places, and the old writer is away for a while.
        world.gone.borrow_mut().insert("a.x:3306".to_owned());
        world.writer.replace("b");
        world.readers.replace(Vec::new());
        until(&stage, 0, "b.x", "JOINED").await;
        say(&mut client, "INSERT 2").await;
        assert_eq!(world.told("INSERT 2"), ["b.x:3306"]);
        world.gone.borrow_mut().clear();
        world.readers.replace(vec![("a", "1")]);
        until(&stage, 1, "a.x", "JOINED").await;
        let checks = stage.checks(observe::plane::Check::Aurora);
        assert!(checks.iter().any(|check| check.details.len() == 6), "{checks:?}");
        let (checks, failovers) = stage.aurora();
        let writers: Vec<&str> = failovers.iter().map(|failover| failover.host.as_str()).collect();
        assert_eq!(writers, ["a.x", "b.x"]);
        let of = |host| checks.iter().find(|checks| checks.host == host).unwrap();
        assert!(of("a.x").total > of("a.x").well && of("a.x").error.is_some(), "{checks:?}");
        assert!(of("b.x").well > 0 && of("b.x").last_us > 0, "{checks:?}");
    });
}

#[test]
fn c12_a_replica_of_aurora_that_lags_gets_no_reads() {
    play(async || {
        let (world, stage) = World::new();
        until(&stage, 1, "b.x", "JOINED").await;
        world.readers.replace(vec![("b", "20"), ("c", "471")]);
        until(&stage, 1, "c.x", "SHUNNED_REPLICATION_LAG").await;
        for _ in 0..20 {
            say(&mut log_in(&stage).await, "SELECT a FROM t").await;
        }
        let asked: HashSet<String> = world.told("SELECT a FROM t").into_iter().collect();
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["b.x:3306"]);
        world.readers.replace(vec![("b", "20"), ("c", "470")]);
        until(&stage, 1, "c.x", "CAUGHT_UP").await;
    });
}

#[test]
fn a_cluster_begins_and_ends_with_its_row() {
    play(async || {
        let (world, stage) = World::new();
        until(&stage, 0, "a.x", "JOINED").await;
        let config = |active: bool, enabled: bool| {
            let mut config = cluster();
            config.aurora_hostgroups[0].active = active;
            config.monitor.enabled = enabled;
            config
        };
        let places = |stage: &Stage| {
            let servers = stage.servers(false).into_iter().map(|server| (server.hostgroup, server.host));
            let mut places: Vec<(u32, String)> = servers.collect();
            places.sort_unstable();
            places
        };
        let row = [(1, "a.x".to_owned())];
        let found = [(0, "a.x".to_owned()), (1, "b.x".to_owned())];
        for (active, enabled, expected) in [
            (true, true, &found[..]),
            (false, true, &row[..]),
            (true, true, &found[..]),
            (true, false, &row[..]),
        ] {
            stage.apply(config(active, enabled)).unwrap();
            sleep(ms(2_000)).await;
            assert_eq!(places(&stage), expected, "{active} {enabled}");
        }
        drop(world);
    });
}

#[test]
fn c12_a_read_goes_to_a_replica_that_is_as_fresh_as_it_asks_for() {
    play(async || {
        let (world, stage) = World::new();
        // They count as 30 ms behind at least, and 30 more.
        world.readers.replace(vec![("b", "20.5"), ("c", "400")]);
        until(&stage, 1, "c.x", "JOINED").await;
        assert_eq!(readers_of(&world, &stage, "max_lag_ms=430", 40).await, ["b.x:3306", "c.x:3306"]);
        assert_eq!(stage.global("get_aws_aurora_replicas_skipped_during_query"), 0);
        assert_eq!(readers(&world, &stage, "max_lag_ms=429").await, ["b.x:3306"]);
        assert_eq!(stage.global("get_aws_aurora_replicas_skipped_during_query"), 10);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        assert_eq!(readers(&world, &stage, &format!("min_epoch_ms={}", since - 200)).await, ["b.x:3306"]);
        assert_eq!(readers(&world, &stage, "max_lag_ms=59").await, ["a.x:3306"], "the writer");
        assert_eq!(stage.global("queries_with_max_lag_ms"), 70);
        assert_eq!(stage.global("queries_with_max_lag_ms__delayed"), 0);
        world.readers.replace(vec![("b", "470"), ("c", "0")]);
        sleep(ms(3_000)).await;
        assert_eq!(readers(&world, &stage, "max_lag_ms=60").await, ["c.x:3306"]);
    });
}

#[test]
fn a_session_leaves_a_replica_that_has_fallen_behind() {
    play(async || {
        let (world, stage) = World::new();
        world.readers.replace(vec![("b", "0"), ("c", "400")]);
        until(&stage, 1, "c.x", "JOINED").await;
        let mut client = log_in(&stage).await;
        let sql = "SELECT /* max_lag_ms=100 */ a FROM t";
        say(&mut client, sql).await;
        assert_eq!(world.told(sql), ["b.x:3306"]);
        world.readers.replace(vec![("b", "400"), ("c", "0")]);
        sleep(ms(3_000)).await;
        say(&mut client, sql).await;
        assert_eq!(world.told(sql), ["b.x:3306", "c.x:3306"]);
    });
}

#[test]
fn where_there_are_replicas_enough_the_writer_is_left_alone() {
    play(async || {
        for (replicas_from, expected) in
            [(2, &["b.x:3306"][..]), (0, &["a.x:3306", "b.x:3306"]), (3, &["a.x:3306", "b.x:3306"])]
        {
            let mut config = cluster();
            config.aurora_hostgroups[0].writer_is_also_reader = true;
            config.variables.aurora_max_lag_ms_only_read_from_replicas = replicas_from;
            let (world, stage) = World::of(config);
            until(&stage, 1, "b.x", "JOINED").await;
            assert_eq!(readers_of(&world, &stage, "max_lag_ms=100", 40).await, expected, "{replicas_from}");
            assert_eq!(readers(&world, &stage, "max_lag_ms=10").await, ["a.x:3306"], "{replicas_from}");
        }
    });
}

#[test]
fn where_there_is_no_writer_a_read_waits_until_a_replica_is_fresh_enough() {
    play(async || {
        let mut config = cluster();
        let also = Server { hostgroup_id: 7, ..database("b.x") };
        config.servers = config.servers.iter().cloned().chain([also]).collect::<Vec<_>>().into();
        let (world, stage) = World::of(config);
        world.readers.replace(vec![("b", "400")]);
        until(&stage, 1, "b.x", "JOINED").await;
        let mut client = log_in(&stage).await;
        let sql = "SELECT /* hostgroup=7;max_lag_ms=100 */ a FROM t";
        client.send_query(sql).await;
        let error = client.expect_err(9001).await;
        let why = "none of its servers that could be had is known to be at most 100 ms behind";
        assert!(error.message.contains(why), "{error:?}");
        client.send_query(sql).await;
        sleep(ms(50)).await;
        assert!(world.told(sql).is_empty());
        world.readers.replace(vec![("b", "0")]);
        client.expect_ok().await;
        assert_eq!(world.told(sql), ["b.x:3306"]);
        assert_eq!(stage.global("queries_with_max_lag_ms__delayed"), 2);
        assert!(stage.global("queries_with_max_lag_ms__total_wait_time_us") > 10_000_000);
    });
}

#[test]
fn an_explanation_says_who_is_too_far_behind() {
    play(async || {
        let mut config = cluster();
        config.aurora_hostgroups[0].writer_is_also_reader = true;
        let (world, stage) = World::of(config);
        world.readers.replace(vec![("b", "0"), ("c", "400")]);
        until(&stage, 1, "c.x", "JOINED").await;
        let mut client = log_in(&stage).await;
        let told = client.query("EXPLAIN ROUTE SELECT /* max_lag_ms=100 */ a FROM t").await.unwrap();
        let rows: Vec<String> = (told.text().unwrap().into_iter())
            .map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" | "))
            .filter(|row| row.starts_with("must see") || row.starts_with("server"))
            .collect();
        assert_eq!(
            rows,
            [
                "must see | what is 100 ms old | servers that are farther behind are passed over",
                "server a.x:3306 | passed over | it is the writer, and there are replicas enough",
                "server b.x:3306 | candidate | by weight, 1 of 3; it runs 0 statements and has 0 of 1000 connections",
                "server c.x:3306 | passed over | it is 430 ms behind",
            ]
        );
    });
}
