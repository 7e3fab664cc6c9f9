//! The exact modes of the query cache, `bounded` and `strict`, before servers whose binary log is
//! followed.

mod clients;
mod table;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, Server, Setup, USER};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::load::turns;
use crate::procfs;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::target::{Kind, Stage, Target};

use clients::{Queries, ask};

/// Rows that are read, each by a query of its own.
const ROWS: u32 = 1000;
/// Clients that read.
const CLIENTS: [usize; 2] = [1, 16];
/// The bound of the mode `bounded`, in milliseconds.
const BOUND_MS: u32 = 20;
/// How often another table is written to while `bounded` and `ttl` are compared.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// Seconds of each proxy's run that fills its cache and is not recorded.
const WARM_UP_SECONDS: u32 = 2;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `SELECT 1` through a proxy that caches nothing.
    One,
    /// The queries through it.
    Without,
    /// Hits whose age does not depend on the binary log.
    Ttl,
    /// Hits that wait for the end of the log.
    Strict,
    /// Hits as of the last 20 ms.
    Bounded,
}

impl Way {
    const ALL: [Self; 5] = [Self::One, Self::Without, Self::Ttl, Self::Strict, Self::Bounded];

    const fn name(self) -> &'static str {
        match self {
            Self::One => "SELECT 1",
            Self::Without => "without cache",
            Self::Ttl => "hit, ttl",
            Self::Strict => "hit, strict",
            Self::Bounded => "hit, bounded 20 ms",
        }
    }

    /// What the configuration says of the cache.
    fn rule(self) -> String {
        let mode = match self {
            Self::One | Self::Without => return String::new(),
            Self::Ttl => r#""mode": "ttl""#.to_owned(),
            Self::Strict => r#""mode": "strict""#.to_owned(),
            Self::Bounded => format!(r#""mode": "bounded", "max_staleness_ms": {BOUND_MS}"#),
        };
        format!(
            "[[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = \"^SELECT c\"\n\
             cache_ttl = 3600000\nattributes = '{{\"cache\": {{{mode}}}}}'\n"
        )
    }

    fn queries(self) -> Queries {
        if self == Self::One {
            return Queries::new(["SELECT 1".to_owned()]);
        }
        Queries::new((1..=ROWS).map(|id| format!("SELECT c FROM exact.t WHERE id = {id}")))
    }
}

/// One way that is measured: so many clients, and writes to another table meanwhile or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    way: Way,
    clients: usize,
    is_written: bool,
}

/// Figures of one run.
#[derive(Debug, Clone, Copy)]
struct Sample {
    qps: f64,
    p50_us: f64,
    p99_us: f64,
    /// Processor time of the proxy for a query.
    cpu_us: f64,
    /// The part of the queries that were hits.
    hits: f64,
    /// Questions to the server about its log, for a query.
    probes: f64,
}

/// Measures before MariaDB, and before MySQL if it is on this machine; prints tables, and writes
/// them into the folder `out`.
pub(crate) fn measure(
    programs: &Programs,
    threads: u32,
    (seconds, rounds): (u32, u32),
    out: &Path,
) -> anyhow::Result<()> {
    let (sandbox, mut text) = (Sandbox::new()?, String::new());
    let log = ["--log-bin=binlog", "--innodb-buffer-pool-size=64M"];
    let mariadb = Setup::new("db").args(log).start(&programs.mariadb, &sandbox)?;
    text += &measure_at(&mariadb, "MariaDB", (programs, &sandbox, threads), (seconds, rounds))?;
    drop(mariadb);
    if let Some(binaries) = testkit::mysql::find()? {
        let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
        let mysql = Setup::new("mysql").args(log).args(gtids).start(&binaries, &sandbox)?;
        text += &measure_at(&mysql, "MySQL", (programs, &sandbox, threads), (seconds, rounds))?;
    }
    print!("{text}");
    fs::create_dir_all(out)?;
    fs::write(out.join("exact.txt"), text)?;
    println!("\nkept in {}", out.display());
    Ok(())
}

