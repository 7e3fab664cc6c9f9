//! The benchmark: the layer-4 floor, HAProxy and Pointsman in turn, before the same MariaDB.
//!
//! What it measures and how to read it is in `bench/README.md`. Its end says whether it could
//! measure, never whether the figures are good: they depend on the machine, and ratios within one
//! run are what counts.

mod admin;
mod beside;
mod cache;
mod causal;
mod chart;
mod cores;
mod dump;
mod echo;
mod exact;
mod hits;
mod icount;
mod idle;
mod limits;
mod load;
mod machine;
mod plan;
mod procfs;
mod programs;
mod progress;
mod record;
mod results;
mod rules;
mod shards;
mod sharing;
mod startup;
mod sysbench;
mod table;
mod target;
mod tls;
mod written;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Parser;
use testkit::guard::Sandbox;
use testkit::mariadb::{Server, Setup};

use crate::load::Plan;
use crate::programs::Programs;
use crate::results::Results;
use crate::sysbench::{SCHEMA, Sysbench};
use crate::target::{BACKENDS_MAX, Kind, Stage, Target};

/// Where runs are kept.
const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/runs");
/// Seconds of one run, number of rounds, and MiB of the dump of a full benchmark: 21 runs of each
/// target per round, 15 minutes in all.
const FULL: (u32, u32, u32) = (3, 3, 1000);
/// The same of a quick benchmark.
const QUICK: (u32, u32, u32) = (1, 1, 50);

/// The same of the query cache: three minutes with its warm-up.
const CACHE: (u32, u32, u32) = (8, 3, 0);
/// The same of reads that see writes: four minutes.
const CAUSAL: (u32, u32, u32) = (5, 11, 0);
/// Where figures of the query cache are kept.
const CACHE_RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/bench-cache");

/// Compares the layer-4 floor, `HAProxy` and Pointsman before one private `MariaDB`.
#[derive(Debug, Parser)]
#[command(name = "bench")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
struct Options {
    /// About one minute: fewer cells, one round of 1 s; the run is only kept with --out
    #[arg(long)]
    quick: bool,
    /// Only the cells whose name contains this, as in "point select, text, 16 clients"; the run is
    /// only kept with --out
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Length of one run, in seconds [default: 3, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: Option<u32>,
    /// How often everything is repeated [default: 3, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Threads of each proxy
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Idle clients without a backend; 0 leaves this part out
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(0..=9000))]
    idle_clients: u32,
    /// Size of a dump over the compressed protocol, in MiB; 0 leaves this part out [default: 1000,
    /// with --quick 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    dump_mib: Option<u32>,
    /// Leave out the traffic while the admin port applies large configurations
    #[arg(long)]
    no_admin: bool,
    /// Leave out the traffic with rules
    #[arg(long)]
    no_rules: bool,
    /// Leave out the traffic of clients that share connections
    #[arg(long)]
    no_sharing: bool,
    /// How often the start of each proxy is timed; 0 leaves this part out
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1000))]
    starts: u32,
    /// The program to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    pointsman: Option<PathBuf>,
    /// Folder in which a folder for this run is made [default: bench/runs]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only the query cache: one table, with and without it, and its exact modes
    #[arg(long)]
    cache: bool,
    /// Only the exact modes of the query cache
    #[arg(long, conflicts_with = "cache")]
    exact: bool,
    /// Only point selects, through the program and through this one in turn
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cache", "exact"])]
    beside: Option<PathBuf>,
    /// Only instructions per statement, beside those in bench/icount.txt
    #[arg(long, conflicts_with_all = ["cache", "exact", "beside"])]
    icount: bool,
    /// Keep them there
    #[arg(long, requires = "icount")]
    keep: bool,
    /// Rows of that table
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    rows: u32,
    /// Only reads that see writes: at a replica that has caught up
    #[arg(long, conflicts_with_all = ["cache", "shards"])]
    causal: bool,
    /// Only shards: tables split over four servers
    #[arg(long, conflicts_with = "cache")]
    shards: bool,
    /// Rows of each shard in a long merge
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    merged_rows: u32,
    /// Be the server of equal bytes on this port, with files of its greeting and its reply
    #[arg(long, value_name = "PORT", hide = true)]
    echo: Option<u16>,
    /// Files for --echo
    #[arg(hide = true)]
    files: Vec<PathBuf>,
    /// Keep nothing
    #[arg(long, conflicts_with = "out")]
    no_record: bool,
}

