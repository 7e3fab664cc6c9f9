//! The query cache: point selects on a large table with and without it, and what a hit costs beside
//! a server that sends the same bytes without looking.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use testkit::client::{Client, Options};
use testkit::guard::{Process, Sandbox};
use testkit::mariadb::{PASSWORD, USER};
use testkit::net::free_port;
use tokio::task::JoinSet;

use crate::load::turns;
use crate::plan::{Cell, Workload};
use crate::progress::Progress;
use crate::sysbench::{SCHEMA, Sysbench};
use crate::target::{Kind, Stage, Target};
use crate::{chart, procfs};

/// Memory of the cache.
const VARIABLES: &str = "query_cache_size_MB = 512\n";
/// Clients that read.
const CLIENTS: u32 = 16;
/// Writes to the table in a second, where it is written to.
const WRITES: u32 = 1000;
/// Queries in a second that a warm-up is taken to make: it lasts accordingly.
const WARM_UP_RATE: u32 = 5000;
/// Longest time until the server of equal bytes listens, and for a message.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// No rule caches anything.
    Without,
    /// Answers are good for an hour.
    Warm,
    /// Answers are good for a millisecond: hardly any is there still.
    Cold,
    /// Nothing is cached, and the table is written to.
    WrittenWithout,
    /// Answers are not older than writes, and the table is written to all the time.
    Written,
}

impl Way {
    const ALL: [Self; 5] = [Self::Without, Self::Warm, Self::Cold, Self::WrittenWithout, Self::Written];

    const fn name(self) -> &'static str {
        match self {
            Self::Without => "without cache",
            Self::Warm => "cache, warm",
            Self::Cold => "cache, no hits",
            Self::WrittenWithout => "written, without cache",
            Self::Written => "written, cache (own)",
        }
    }

    /// The one that it is compared with.
    const fn base(self) -> Self {
        match self {
            Self::Without | Self::Warm | Self::Cold => Self::Without,
            Self::WrittenWithout | Self::Written => Self::WrittenWithout,
        }
    }

    const fn is_written(self) -> bool {
        matches!(self, Self::WrittenWithout | Self::Written)
    }

    /// The rule in the configuration.
    fn rule(self) -> String {
        let (ttl, mode) = match self {
            Self::Without | Self::WrittenWithout => return String::new(),
            Self::Warm => (3_600_000, "ttl"),
            Self::Cold => (1, "ttl"),
            Self::Written => (3_600_000, "own"),
        };
        format!(
            "[[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = \"^SELECT\"\ncache_ttl = {ttl}\n\
             attributes = '{{\"cache\": {{\"mode\": \"{mode}\"}}}}'\n"
        )
    }
}

/// Queries in each second, and what they cost.
#[derive(Debug, Default, Clone)]
struct Samples {
    each_second: Vec<f64>,
    qps: Vec<f64>,
    cpu_us: Vec<f64>,
    rss_kib: u32,
    /// Queries that were looked up, and those of them that were hits.
    lookups: [u64; 2],
}

/// Measures, prints a table, and writes a chart into the folder `out`.
pub(crate) fn measure(
    stage: &Stage,
    sysbench: &Sysbench,
    (seconds, rounds): (u32, u32),
    out: &Path,
) -> anyhow::Result<()> {
    let targets = Way::ALL.map(|way| {
        let target = Target::start_with(stage, Kind::Pointsman, VARIABLES, &way.rule())?;
        Ok((way, target))
    });
    let targets = targets.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut samples = Way::ALL.map(|way| (way, Samples::default()));
    let runs = u32::try_from(targets.len())? * rounds + 2;
    let mut progress = Progress::new("cache", runs);
    progress.next("warm-up");
    let warm_up = (2 * sysbench.rows() / WARM_UP_RATE).max(2);
    for (_, target) in targets.iter().filter(|(way, _)| *way == Way::Warm) {
        sysbench.run(target.port, Cell::judged(CLIENTS), warm_up, || Ok(()))?;
    }
    for round in 1..=rounds {
        for (way, target) in turns(&targets, round)? {
            progress.next(&format!("round {round} of {rounds}, {}", way.name()));
            let into = samples.iter_mut().find(|(one, _)| one == way).context("a way")?;
            run(sysbench, target, *way, seconds, &mut into.1)?;
        }
    }
    progress.next("hits");
    let (_, warm) = targets.iter().find(|(way, _)| *way == Way::Warm).context("a way")?;
    let hits = hits(stage.sandbox, warm, seconds)?;
    drop(progress);
    let table = table(&samples, hits);
    print!("{table}");
    fs::create_dir_all(out)?;
    let lines = samples.iter().map(|(way, samples)| (way.name(), &samples.each_second[..]));
    fs::write(out.join("cache.svg"), chart::lines("queries per second", &lines.collect::<Vec<_>>()))?;
    fs::write(out.join("cache.txt"), table)?;
    println!("\nkept in {}", out.display());
    Ok(())
}

