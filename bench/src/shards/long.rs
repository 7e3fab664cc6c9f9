//! A merge of many rows: how long it takes, when the first row is there, and the memory it takes.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use testkit::mariadb::{PASSWORD, USER};

use crate::procfs;
use crate::sysbench::SCHEMA;
use crate::target::Target;

use super::{SHARDS, Shop};

/// Rows between two looks at the memory of the proxy.
const LOOK_ROWS: u64 = 1_000;

/// Longest time for the client to end when its output is over.
const EXIT_TIME_MAX: Duration = Duration::from_secs(10);

/// What was seen.
#[derive(Debug)]
pub(super) struct Long {
    rows: u64,
    time: Duration,
    first_row: Duration,
    /// Resident memory of the proxy above that before, at most.
    more_kib: u32,
}

/// Has a client read all rows of a table in the order of their keys.
pub(super) fn measure(shop: &Shop<'_>, target: &Target) -> anyhow::Result<Long> {
    let before = procfs::rss_kib(target.pid())?;
    let mut command = shop.sandbox().command(&shop.programs().mariadb.client)?;
    command
        .args(["--no-defaults", "--quick", "--unbuffered", "--batch", "--skip-column-names"])
        .args(["--host=127.0.0.1", &format!("--port={}", target.port)])
        .args([&format!("--user={USER}"), &format!("--password={PASSWORD}"), SCHEMA])
        .arg("--execute=SELECT id, k, c FROM big ORDER BY id")
        .stdout(Stdio::piped());
    let begun = Instant::now();
    let mut client = shop.sandbox().start(command)?;
    let mut output = BufReader::new(client.child().stdout.take().context("the client has no output")?);
    let mut long = Long { rows: 0, time: Duration::ZERO, first_row: Duration::ZERO, more_kib: 0 };
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        if long.rows == 0 {
            long.first_row = begun.elapsed();
        }
        if long.rows.is_multiple_of(LOOK_ROWS) {
            long.more_kib = long.more_kib.max(procfs::rss_kib(target.pid())?.saturating_sub(before));
        }
        long.rows += 1;
        line.clear();
    }
    long.time = begun.elapsed();
    match client.wait(EXIT_TIME_MAX)? {
        Some(status) if status.success() => Ok(long),
        status => bail!("the client of the long merge has failed: {status:?}"),
    }
}

impl Long {
    /// The figures, and how many rows of each shard there should be.
    pub(super) fn table(&self, of_each: u32) -> String {
        let head = format!("merge of {SHARDS} x {of_each} rows");
        let seconds = self.time.as_secs_f64();
        format!(
            "\n{head:<28}{:>10}{:>10}{:>10}{:>16}\n{:<28}{seconds:>10.2}{:>10.1}{:>10.0}{:>16.1}\n",
            "seconds",
            "first ms",
            "rows/s",
            "MiB more",
            format!("{} rows", self.rows),
            self.first_row.as_secs_f64() * 1000.0,
            super::number(self.rows) / seconds.max(f64::MIN_POSITIVE),
            f64::from(self.more_kib) / 1024.0
        )
    }
}
