//! A primary and its replica, to which everything happens that happens to servers, under clients that write: what was acknowledged
//! is there once, what was refused is not, sessions go on, and the pool counts exactly.
//!
//! Rounds follow from a seed, which is printed: `POINTSMAN_CHAOS_SEED=7 cargo test -p e2e --test chaos -- --nocapture`.
//! `make chaos` plays them for 15 minutes.

mod clients;
mod pair;
mod relay;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use e2e::{Proxy, Setup, memory, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

use clients::{Crew, STATEMENT_TIME_MAX, Told};
use e2e::dice::Dice;
use pair::Pair;
use relay::Way;

/// Clients of a round; more than the connections that a server may have.
const CLIENTS: usize = 16;

/// Connections that each server may have.
const CONNECTIONS: u32 = 10;

/// How long the clients of a round may take until each of them writes again; on a machine that does much else, too.
const STUCK: Duration = Duration::from_secs(20);

/// The user of the clients, who cannot write where `read_only` is on, and the monitor's.
const USER: &str = "plain";
const WATCHER: &str = "watcher";

/// What happens in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The primary and the replica change places as an administrator has them do it.
    Switch,
    /// The primary is killed, and the replica promoted.
    Kill,
    /// The primary is killed, and comes back as such.
    KillAndRestart,
    /// It is stopped and started in good order.
    Restart,
    /// It freezes for some time.
    Freeze,
    /// It freezes, is fenced, and the replica promoted.
    FreezeForGood,
    /// The network to it forwards nothing for some time.
    Hold,
    /// The network to it forwards nothing; the replica is promoted, and the primary told so, which takes a while.
    HoldForGood,
    /// Connections to it break for some time.
    Cut,
    /// The replica dies and comes back.
    Replica,
}

const FAULTS: [Fault; 10] = [
    Fault::Switch,
    Fault::Kill,
    Fault::KillAndRestart,
    Fault::Restart,
    Fault::Freeze,
    Fault::FreezeForGood,
    Fault::Hold,
    Fault::HoldForGood,
    Fault::Cut,
    Fault::Replica,
];

#[test]
fn a_few_rounds() {
    let seed = seed();
    let mut scene = Scene::start(seed);
    for (round, fault) in [Fault::Kill, Fault::Switch, Fault::Hold, Fault::Restart].into_iter().enumerate() {
        scene.play(u32::try_from(round).unwrap(), fault);
    }
    scene.end();
}