/// The tables of one server.
fn measure_at(
    database: &Server,
    make: &str,
    (programs, sandbox, threads): (&Programs, &Sandbox, u32),
    (seconds, rounds): (u32, u32),
) -> anyhow::Result<String> {
    database.sql(&format!(
        "CREATE DATABASE exact; CREATE TABLE exact.t (id INT PRIMARY KEY, c CHAR(120) NOT NULL); \
         CREATE TABLE exact.other (id INT PRIMARY KEY, a INT NOT NULL); INSERT INTO exact.other VALUES (1, 0); \
         INSERT INTO exact.t VALUES {}",
        (1..=ROWS).map(|id| format!("({id}, '{id:0119}')")).collect::<Vec<_>>().join(", ")
    ))?;
    let stage = Stage { programs, sandbox, database, threads };
    let variables = format!("monitor_username = \"{USER}\"\nmonitor_password = \"{PASSWORD}\"\n");
    let start = |way: Way| {
        let target = Target::start_with(&stage, Kind::Pointsman, &variables, &way.rule())?;
        anyhow::Ok((way, target))
    };
    let targets = Way::ALL.into_iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
    let cases = cases();
    let mut progress = Progress::new("exact", rounds * u32::try_from(cases.len())? + 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    progress.next("warm-up");
    for (way, target) in &targets {
        runtime.block_on(ask(target.address(), CLIENTS[1], &way.queries(), WARM_UP_SECONDS))?;
    }
    let mut samples: Vec<_> = cases.iter().map(|case| (*case, Vec::new())).collect();
    for round in 1..=rounds {
        for case in turns(&cases, round)? {
            progress.next(&format!("round {round} of {rounds}, {}", case.way.name()));
            let (_, target) = targets.iter().find(|(way, _)| *way == case.way).context("a way")?;
            let sample = run(&runtime, target, database, *case, seconds)?;
            let (_, all) = samples.iter_mut().find(|(one, _)| one == case).context("a case")?;
            all.push(sample);
        }
    }
    drop(progress);
    Ok(table::of(make, &samples))
}

/// All that is compared, in the order of the table.
fn cases() -> Vec<Case> {
    let [_, many] = CLIENTS;
    let quiet = CLIENTS.into_iter().flat_map(|clients| {
        [Way::One, Way::Without, Way::Ttl, Way::Strict].map(|way| Case { way, clients, is_written: false })
    });
    let written = [Way::Ttl, Way::Bounded].map(|way| Case { way, clients: many, is_written: true });
    quiet.chain(written).collect()
}

/// One run.
fn run(
    runtime: &Runtime,
    target: &Target,
    database: &Server,
    case: Case,
    seconds: u32,
) -> anyhow::Result<Sample> {
    runtime.block_on(async {
        let admin = (std::net::Ipv4Addr::LOCALHOST, target.admin().context("no admin port")?).into();
        let mut admin = Client::connect(&Options::tcp(admin, "admin", "admin")).await?;
        let mut elsewhere = Client::connect(&Options::tcp(database.address(), USER, PASSWORD)).await?;
        let writer: Option<JoinHandle<anyhow::Result<()>>> = case.is_written.then(|| {
            tokio::spawn(async move {
                let mut interval = tokio::time::interval(WRITE_INTERVAL);
                loop {
                    interval.tick().await;
                    elsewhere.query("UPDATE exact.other SET a = a + 1 WHERE id = 1").await?;
                }
            })
        });
        let (before, counted) = (procfs::cpu(target.pid())?, Counted::read(&mut admin).await?);
        let mut times = ask(target.address(), case.clients, &case.way.queries(), seconds).await?;
        let cpu = procfs::cpu(target.pid())?.saturating_sub(before);
        let now = Counted::read(&mut admin).await?;
        if let Some(writer) = writer {
            anyhow::ensure!(!writer.is_finished(), "the writer has ended: {:?}", writer.await);
            writer.abort();
        }
        let queries = f64::from(u32::try_from(times.count().max(1))?);
        Ok(Sample {
            qps: queries / f64::from(seconds),
            p50_us: times.percentile(50),
            p99_us: times.percentile(99),
            cpu_us: cpu.as_secs_f64() * 1e6 / queries,
            hits: f64::from(now.hits - counted.hits) / queries,
            probes: f64::from(now.probes - counted.probes) / queries,
        })
    })
}

/// What a proxy has counted since its start.
#[derive(Debug, Clone, Copy)]
struct Counted {
    hits: u32,
    probes: u32,
}

impl Counted {
    async fn read(admin: &mut Client) -> anyhow::Result<Self> {
        let [mut hits, mut probes] = [0, 0];
        for (value, sql) in [
            (&mut hits, "SELECT COALESCE(SUM(hits), 0) FROM stats_pointsman_cache"),
            (&mut probes, "SELECT COALESCE(SUM(probes), 0) FROM stats_pointsman_sources"),
        ] {
            *value = admin.query(sql).await?.first().context("no such counter")?.parse()?;
        }
        Ok(Self { hits, probes })
    }
}
