//! The query cache: point selects on a large table with and without it, and what a
//! [hit](crate::hits) costs.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Context as _;
use testkit::client::{Client, Options};

use crate::hits::Costs;
use crate::load::turns;
use crate::plan::Cell;
use crate::progress::Progress;
use crate::results::median;
use crate::sysbench::Sysbench;
use crate::target::{Kind, Stage, Target};
use crate::written::read;
use crate::{chart, procfs};

/// Memory of the cache.
const VARIABLES: &str = "query_cache_size_MB = 512\n";
/// Clients that read.
const CLIENTS: u32 = 16;
/// Writes to the table in a second, where it is written to.
const WRITES: u32 = 1000;
/// Queries in a second that a warm-up is taken to make: it lasts accordingly.
const WARM_UP_RATE: u32 = 5000;

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
    let hits = Costs::measure(stage.sandbox, warm, seconds)?;
    drop(progress);
    let table = table(&samples) + &hits.table();
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
    let writes = way.is_written().then_some(WRITES);
    let run = read(sysbench, target, Cell::judged(CLIENTS), seconds, writes)?;
    into.each_second.extend(run.each_second);
    into.qps.push(run.qps);
    into.cpu_us.push(run.cpu_us);
    into.lookups = lookups(target)?;
    into.rss_kib = into.rss_kib.max(procfs::rss_kib(target.pid())?);
    Ok(())
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

fn table(samples: &[(Way, Samples)]) -> String {
    let qps = |way: Way| {
        samples.iter().find(|(one, _)| *one == way).map_or(0.0, |(_, one)| median(one.qps.iter().copied()))
    };
    let mut text = format!(
        "{:<24}{:>10}{:>7}{:>8}{:>14}{:>15}{:>10}\n",
        "", "q/s", "x", "hits %", "worst second", "CPU us/query", "RSS MiB"
    );
    for (way, samples) in samples {
        let worst = samples.each_second.iter().copied().fold(f64::INFINITY, f64::min)
            / median(samples.each_second.iter().copied());
        let _ = writeln!(
            text,
            "{:<24}{:>10.0}{:>7.2}{:>8.1}{:>14.2}{:>15.2}{:>10}",
            way.name(),
            qps(*way),
            qps(*way) / qps(way.base()),
            percent(samples.lookups),
            worst,
            median(samples.cpu_us.iter().copied()),
            samples.rss_kib / 1024,
        );
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn percent([lookups, hits]: [u64; 2]) -> f64 {
    100.0 * hits as f64 / lookups.max(1) as f64
}