#[test]
#[ignore = "as long as POINTSMAN_CHAOS_SECONDS says; make chaos"]
fn soak() {
    let seconds =
        std::env::var("POINTSMAN_CHAOS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(900);
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = seed();
    let (mut scene, mut dice, mut round) = (Scene::start(seed), Dice::new(seed, usize::MAX), 0);
    while Instant::now() < end {
        scene.play(round, FAULTS[dice.below(FAULTS.len())]);
        round += 1;
    }
    scene.end();
}

fn seed() -> u64 {
    let given = std::env::var("POINTSMAN_CHAOS_SEED").ok().and_then(|text| text.parse().ok());
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
        for (hostgroup, port) in pair.ports().into_iter().enumerate() {
            setup = setup.row(
                "mysql_servers",
                &format!(
                    "hostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\nport = {port}\nmax_connections = {CONNECTIONS}"
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
            .variable("connect_timeout_server", 1000)
            .variable("connect_timeout_server_max", 4000)
            .start();
        Self {
            seed,
            pair,
            proxy,
            errors: BTreeMap::new(),
            rows: 0,
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
        let begun = Instant::now();
        let crew = Crew::start(&options, round, seed, CLIENTS);
        wait_for(&crew, begun, &format!("round {round}: the clients to begin"));
        std::thread::sleep(Duration::from_millis(dice.below(300) as u64));
        let writable = self.happen(fault, &mut dice);
        wait_for(&crew, writable, &format!("round {round}, {fault:?}: all clients to write again"));
        self.look_at_pool(round, fault);
        let told = crew.stop();
        let told: Vec<_> = told.iter().map(|told| std::mem::take(&mut *told.lock().unwrap())).collect();
        self.judge(round, fault, &told);
        self.expect_nothing_used(round, fault);
        self.pair.catch_up();
        let memory = memory::rss_kib(self.proxy.pid());
        if round == 20 {
            self.memory = Some(memory);
        }
        let times = Times::of(&told, writable);
        println!("round {round} {fault:?}: {times:?}, {memory} KiB");
        self.times.push((fault, times));
    }

    /// Lets it happen and be over; since when a server takes writes again.
    fn happen(&mut self, fault: Fault, dice: &mut Dice) -> Instant {
        let a_while = Duration::from_millis(200 + dice.below(2_000) as u64);
        let wait = || std::thread::sleep(a_while);
        let pair = &mut self.pair;
        match fault {
            Fault::Switch => {
                pair.demote();
                let position = pair.promote();
                let writable = Instant::now();
                pair.rejoin(&position);
                return writable;
            }
            Fault::Kill => {
                pair.kill();
                let position = pair.promote();
                let writable = Instant::now();
                wait();
                pair.fence();
                pair.rejoin(&position);
                return writable;
            }
            Fault::KillAndRestart => {
                pair.kill();
                wait();
                pair.restart();
            }
            Fault::Restart => pair.restart(),
            Fault::Freeze => {
                pair.pause(true);
                wait();
                pair.resume(true);
            }
            Fault::FreezeForGood => {
                pair.pause(true);
                wait();
                let position = pair.promote();
                let writable = Instant::now();
                pair.fence();
                pair.rejoin(&position);
                return writable;
            }
            Fault::Hold => {
                pair.way(true, Way::Held);
                wait();
                pair.way(true, Way::Open);
            }
            Fault::HoldForGood => {
                pair.way(true, Way::Held);
                wait();
                // Nobody acknowledges what it still does: its replica is gone.
                let position = pair.promote();
                let writable = Instant::now();
                pair.fence();
                pair.rejoin(&position);
                wait();
                pair.way(false, Way::Open);
                return writable;
            }
            Fault::Cut => {
                pair.way(true, Way::Cut);
                wait();
                pair.way(true, Way::Open);
            }
            Fault::Replica => {
                pair.pause(false);
                wait();
                pair.resume(false);
                pair.restart_replica();
            }
        }
        Instant::now()
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
            "{} rounds: {} rows acknowledged, 0 lost or doubled; {} of unknown fate; {} sessions ended",
            self.rounds, self.rows, self.unknown, self.ended
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
        println!("memory of the proxy: {:?} KiB after 20 rounds, {memory} KiB now", self.memory);
    }
}

/// How long clients could not write.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// From a server being writable to the first row.
    first: Duration,
    /// To the first row of the last client.
    all: Duration,
    /// The longest time without a row.
    gap: Duration,
    /// The longest time of a statement.
    statement: Duration,
}

impl Times {
    fn of(told: &[Told], writable: Instant) -> Self {
        let firsts = told.iter().filter_map(|told| told.times.iter().find(|time| **time > writable));
        let firsts: Vec<Duration> = firsts.map(|time| *time - writable).collect();
        let mut times: Vec<Instant> = told.iter().flat_map(|told| told.times.iter().copied()).collect();
        times.sort_unstable();
        Self {
            first: firsts.iter().min().copied().unwrap_or_default(),
            all: firsts.iter().max().copied().unwrap_or_default(),
            gap: times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default(),
            statement: told.iter().map(|told| told.longest).max().unwrap_or_default(),
        }
    }

    fn most(self, other: Self) -> Self {
        Self {
            first: self.first.max(other.first),
            all: self.all.max(other.all),
            gap: self.gap.max(other.gap),
            statement: self.statement.max(other.statement),
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
