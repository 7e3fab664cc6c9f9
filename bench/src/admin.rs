//! Traffic while the admin port applies large configurations, or reads large statistics: does
//! anybody notice?

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::plan::Cell;
use crate::progress::Progress;
use crate::sysbench::Sysbench;
use crate::target::{Kind, Stage, Target};

/// Clients of the traffic.
const CLIENTS: u32 = 16;
/// Statements per second of the traffic: about a fifth of what two cores can do, so that it is not
/// the lack of processor time that is measured.
const RATE: u32 = 3_000;
/// From the start of one LOAD to the start of the next one.
const PERIOD: Duration = Duration::from_millis(500);
/// Longest time until the admin port is open, from when clients are served.
const OPEN_TIME_MAX: Duration = Duration::from_secs(5);
/// How often that is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Longest time for one statement of the admin port.
const STATEMENT_TIME_MAX: Duration = Duration::from_mins(1);

/// What is loaded: the rows that make it large, and the statement.
const LOADS: [(&str, &str, &str); 3] = [
    (
        "50,000 users",
        "INSERT INTO mysql_users (username, password) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
         SELECT 'user_' || i, 'secret_' || i FROM n",
        "LOAD MYSQL USERS TO RUNTIME",
    ),
    (
        "5,000 servers",
        "INSERT INTO mysql_servers (hostgroup_id, hostname, port, status) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
         SELECT 100 + i % 500, '127.1.' || (i / 250) || '.' || (1 + i % 250), 1, 'OFFLINE_SOFT' FROM n",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ),
    (
        "10,000 rules",
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
         SELECT i, 1, '^SELECT .* FROM nowhere_' || i, 1, 1 FROM n",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ),
];

/// What is read: many digests, and the statement.
pub(crate) const READ: &str = "100,000 digests";
const READS: (&str, &str) = (READ, "SELECT COUNT(*) FROM stats_mysql_query_digest");
/// As many as its name says.
const DIGESTS: u32 = 100_000;

/// What the admin port does in the name of a step.
pub(crate) fn verb(load: &str) -> &'static str {
    if load == READ { "read" } else { "loaded" }
}

/// One run of the traffic.
#[derive(Debug, Clone)]
pub(crate) struct Busy {
    /// What was loaded meanwhile, again and again; nothing in the runs that the others are compared
    /// with.
    pub(crate) load: Option<&'static str>,
    /// Time that 99 % of the statements stayed below, in ms.
    pub(crate) p99_ms: f64,
    /// How long each LOAD took.
    pub(crate) times: Vec<Duration>,
}

/// Runs the traffic for some seconds without and with each of the loads, in rounds.
pub(crate) fn measure(
    stage: &Stage,
    sysbench: &Sysbench,
    seconds: u32,
    rounds: u32,
) -> anyhow::Result<Vec<Busy>> {
    let (target, _) = Target::start(stage, Kind::Pointsman)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let admin = target.admin().context("Pointsman has an admin port")?;
    let mut admin = Admin { client: runtime.block_on(connect(admin))?, runtime };
    for (_, rows, _) in LOADS {
        admin.run(rows)?;
    }
    admin.runtime.block_on(make_digests(target.address()))?;
    let loads = LOADS.map(|(name, _, load)| Some((name, load)));
    let steps: Vec<_> = [None, Some(READS)].into_iter().chain(loads).collect();
    let mut progress = Progress::new("admin port", rounds * u32::try_from(steps.len())?);
    let mut results = Vec::new();
    for round in 0..rounds {
        for turn in 0..steps.len() {
            let step = steps[(turn + usize::try_from(round)?) % steps.len()];
            progress.next(step.map_or("traffic alone", |(name, _)| name));
            results.push(run(sysbench, &target, &mut admin, seconds, step)?);
        }
    }
    Ok(results)
}

fn run(
    sysbench: &Sysbench,
    target: &Target,
    admin: &mut Admin,
    seconds: u32,
    step: Option<(&'static str, &'static str)>,
) -> anyhow::Result<Busy> {
    let (started, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let loads = step.map(|(_, statement)| {
            scope.spawn(|| {
                while !started.load(Ordering::Acquire) {
                    thread::park();
                }
                admin.repeat(statement, &ended)
            })
        });
        let begin = || {
            started.store(true, Ordering::Release);
            if let Some(loads) = &loads {
                loads.thread().unpark();
            }
            Ok(())
        };
        let figures = sysbench.run_at(target.port, Cell::judged(CLIENTS), seconds, Some(RATE), begin);
        // Also if sysbench failed before it had started.
        ended.store(true, Ordering::Relaxed);
        started.store(true, Ordering::Release);
        let times = loads.map_or(Ok(Vec::new()), |loads| {
            loads.thread().unpark();
            loads.join().map_err(|_| anyhow!("the thread of the admin port has panicked"))?
        })?;
        Ok(Busy { load: step.map(|(name, _)| name), p99_ms: figures?.p99_ms, times })
    })
}

/// A connection to the admin port.
struct Admin {
    runtime: Runtime,
    client: Client,
}

impl Admin {
    fn run(&mut self, statement: &str) -> anyhow::Result<()> {
        let Self { runtime, client } = self;
        let answer = runtime
            .block_on(async { tokio::time::timeout(STATEMENT_TIME_MAX, client.query(statement)).await });
        answer?.with_context(|| format!("`{statement}`"))?;
        Ok(())
    }

    /// Runs a statement once in a [`PERIOD`] until the run has ended, and says how long each took.
    fn repeat(&mut self, statement: &str, ended: &AtomicBool) -> anyhow::Result<Vec<Duration>> {
        let mut times = Vec::new();
        while !ended.load(Ordering::Relaxed) {
            let started = Instant::now();
            self.run(statement)?;
            times.push(started.elapsed());
            thread::sleep(PERIOD.saturating_sub(started.elapsed()));
        }
        Ok(times)
    }
}

async fn connect(port: u16) -> anyhow::Result<Client> {
    let options = Options::tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), "admin", "admin");
    let deadline = Instant::now() + OPEN_TIME_MAX;
    loop {
        match Client::connect(&options).await {
            Ok(client) => return Ok(client),
            // It opens a moment after the port for clients.
            Err(_) if Instant::now() < deadline => tokio::time::sleep(LOOK_INTERVAL).await,
            Err(error) => return Err(error).context("cannot log in to the admin port"),
        }
    }
}

/// Sends as many statements with digests of their own.
async fn make_digests(address: SocketAddr) -> anyhow::Result<()> {
    let mut clients = JoinSet::new();
    for first in 0..CLIENTS {
        let options = Options::tcp(address, USER, PASSWORD);
        clients.spawn(async move {
            let mut client = Client::connect(&options).await?;
            for n in (first..DIGESTS).step_by(CLIENTS as usize) {
                client.query(&format!("SELECT 1 AS c{n}")).await?;
            }
            anyhow::Ok(())
        });
    }
    clients.join_all().await.into_iter().collect()
}
