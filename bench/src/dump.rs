//! A large dump over the compressed protocol: from the server itself, and through Pointsman.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use testkit::mariadb::{PASSWORD, USER};

use crate::procfs;
use crate::progress::Progress;
use crate::target::{Kind, Stage, Target};

/// The schema that is dumped.
const SCHEMA: &str = "dumped";
/// Rows of one MiB of the dump, more or less: a row has about 1,000 bytes of text.
const ROWS_PER_MIB: u32 = 1040;
/// Longest time of one dump.
const DUMP_TIME_MAX: Duration = Duration::from_mins(10);

/// One dump.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dump {
    /// Through which proxy; `None`: from the server itself.
    pub(crate) through: Option<Kind>,
    /// MiB of the data, about.
    pub(crate) mib: u32,
    /// How long it took.
    pub(crate) time: Duration,
    /// Processor time of the proxy.
    pub(crate) cpu: Duration,
}

/// Dumps about `mib` MiB in `rounds`, from the server and through Pointsman in turn.
pub(crate) fn measure(stage: &Stage, mib: u32, rounds: u32) -> anyhow::Result<Vec<Dump>> {
    if mib == 0 {
        return Ok(Vec::new());
    }
    let mut progress = Progress::new("compressed dump", rounds * 2 + 1);
    progress.next(&format!("making {mib} MiB"));
    stage.database.sql(&data(mib))?;
    let (target, _) = Target::start(stage, Kind::Pointsman)?;
    let mut dumps = Vec::new();
    for round in 0..rounds {
        let direct = (stage.database.port(), None);
        let through = (target.port, Some(&target));
        // Both find the data in the system's cache: it is there since it was made. They take turns
        // anyway.
        let ways = if round % 2 == 0 { [direct, through] } else { [through, direct] };
        for (port, target) in ways {
            progress.next(target.map_or("from MariaDB itself", |_| "through Pointsman"));
            dumps.push(dump(stage, port, target, mib)?);
        }
    }
    drop(target);
    stage.database.sql(&format!("DROP DATABASE {SCHEMA}"))?;
    Ok(dumps)
}

/// Statements that make the data: text like that of business, which compresses to about a fifth.
fn data(mib: u32) -> String {
    let rows = u64::from(mib) * u64::from(ROWS_PER_MIB);
    format!(
        "CREATE DATABASE {SCHEMA};
         CREATE TABLE {SCHEMA}.orders (id INT PRIMARY KEY, customer INT, note TEXT) ENGINE = MyISAM;
         INSERT INTO {SCHEMA}.orders SELECT seq, seq MOD 10007, CONCAT(SHA2(seq, 256), REPEAT(CONCAT(
             ' order ', seq, ' of customer ', seq MOD 10007, ' is paid and on its way since ', CRC32(seq), '.'), 15))
         FROM {SCHEMA}.seq_1_to_{rows}"
    )
}

fn dump(stage: &Stage, port: u16, target: Option<&Target>, mib: u32) -> anyhow::Result<Dump> {
    let mut command = stage.sandbox.command(&stage.programs.mariadb_dump)?;
    command
        .args(["--no-defaults", "--compress", "--single-transaction", "--quick", "--host=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg(format!("--user={USER}"))
        .arg(format!("--password={PASSWORD}"))
        .arg(SCHEMA)
        .stdout(Stdio::null());
    let cpu = || target.map_or(Ok(Duration::ZERO), |target| procfs::cpu(target.pid()));
    let (before, started) = (cpu()?, Instant::now());
    let mut process = stage.sandbox.start(command)?;
    let status = process.wait(DUMP_TIME_MAX)?.context("the dump does not end")?;
    let time = started.elapsed();
    if !status.success() {
        bail!("mariadb-dump failed: {status}");
    }
    Ok(Dump { through: target.map(|target| target.kind), mib, time, cpu: cpu()?.saturating_sub(before) })
}
