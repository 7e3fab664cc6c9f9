//! Servers that answer the monitor by themselves: what tests of watched servers begin with.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use config::{Config, Server};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::sleep;
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{Client, Database, database, log_in, ms, pair_of_servers, watched};

/// Longer than any pause between two checks.
pub(super) const PATIENCE: Duration = Duration::from_hours(1);

/// Servers that answer the monitor by themselves, and clients with OK.
#[derive(Default)]
pub(super) struct World {
    /// Those that are read-only.
    pub(super) read_only: RefCell<HashSet<String>>,
    /// Those that do not answer any more, and do not close connections either.
    pub(super) frozen: RefCell<HashSet<String>>,
    /// The replicas that servers name.
    pub(super) followers: RefCell<HashMap<String, &'static str>>,
    /// How many connections each server has.
    pub(super) open: RefCell<HashMap<String, u32>>,
    /// Those that do not answer clients any more.
    pub(super) slow: RefCell<HashSet<String>>,
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
    /// Whether every connection gets it in the place of a greeting, too.
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
        let failure = |world: &Self, endpoint: &config::Endpoint| {
            let gone = world.gone.borrow().contains(&endpoint.to_string());
            let starved = world.starved.get().map(io::Error::from_raw_os_error);
            starved.or_else(|| gone.then(|| io::ErrorKind::ConnectionRefused.into()))
        };
        let stage = watched(config, &world, failure, converse);
        (world, stage)
    }

    /// The servers of `config`, of which `b` is a replica, as the monitor has seen; and a client.
    pub(super) async fn with_replica(config: Config) -> (Rc<Self>, Stage, Client) {
        let (world, stage) = Self::of(config);
        world.demote("b");
        sleep(ms(100)).await;
        let client = log_in(&stage).await;
        (world, stage, client)
    }

    /// This server takes no writes from now on.
    pub(super) fn demote(&self, host: &str) {
        self.read_only.borrow_mut().insert(format!("{host}:3306"));
    }

    /// This server takes writes from now on.
    pub(super) fn promote(&self, host: &str) {
        self.read_only.borrow_mut().remove(&format!("{host}:3306"));
    }

    /// This server does not answer any more.
    pub(super) fn freeze(&self, host: &str) {
        self.frozen.borrow_mut().insert(format!("{host}:3306"));
    }

    /// What this server says of its lag from now on.
    pub(super) fn lags(&self, host: &str, lag: Option<&'static str>) {
        self.lag.borrow_mut().insert(format!("{host}:3306"), lag);
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
                // This check is not answered.
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
    config.servers = vec![database("a"), Server { hostgroup_id: 1, ..database("b") }].into();
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