/// One run of reads, with writes beside them where the way has them.
fn run(
    sysbench: &Sysbench,
    target: &Target,
    way: Way,
    seconds: u32,
    into: &mut Samples,
) -> anyhow::Result<()> {
    let pid = target.pid();
    std::thread::scope(|scope| {
        let writer = way.is_written().then(|| {
            let cell = Cell { workload: Workload::Update, ..Cell::judged(1) };
            scope.spawn(move || sysbench.run_at(target.port, cell, seconds, Some(WRITES), || Ok(())))
        });
        let mut before = Duration::ZERO;
        let (figures, each_second) =
            sysbench.run_watched(target.port, Cell::judged(CLIENTS), seconds, || {
                before = procfs::cpu(pid)?;
                Ok(())
            })?;
        let cpu = procfs::cpu(pid)?.saturating_sub(before);
        if let Some(writer) = writer {
            writer.join().map_err(|_| anyhow::anyhow!("the writer has panicked"))??;
        }
        into.each_second.extend(each_second);
        into.qps.push(figures.qps);
        into.cpu_us.push(cpu.as_secs_f64() * 1e6 / f64::from(figures.queries.max(1)));
        into.lookups = lookups(target)?;
        into.rss_kib = into.rss_kib.max(procfs::rss_kib(pid)?);
        Ok(())
    })
}

/// Queries that the proxy has looked up, and hits, since its start.
fn lookups(target: &Target) -> anyhow::Result<[u64; 2]> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = (Ipv4Addr::LOCALHOST, target.admin().context("no admin port")?).into();
    runtime.block_on(async {
        let mut admin = Client::connect(&Options::tcp(address, "admin", "admin")).await?;
        let mut values = [0; 2];
        for (value, name) in values.iter_mut().zip(["count_GET", "count_GET_OK"]) {
            let sql = format!(
                "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Query_Cache_{name}'"
            );
            *value = admin.query(&sql).await?.first().context("no such counter")?.parse()?;
        }
        Ok(values)
    })
}

/// Processor time of a hit, and of the same bytes from a server that does not look, in
/// microseconds.
fn hits(sandbox: &Sandbox, target: &Target, seconds: u32) -> anyhow::Result<[f64; 2]> {
    let sql = format!("SELECT c FROM {SCHEMA}.sbtest1 WHERE id = 1");
    let greeting = greeting(target.address())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let reply = runtime.block_on(reply(target.address(), &sql))?;
    let echo = Echo::start(sandbox, &greeting, &reply)?;
    let cost = |address, pid| runtime.block_on(cost_of_hits(address, pid, &sql, seconds));
    Ok([cost(target.address(), target.pid())?, cost(echo.address, echo.process.pid())?])
}

/// The first packet of a server.
fn greeting(address: SocketAddr) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    let mut packet = vec![0; 4];
    stream.read_exact(&mut packet)?;
    let len = usize::from(packet[0]) + (usize::from(packet[1]) << 8);
    packet.resize(4 + len, 0);
    stream.read_exact(&mut packet[4..])?;
    Ok(packet)
}

/// The bytes of the reply to a statement, as they come through a relay between client and server.
async fn reply(address: SocketAddr, sql: &str) -> anyhow::Result<Vec<u8>> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let relay = listener.local_addr()?;
    let relayed = std::thread::spawn(move || relay_once(&listener, address));
    let mut client = Client::connect(&Options::tcp(relay, USER, PASSWORD)).await?;
    client.query(sql).await?;
    client.query(sql).await?;
    drop(client);
    let messages = relayed.join().map_err(|_| anyhow::anyhow!("the relay has panicked"))??;
    messages.into_iter().next_back().context("no reply")
}

