//! Tables split over four servers: a routed point select beside one without shards, a merged query
//! beside the slowest shard alone, and the memory of a long merge.

mod long;
mod shop;
mod together;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use testkit::client::{Client, Options};
use testkit::load::{Histogram, Random};
use testkit::mariadb::{PASSWORD, USER};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::load::turns;
use crate::procfs;
use crate::progress::Progress;
use crate::results::median;
use crate::sysbench::SCHEMA;
use crate::target::Target;

pub(crate) use shop::{ROWS, SHARDS, Shop};

/// Clients of the point selects.
const CLIENTS: u32 = 16;

/// The query that needs all shards.
const NEWEST: &str = "SELECT id, k FROM sbtest1 ORDER BY k LIMIT 10";

/// Statements of some clients for a while.
#[derive(Debug, Default)]
struct Run {
    times: Histogram,
    qps: f64,
    cpu_us: f64,
}

/// The runs of a way.
#[derive(Debug, Default)]
struct Runs(Vec<Run>);

/// Measures, and prints tables.
pub(crate) fn measure(shop: &Shop, (seconds, rounds): (u32, u32), merged_rows: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ways = [
        ("floor", shop.floor()?),
        ("without shards", shop.whole()?),
        ("routed, all at one server", shop.sharded_alone()?),
        ("routed, 4 servers", shop.sharded()?),
    ];
    let mut points: [Runs; 4] = Default::default();
    let mut progress = Progress::new("shards", (u32::try_from(ways.len())? + SHARDS + 2) * rounds + 1);
    let (mut merged, mut together) = (Runs::default(), Runs::default());
    let mut alone: Vec<Runs> = (0..SHARDS).map(|_| Runs::default()).collect();
    let sharded = &ways[3].1;
    let proxies = shop.alone()?;
    for round in 1..=rounds {
        for way in turns(&[0, 1, 2, 3], round)? {
            let (name, target) = &ways[*way];
            progress.next(&format!("round {round} of {rounds}, {name}"));
            points[*way].0.push(run(&runtime, target, seconds, CLIENTS, point)?);
        }
        progress.next(&format!("round {round} of {rounds}, merged"));
        merged.0.push(run(&runtime, sharded, seconds, 1, newest)?);
        for (shard, (proxy, into)) in proxies.iter().zip(&mut alone).enumerate() {
            progress.next(&format!("round {round} of {rounds}, shard {shard} alone"));
            into.0.push(run(&runtime, proxy, seconds, 1, newest)?);
        }
        progress.next(&format!("round {round} of {rounds}, all shards without a proxy"));
        together.0.push(together::run(&runtime, &shop.addresses(), seconds)?);
    }
    progress.next("a long merge");
    let long = long::measure(shop, sharded)?;
    drop(progress);
    print!(
        "{}{}{}",
        point_table(&ways, &points),
        newest_table(&merged, &together, &alone),
        long.table(merged_rows)
    );
    Ok(())
}

fn point(random: &mut Random) -> String {
    format!("SELECT c FROM sbtest1 WHERE id = {}", 1 + random.below(ROWS.into()))
}

fn newest(_: &mut Random) -> String {
    NEWEST.to_owned()
}

/// Has clients execute statements for some seconds, and looks at the time of the proxy's process.
fn run(
    runtime: &Runtime,
    target: &Target,
    seconds: u32,
    clients: u32,
    statement: fn(&mut Random) -> String,
) -> anyhow::Result<Run> {
    let cpu = || procfs::cpu(target.pid());
    runtime.block_on(async {
        let options = Options::tcp(target.address(), USER, PASSWORD).schema(SCHEMA);
        let mut logged_in = Vec::new();
        for _ in 0..clients {
            let mut client = Client::connect(&options).await.context("cannot log in")?;
            // The session has its connections from here on.
            client.query(&statement(&mut Random::new(0))).await?;
            logged_in.push(client);
        }
        let (before, begun) = (cpu()?, Instant::now());
        let end = begun + Duration::from_secs(seconds.into());
        let times = Arc::new(Mutex::new(Histogram::default()));
        let mut running: JoinSet<anyhow::Result<()>> = JoinSet::new();
        for (seed, mut client) in (0..).zip(logged_in) {
            let times = Arc::clone(&times);
            running.spawn(async move {
                let mut random = Random::new(seed);
                while Instant::now() < end {
                    let (sql, started) = (statement(&mut random), Instant::now());
                    client.query(&sql).await?;
                    times.lock().unwrap_or_else(PoisonError::into_inner).record(started.elapsed());
                }
                Ok(client.quit().await?)
            });
        }
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        let (time, used) = (begun.elapsed(), cpu()?.saturating_sub(before));
        let times = times.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let count = number(times.count()).max(1.0);
        Ok(Run { qps: count / time.as_secs_f64(), cpu_us: used.as_secs_f64() * 1e6 / count, times })
    })
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
const fn number(count: u64) -> f64 {
    count as f64
}

impl Runs {
    /// The median of a figure.
    fn median(&self, figure: impl Fn(&Run) -> f64) -> f64 {
        median(self.0.iter().map(figure))
    }

    fn percentile(&self, percent: f64) -> f64 {
        self.median(|run| run.times.percentile(percent).as_secs_f64() * 1000.0)
    }
}

fn point_table(ways: &[(&str, Target)], points: &[Runs]) -> String {
    let head = format!("point select, {CLIENTS} clients");
    let mut text =
        format!("{head:<28}{:>10}{:>10}{:>10}{:>16}{:>7}\n", "q/s", "p50 ms", "p95 ms", "CPU us/query", "x");
    let whole = points.get(1).map_or(f64::NAN, |runs| runs.median(|run| run.cpu_us));
    for ((name, _), runs) in ways.iter().zip(points) {
        let cpu = runs.median(|run| run.cpu_us);
        let _ = writeln!(
            text,
            "{name:<28}{:>10.0}{:>10.3}{:>10.3}{cpu:>16.2}{:>7.2}",
            runs.median(|run| run.qps),
            runs.percentile(50.0),
            runs.percentile(95.0),
            cpu / whole
        );
    }
    text
}

fn newest_table(merged: &Runs, together: &Runs, alone: &[Runs]) -> String {
    let slowest = alone.iter().map(|runs| runs.percentile(50.0)).fold(0.0, f64::max);
    let mut text = format!("\n{:<28}{:>10}{:>7}\n", "ORDER BY k LIMIT 10", "p50 ms", "x");
    for (name, time) in [
        ("the slowest shard alone", slowest),
        ("all at once, without proxy", together.percentile(50.0)),
        (&format!("merged, {SHARDS} shards"), merged.percentile(50.0)),
    ] {
        let _ = writeln!(text, "{name:<28}{time:>10.3}{:>7.2}", time / slowest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_beside_those_without_shards() {
        let run = |millis: u64, cpu_us| {
            let mut times = Histogram::default();
            times.record(Duration::from_millis(millis));
            Run { times, qps: 1000.0, cpu_us }
        };
        let runs = |millis| Runs(vec![run(millis, 30.0), run(9, 33.0), run(millis, 50.0)]);
        assert_eq!(runs(2).median(|run| run.cpu_us).to_bits(), 33.0_f64.to_bits());
        let table = newest_table(&runs(3), &runs(2), &[runs(1), runs(2)]);
        let merged = table.lines().last().unwrap();
        assert!(merged.starts_with("merged, 4 shards") && merged.ends_with("1.50"), "{table}");
    }
}