impl Options {
    /// Seconds of one run, and rounds; those of a full benchmark unless others are wanted.
    fn length(&self, (seconds, rounds, _): (u32, u32, u32)) -> (u32, u32) {
        let (seconds, rounds, _) = if self.quick { QUICK } else { (seconds, rounds, 0) };
        (self.seconds.unwrap_or(seconds), self.rounds.unwrap_or(rounds))
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    if let (Some(port), [greeting, reply]) = (options.echo, &options.files[..]) {
        return echo::serve(port, greeting, reply);
    }
    if options.cache {
        measure_cache(options)?;
        return measure_exact(options);
    }
    if options.exact {
        return measure_exact(options);
    }
    if let Some(other) = &options.beside {
        let programs = Programs::find(options.pointsman.as_deref())?;
        return beside::measure(&programs, other, options.threads, options.length(FULL));
    }
    if options.icount {
        return icount::measure(&Programs::find(options.pointsman.as_deref())?, options.keep);
    }
    if options.shards {
        return measure_shards(options);
    }
    if options.causal {
        return measure_causal(options);
    }
    let programs = Programs::find(options.pointsman.as_deref())?;
    // Before anything changes files: what is measured is what was built.
    let facts = machine::facts(&programs);
    let results = measure(options, &programs)?;
    print!("{facts}\n{}", table::table(&results));
    let out = match &options.out {
        Some(out) => Some(out.clone()),
        None if options.quick || options.only.is_some() || options.no_record => None,
        None => Some(PathBuf::from(RUNS)),
    };
    if let Some(out) = out {
        let folder = record::write(&out, &results, &facts)?;
        println!("\nkept in {}", folder.display());
    }
    Ok(())
}

/// The query cache only.
fn measure_cache(options: &Options) -> anyhow::Result<()> {
    let programs = Programs::find(options.pointsman.as_deref())?;
    let (sandbox, database, sysbench) = with_tables(&programs, Some(options.rows))?;
    let stage =
        Stage { programs: &programs, sandbox: &sandbox, database: &database, threads: options.threads };
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(CACHE_RUN));
    cache::measure(&stage, &sysbench, options.length(CACHE), &out)
}

/// The exact modes of the query cache only.
fn measure_exact(options: &Options) -> anyhow::Result<()> {
    let programs = Programs::find(options.pointsman.as_deref())?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(CACHE_RUN));
    exact::measure(&programs, options.threads, options.length(FULL), &out)
}

/// Reads that see writes only.
fn measure_causal(options: &Options) -> anyhow::Result<()> {
    let programs = Programs::find(options.pointsman.as_deref())?;
    let sandbox = Sandbox::new()?;
    tls::prepare(&sandbox)?;
    let (seconds, rounds, _) = if options.quick { QUICK } else { CAUSAL };
    let length = (options.seconds.unwrap_or(seconds), options.rounds.unwrap_or(rounds));
    causal::measure(&programs, &sandbox, options.threads, length)
}

/// Shards only.
fn measure_shards(options: &Options) -> anyhow::Result<()> {
    let programs = Programs::find(options.pointsman.as_deref())?;
    let sandbox = Sandbox::new()?;
    let shop = shards::Shop::start(&programs, &sandbox, options.threads, options.merged_rows)?;
    shards::measure(&shop, options.length(FULL), options.merged_rows)
}