/// Relays one connection, whose sides speak in turn, and returns what the server said each time.
fn relay_once(listener: &std::net::TcpListener, address: SocketAddr) -> anyhow::Result<Vec<Vec<u8>>> {
    let (mut client, _) = listener.accept()?;
    let mut server = TcpStream::connect(address)?;
    server.set_read_timeout(Some(WAIT_MAX))?;
    client.set_read_timeout(Some(WAIT_MAX))?;
    let (mut said, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let len = server.read(&mut buffer)?;
        client.write_all(&buffer[..len])?;
        said.push(buffer[..len].to_vec());
        match client.read(&mut buffer)? {
            // It says goodbye, or is gone.
            0 => return Ok(said),
            len if buffer[..len].ends_with(&[1, 0, 0, 0, 1]) => return Ok(said),
            len => server.write_all(&buffer[..len])?,
        }
    }
}

/// The server of equal bytes: this program in a process of its own.
struct Echo {
    process: Process,
    address: SocketAddr,
}

impl Echo {
    fn start(sandbox: &Sandbox, greeting: &[u8], reply: &[u8]) -> anyhow::Result<Self> {
        let file = |name| sandbox.path().join(name);
        fs::write(file("greeting"), greeting)?;
        fs::write(file("reply"), reply)?;
        let port = free_port()?;
        let mut command = sandbox.command(&std::env::current_exe()?)?;
        command.arg(format!("--echo={port}")).arg(file("greeting")).arg(file("reply"));
        let process = sandbox.start(command)?;
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let deadline = Instant::now() + WAIT_MAX;
        while TcpStream::connect(address).is_err() {
            ensure!(Instant::now() < deadline, "the server of equal bytes does not listen");
            std::thread::yield_now();
        }
        Ok(Self { process, address })
    }
}

/// Processor time of a server per query, in microseconds.
async fn cost_of_hits(address: SocketAddr, pid: u32, sql: &str, seconds: u32) -> anyhow::Result<f64> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(Client::connect(&Options::tcp(address, USER, PASSWORD)).await?);
    }
    let (before, end) = (procfs::cpu(pid)?, Instant::now() + Duration::from_secs(seconds.into()));
    let mut running = JoinSet::new();
    for mut client in clients {
        let sql = sql.to_owned();
        running.spawn(async move {
            let mut queries = 0_u32;
            while Instant::now() < end {
                client.query(&sql).await?;
                queries += 1;
            }
            anyhow::Ok(queries)
        });
    }
    let queries = running.join_all().await.into_iter().sum::<anyhow::Result<u32>>()?;
    Ok((procfs::cpu(pid)?.saturating_sub(before)).as_secs_f64() * 1e6 / f64::from(queries.max(1)))
}

fn table(samples: &[(Way, Samples)], [hit, echo]: [f64; 2]) -> String {
    let qps = |way: Way| samples.iter().find(|(one, _)| *one == way).map_or(0.0, |(_, one)| median(&one.qps));
    let mut text = format!(
        "{:<24}{:>10}{:>7}{:>8}{:>14}{:>15}{:>10}\n",
        "", "q/s", "x", "hits %", "worst second", "CPU us/query", "RSS MiB"
    );
    for (way, samples) in samples {
        let worst =
            samples.each_second.iter().copied().fold(f64::INFINITY, f64::min) / median(&samples.each_second);
        let _ = writeln!(
            text,
            "{:<24}{:>10.0}{:>7.2}{:>8.1}{:>14.2}{:>15.2}{:>10}",
            way.name(),
            qps(*way),
            qps(*way) / qps(way.base()),
            percent(samples.lookups),
            worst,
            median(&samples.cpu_us),
            samples.rss_kib / 1024,
        );
    }
    let _ = writeln!(
        text,
        "\na hit: {hit:.2} us of the proxy's CPU, {:.2} x the same bytes without a look ({echo:.2} us)",
        hit / echo
    );
    text
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn percent([lookups, hits]: [u64; 2]) -> f64 {
    100.0 * hits as f64 / lookups.max(1) as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
