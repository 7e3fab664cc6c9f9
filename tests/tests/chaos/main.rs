//! A primary and its replica, to which everything happens that happens to servers, under clients
//! that write: what was acknowledged is there once, what was refused is not, sessions go on, and
//! the pool counts exactly.
//!
//! Rounds follow from a seed, which is printed:
//! `POINTSMAN_CHAOS_SEED=7 cargo test -p e2e --test chaos -- --nocapture`. `make chaos` plays them
//! for 15 minutes.

mod clients;
mod fault;
mod net;
mod pair;
mod relay;
mod times;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use e2e::{Proxy, Setup, memory, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

use clients::{Crew, STATEMENT_TIME_MAX, Told};
use e2e::dice::Dice;
use fault::{FAULTS, Fault};
use pair::Pair;
use times::Times;

/// Clients of a round; more than the connections that a server may have.
const CLIENTS: usize = 16;

/// Connections that each server may have.
const CONNECTIONS: u32 = 10;

/// How long the clients of a round may take until each of them writes again; on a machine that does
/// much else, too.
const STUCK: Duration = Duration::from_secs(20);

/// Rounds after which the proxy has all the memory that it needs.
const WARM: u32 = 50;

/// Memory that it may have more in the end, in KiB: how much of what was freed the allocator has
/// given back differs by that.
const GROWTH_KIB: u64 = 4096;

/// Rounds after which the rows of those before are removed, so that to count them takes no longer.
const SWEEP: u32 = 25;

/// The user of the clients, who cannot write where `read_only` is on, and the monitor's.
const USER: &str = "plain";
const WATCHER: &str = "watcher";

#[test]
fn a_few_rounds() {
    let seed = seed();
    let mut scene = Scene::start(seed);
    for (round, fault) in
        [Fault::Kill, Fault::Switch, Fault::Partition, Fault::Restart].into_iter().enumerate()
    {
        scene.play(u32::try_from(round).unwrap(), fault);
    }
    scene.end();
}

#[test]
#[ignore = "as long as POINTSMAN_CHAOS_SECONDS and POINTSMAN_CHAOS_ROUNDS say; make chaos"]
fn soak() {
    let end = Instant::now() + Duration::from_secs(number("POINTSMAN_CHAOS_SECONDS").unwrap_or(900));
    let rounds = number("POINTSMAN_CHAOS_ROUNDS").unwrap_or(u64::MAX);
    let seed = seed();
    let (mut scene, mut dice, mut round) = (Scene::start(seed), Dice::new(seed, usize::MAX), 0);
    while Instant::now() < end && u64::from(round) < rounds {
        scene.play(round, FAULTS[dice.below(FAULTS.len())]);
        round += 1;
    }
    scene.end();
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seed() -> u64 {
    let given = number("POINTSMAN_CHAOS_SEED");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = given.unwrap_or_else(|| now.as_secs() ^ u64::from(std::process::id()) << 20);
    println!("POINTSMAN_CHAOS_SEED={seed}");
    seed
}

struct Scene {
    seed: u64,
    pair: Pair,
    proxy: Proxy,
    errors: BTreeMap<String, u32>,
    rows: usize,
    statements: u64,
    rounds: u32,
    ended: u32,
    unknown: usize,
    times: Vec<(Fault, Times)>,
    /// The proxy's memory when it was warm.
    memory: Option<u64>,
}

impl Scene {
    fn start(seed: u64) -> Self {
        let pair = Pair::start();
        pair.sql(&format!(
            "CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT REPLICATION CLIENT, REPLICA MONITOR ON *.* TO {WATCHER}@'127.0.0.1'; \
             CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
             CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT, round INT, client INT, number INT, KEY (round))"
        ));
        pair.catch_up();
        let mut setup = Setup::new(&pair.sandbox)
            .monitor(WATCHER, PASSWORD)
            .user(USER, PASSWORD, "default_schema = 'test'")
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1");
        for (hostgroup, (address, port)) in pair.addresses().into_iter().enumerate() {
            setup = setup.row(
                "mysql_servers",
                &format!(
                    "hostgroup_id = {hostgroup}\nhostname = \"{address}\"\nport = {port}\nmax_connections = {CONNECTIONS}"
                ),
            );
        }
        let proxy = setup
            .variable("multiplexing", true)
            .variable("monitor_read_only_interval", 200)
            .variable("monitor_read_only_timeout", 200)
            .variable("monitor_ping_interval", 500)
            .variable("monitor_ping_timeout", 200)
            .variable("monitor_writer_is_also_reader", false)
            // What the monitor has found is kept for less time than the proxy takes to be warm.
            .variable("monitor_history", 60_000)
            .variable("connect_timeout_server", 1000)
            .variable("connect_timeout_server_max", 4000)
            .start();
        Self {
            seed,
            pair,
            proxy,
            errors: BTreeMap::new(),
            rows: 0,
            statements: 0,
            rounds: 0,
            ended: 0,
            unknown: 0,
            times: Vec::new(),
            memory: None,
        }
    }

    fn play(&mut self, round: u32, fault: Fault) {
        let seed = self.seed.wrapping_add(u64::from(round) << 32);
        let mut dice = Dice::new(seed, usize::MAX - 1);
        let options = Options::tcp(self.proxy.tcp(), USER, PASSWORD).schema("test");
        if round % SWEEP == SWEEP - 1 {
            self.pair.sql("TRUNCATE TABLE test.t");
        }
        let begun = Instant::now();
        let crew = Crew::start(&options, round, seed, CLIENTS);
        wait_for(&crew, begun, &format!("round {round}: the clients to begin"));
        std::thread::sleep(Duration::from_millis(dice.below(300) as u64));
        let writable = fault.happen(&mut self.pair, &mut dice);
        wait_for(&crew, writable, &format!("round {round}, {fault:?}: all clients to write again"));
        self.look_at_pool(round, fault);
        let told = crew.stop();
        let told: Vec<_> = told.iter().map(|told| std::mem::take(&mut *told.lock().unwrap())).collect();
        self.judge(round, fault, &told);
        self.expect_nothing_used(round, fault);
        self.pair.catch_up();
        let memory = memory::rss_kib(self.proxy.pid());
        if round == WARM {
            self.memory = Some(memory);
        }
        let times = Times::of(&told, writable);
        println!("round {round} {fault:?}: {times:?}, {memory} KiB");
        self.times.push((fault, times));
    }

    /// Compares what the clients were told with what is there.
    fn judge(&mut self, round: u32, fault: Fault, told: &[Told]) {
        let at = format!("POINTSMAN_CHAOS_SEED={} round {round}, {fault:?}", self.seed);
        let sql = format!(
            "SELECT client, number, COUNT(*) FROM test.t WHERE round = {round} GROUP BY client, number"
        );
        let there: HashMap<(usize, u32), u32> = self
            .pair
            .sql(&sql)
            .lines()
            .map(|line| {
                let cells: Vec<u32> = line.split('\t').map(|cell| cell.parse().unwrap()).collect();
                ((cells[0] as usize, cells[1]), cells[2])
            })
            .collect();
        for (client, told) in told.iter().enumerate() {
            let count = |row: &u32| there.get(&(client, *row)).copied().unwrap_or(0);
            assert_eq!(told.stuck, None, "{at}: client {client} had no answer within {STATEMENT_TIME_MAX:?}");
            let lost: Vec<_> = told.acknowledged.iter().filter(|row| count(row) == 0).collect();
            assert!(lost.is_empty(), "{at}: client {client} has lost {lost:?}");
            let done: Vec<_> = told.refused.iter().filter(|row| count(row) > 0).collect();
            assert!(
                done.is_empty(),
                "{at}: client {client} was refused what was done, {done:?}; {:?}",
                told.errors
            );
            let rows = [&told.acknowledged, &told.unknown].into_iter().flatten();
            let doubled: Vec<_> = rows.filter(|row| count(row) > 1).collect();
            assert!(doubled.is_empty(), "{at}: client {client} has doubled {doubled:?}");
            self.rows += told.acknowledged.len();
            self.statements += told.statements;
            self.unknown += told.unknown.len();
            self.ended += told.ended;
            for (error, count) in &told.errors {
                *self.errors.entry(error.clone()).or_default() += count;
            }
        }
        self.rounds += 1;
    }

    fn look_at_pool(&self, round: u32, fault: Fault) {
        let most = self.admin("SELECT MAX(ConnUsed + ConnFree) FROM stats_mysql_connection_pool");
        let most: u32 = most.parse().unwrap_or_default();
        assert!(most <= CONNECTIONS, "round {round}, {fault:?}: {most} connections of {CONNECTIONS}");
        let most = self.admin("SELECT MAX(MaxConnUsed) FROM stats_mysql_connection_pool");
        let most: u32 = most.parse().unwrap_or_default();
        assert!(
            most <= CONNECTIONS,
            "round {round}, {fault:?}: there were {most} connections of {CONNECTIONS}"
        );
    }

    /// The clients have left, and with them all that they used.
    fn expect_nothing_used(&self, round: u32, fault: Fault) {
        let deadline = Instant::now() + STUCK;
        loop {
            let used = self.admin("SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool");
            if used == "0" {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "round {round}, {fault:?}: {used} connections are used by nobody"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn admin(&self, sql: &str) -> String {
        run(async {
            let mut admin =
                Client::connect(&Options::tcp(self.proxy.admin(), "admin", "admin")).await.unwrap();
            admin.query(sql).await.unwrap().first().unwrap_or_default()
        })
    }

    fn end(self) {
        println!(
            "{} rounds, {} statements: {} rows acknowledged, 0 lost or doubled; {} of unknown fate; {} sessions ended",
            self.rounds, self.statements, self.rows, self.unknown, self.ended
        );
        for fault in FAULTS {
            let times: Vec<Times> =
                self.times.iter().filter(|(what, _)| *what == fault).map(|(_, times)| *times).collect();
            let Some(most) = times.iter().copied().reduce(Times::most) else { continue };
            println!("  {:>4} x {fault:?}, at most: {most:?}", times.len());
        }
        for (error, count) in &self.errors {
            println!("  {count:>6} x {error}");
        }
        let log = self.proxy.log();
        for line in log.iter().filter(|line| line.contains("got no server")).take(20) {
            println!("  {line}");
        }
        let memory = memory::rss_kib(self.proxy.pid());
        println!("memory of the proxy: {:?} KiB after {WARM} rounds, {memory} KiB now", self.memory);
        if let Some(warm) = self.memory.filter(|_| self.rounds >= 2 * WARM) {
            assert!(memory <= warm + GROWTH_KIB, "the proxy's memory has grown from {warm} to {memory} KiB");
        }
    }
}

/// Waits until all clients have written since then.
fn wait_for(crew: &Crew, since: Instant, what: &str) {
    let deadline = Instant::now() + STUCK;
    while !crew.have_all_written_since(since) {
        let late = || {
            let of = |told: &std::sync::Arc<std::sync::Mutex<Told>>| {
                let told = told.lock().unwrap();
                (
                    told.times.last().map(|last| *last > since),
                    told.acknowledged.len(),
                    told.longest,
                    told.stuck.clone(),
                    told.errors.clone(),
                )
            };
            crew.told.iter().map(of).collect::<Vec<_>>()
        };
        assert!(Instant::now() < deadline, "waited in vain for {what}: {:?}", late());
        std::thread::sleep(Duration::from_millis(2));
    }
}