fn measure(options: &Options, programs: &Programs) -> anyhow::Result<Results> {
    let (mut cells, (seconds, rounds, dump_mib)) =
        if options.quick { (plan::quick(), QUICK) } else { (plan::full(), FULL) };
    if let Some(part) = &options.only {
        cells.retain(|cell| cell.to_string().contains(part));
        ensure!(!cells.is_empty(), "no cell has `{part}` in its name");
    }
    let plan =
        Plan { cells, seconds: options.seconds.unwrap_or(seconds), rounds: options.rounds.unwrap_or(rounds) };
    let idle_clients = options.idle_clients.min(idle::raise_file_limit());
    if idle_clients < options.idle_clients {
        eprintln!("only {idle_clients} idle clients: the system does not allow more open files");
    }
    let (sandbox, database, sysbench) = with_tables(programs, None)?;
    let stage = Stage { programs, sandbox: &sandbox, database: &database, threads: options.threads };
    let starts = startup::measure(&stage, options.starts)?;
    let idles = idle::measure(&stage, idle_clients)?;
    let dumps = dump::measure(&stage, options.dump_mib.unwrap_or(dump_mib), plan.rounds)?;
    let busy = if options.no_admin {
        Vec::new()
    } else {
        admin::measure(&stage, &sysbench, plan.seconds, plan.rounds)?
    };
    let ruled = if options.no_rules {
        Vec::new()
    } else {
        rules::measure(&stage, &sysbench, plan.seconds, plan.rounds * 2)?
    };
    let shared = if options.no_sharing {
        Vec::new()
    } else {
        let mysql = mysql(&sandbox, &sysbench)?;
        let at_mysql = mysql.as_ref().map(|database| Stage { database, ..stage });
        sharing::measure(&stage, at_mysql.as_ref(), &sysbench, plan.seconds, plan.rounds)?
    };
    let targets = Kind::ALL.map(|kind| Target::start(&stage, kind).map(|(target, _)| target)).into_iter();
    let targets = targets.collect::<anyhow::Result<Vec<_>>>()?;
    let samples = load::measure(&sysbench, &targets, &plan)?;
    Ok(Results { plan, threads: options.threads, samples, starts, idles, dumps, busy, ruled, shared })
}

/// A server with sysbench's tables, or with one table of so many rows, and what loads it.
fn with_tables(programs: &Programs, one_table: Option<u32>) -> anyhow::Result<(Sandbox, Server, Sysbench)> {
    let sandbox = Sandbox::new()?;
    tls::prepare(&sandbox)?;
    let database = database(programs, &sandbox)?;
    let mut sysbench = Sysbench::new(programs.sysbench.clone(), sandbox.clone());
    if let Some(rows) = one_table {
        sysbench = sysbench.with_one_table(rows);
    }
    database.sql(&format!("CREATE DATABASE {SCHEMA}"))?;
    sysbench.prepare(database.port())?;
    Ok((sandbox, database, sysbench))
}

/// A server with room for the whole data set in memory, so that it takes as little of the time as
/// it can.
fn database(programs: &Programs, sandbox: &Sandbox) -> anyhow::Result<Server> {
    let log = "--innodb-log-file-size=96M".to_owned();
    Setup::new("db").args(roomy()).args([log]).start(&programs.mariadb, sandbox)
}

/// The same of MySQL with its tables, if it is on this machine.
fn mysql(sandbox: &Sandbox, sysbench: &Sysbench) -> anyhow::Result<Option<Server>> {
    let Some(binaries) = testkit::mysql::find()? else { return Ok(None) };
    let database = Setup::new("mysql").args(roomy()).start(&binaries, sandbox)?;
    database.sql(&format!("CREATE DATABASE {SCHEMA}"))?;
    sysbench.prepare(database.port())?;
    Ok(Some(database))
}

/// Options for as many connections and as much data as there are.
fn roomy() -> [String; 3] {
    [
        "--innodb-buffer-pool-size=256M".to_owned(),
        format!("--max-connections={BACKENDS_MAX}"),
        // A thousand come at once.
        format!("--back-log={BACKENDS_MAX}"),
    ]
}
