//! Runs sysbench and reads what it prints.
//!
//! sysbench computes one percentile per run. All of them come from its histogram instead, by the
//! same rule.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use testkit::guard::Sandbox;
use testkit::mariadb::{PASSWORD, USER};

use crate::plan::Cell;
use crate::tls;

/// The schema that sysbench works in.
pub(crate) const SCHEMA: &str = "sbtest";
/// Number of its tables, and rows in each of them.
const TABLES: (u32, u32) = (10, 10_000);
/// Seconds after the end of a run at which sysbench gives up waiting for answers.
const OVERTIME_SECONDS: u32 = 10;
/// Longest time for the process to end when it has closed its output.
const EXIT_TIME_MAX: Duration = Duration::from_secs(5);

/// What sysbench says about one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    /// Statements that were answered.
    pub(crate) queries: u32,
    /// The same per second.
    pub(crate) qps: f64,
    /// Time of an event that half of them stayed below, in milliseconds. An event of point select
    /// is one statement, one of the other workloads is a transaction.
    pub(crate) p50_ms: f64,
    /// The same for 95 % of the events.
    pub(crate) p95_ms: f64,
    /// The same for 99 % of the events.
    pub(crate) p99_ms: f64,
    /// Transactions repeated after an error that this is the answer to, such as a deadlock.
    pub(crate) errors: u32,
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// After so many seconds.
    Seconds(u32),
    /// After so many events.
    Events(u32),
}

/// sysbench, and where it runs.
#[derive(Debug)]
pub(crate) struct Sysbench {
    program: PathBuf,
    sandbox: Sandbox,
    tables: (u32, u32),
}

impl Sysbench {
    /// Will run `program` as part of `sandbox`.
    pub(crate) const fn new(program: PathBuf, sandbox: Sandbox) -> Self {
        Self { program, sandbox, tables: TABLES }
    }

    /// The same with one table of so many rows.
    pub(crate) fn with_one_table(self, rows: u32) -> Self {
        Self { tables: (1, rows), ..self }
    }

    /// Rows of all tables.
    pub(crate) const fn rows(&self) -> u32 {
        self.tables.0 * self.tables.1
    }

    /// Creates and fills the tables on the server behind this port; the schema must exist.
    pub(crate) fn prepare(&self, port: u16) -> anyhow::Result<()> {
        self.start(port, &["oltp_common", "--threads=2", "prepare"], || Ok(())).map(drop)
    }

    /// Runs one cell for some seconds against the server or proxy behind `port`, and calls
    /// `started` when all clients are logged in.
    pub(crate) fn run(
        &self,
        port: u16,
        cell: Cell,
        seconds: u32,
        started: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Figures> {
        self.run_at(port, cell, seconds, None, started)
    }

    /// The same with at most `rate` events per second; the time of an event counts from when it was
    /// due.
    pub(crate) fn run_at(
        &self,
        port: u16,
        cell: Cell,
        seconds: u32,
        rate: Option<u32>,
        started: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Figures> {
        self.run_with(port, cell, Length::Seconds(seconds), rate, started).map(|(figures, _)| figures)
    }

    /// Runs so many events of one cell, as fast as it goes. Returns how many statements that were.
    pub(crate) fn run_events(&self, port: u16, cell: Cell, events: u32) -> anyhow::Result<u32> {
        let (figures, _) = self.run_with(port, cell, Length::Events(events), None, || Ok(()))?;
        Ok(figures.queries)
    }

    /// The same as fast as it goes, with the number of statements in each second.
    pub(crate) fn run_watched(
        &self,
        port: u16,
        cell: Cell,
        seconds: u32,
        started: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<(Figures, Vec<f64>)> {
        self.run_with(port, cell, Length::Seconds(seconds), None, started)
    }

    fn run_with(
        &self,
        port: u16,
        cell: Cell,
        length: Length,
        rate: Option<u32>,
        started: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<(Figures, Vec<f64>)> {
        // 0: without a limit.
        let (seconds, events) = match length {
            Length::Seconds(seconds) => (seconds, 0),
            Length::Events(events) => (0, events),
        };
        let args = [
            cell.workload.script(),
            &format!("--threads={}", cell.clients),
            &format!("--time={seconds}"),
            &format!("--events={events}"),
            // 0: as fast as it goes.
            &format!("--rate={}", rate.unwrap_or(0)),
            &format!("--forced-shutdown={OVERTIME_SECONDS}"),
            if cell.prepared { "--db-ps-mode=auto" } else { "--db-ps-mode=disable" },
            if cell.tls { "--mysql-ssl=on" } else { "--mysql-ssl=off" },
            "--rand-type=uniform",
            "--histogram",
            "--report-interval=1",
            "run",
        ];
        let output = self.start(port, &args, started)?;
        let figures =
            parse(&output).with_context(|| format!("cannot understand sysbench's output:\n{output}"))?;
        Ok((figures, each_second(&output)))
    }

    /// Runs sysbench to its end and returns what it printed.
    fn start(
        &self,
        port: u16,
        args: &[&str],
        started: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<String> {
        let mut command = self.sandbox.command(&self.program)?;
        command
            .current_dir(tls::folder(&self.sandbox))
            .args(["--db-driver=mysql", "--mysql-host=127.0.0.1"])
            .arg(format!("--mysql-port={port}"))
            .arg(format!("--mysql-user={USER}"))
            .arg(format!("--mysql-password={PASSWORD}"))
            .arg(format!("--mysql-db={SCHEMA}"))
            .arg(format!("--tables={}", self.tables.0))
            .arg(format!("--table-size={}", self.tables.1))
            .args(args)
            .stdout(Stdio::piped());
        let mut process = self.sandbox.start(command)?;
        let stdout = process.child().stdout.take().context("sysbench has no output")?;
        let mut started = Some(started);
        let mut output = String::new();
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            if line == "Threads started!"
                && let Some(started) = started.take()
            {
                started()?;
            }
            output.push_str(&line);
            output.push('\n');
        }
        match process.wait(EXIT_TIME_MAX)? {
            Some(status) if status.success() => Ok(output),
            _ => bail!("sysbench failed:\n{}", complaint(&output)),
        }
    }
}

/// The first of the lines that say why a run failed: there may be one set per client.
fn complaint(output: &str) -> String {
    let fatal: Vec<&str> = output.lines().filter(|line| line.contains("FATAL")).take(4).collect();
    if fatal.is_empty() { output.to_owned() } else { fatal.join("\n") }
}

/// Reads the report at the end of a run.
fn parse(output: &str) -> Option<Figures> {
    let histogram = parse_histogram(output);
    let (queries, qps) = count_and_rate(output, "queries:")?;
    let (errors, _) = count_and_rate(output, "ignored errors:")?;
    Some(Figures {
        queries,
        qps,
        p50_ms: percentile(&histogram, 50)?,
        p95_ms: percentile(&histogram, 95)?,
        p99_ms: percentile(&histogram, 99)?,
        errors,
    })
}

/// The rates of lines like `[ 1s ] thds: 16 tps: 123.00 qps: 123.00 (r/w/o: ...) lat ...`.
fn each_second(output: &str) -> Vec<f64> {
    let lines = output.lines().filter(|line| line.starts_with("[ "));
    let rates = lines.filter_map(|line| line.split_once(" qps: ")?.1.split(' ').next()?.parse().ok());
    rates.collect()
}

/// The numbers of a line like `queries:      45344  (22464.50 per sec.)`.
fn count_and_rate(output: &str, name: &str) -> Option<(u32, f64)> {
    let rest = output.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
    let (count, rate) = rest.trim().split_once('(')?;
    Some((count.trim().parse().ok()?, rate.split(' ').next()?.parse().ok()?))
}

/// Milliseconds and number of events of every line like `  3.304 |****     15`.
fn parse_histogram(output: &str) -> Vec<(f64, u32)> {
    let lines = output.lines().filter_map(|line| line.split_once('|'));
    lines
        .filter_map(|(value, bar)| {
            Some((value.trim().parse().ok()?, bar.trim_start_matches('*').trim().parse().ok()?))
        })
        .collect()
}

/// The lowest value that `percent` of all events do not exceed: the rule of sysbench's own
/// percentile.
fn percentile(histogram: &[(f64, u32)], percent: u64) -> Option<f64> {
    let total: u64 = histogram.iter().map(|&(_, count)| u64::from(count)).sum();
    let wanted = (total * percent + 50) / 100;
    let mut seen = 0;
    histogram.iter().find_map(|&(value, count)| {
        seen += u64::from(count);
        (seen >= wanted).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT_SELECT: &str = include_str!("golden/point_select.txt");
    const READ_WRITE: &str = include_str!("golden/read_write.txt");

    /// The percentile that sysbench itself computed, in milliseconds with two decimals.
    fn own_p95(output: &str) -> f64 {
        output
            .lines()
            .find_map(|line| line.trim().strip_prefix("95th percentile:"))
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }

    #[test]
    fn a_run_without_errors_is_read() {
        let figures = parse(POINT_SELECT).unwrap();
        assert_eq!(
            figures,
            Figures { queries: 9998, qps: 9842.18, p50_ms: 0.047, p95_ms: 0.073, p99_ms: 1.824, errors: 0 }
        );
    }

    #[test]
    fn a_run_with_deadlocks_is_read() {
        let figures = parse(READ_WRITE).unwrap();
        assert_eq!(
            figures,
            Figures {
                queries: 11389,
                qps: 9616.53,
                p50_ms: 207.823,
                p95_ms: 612.211,
                p99_ms: 732.998,
                errors: 356
            }
        );
    }

    #[test]
    fn percentiles_are_the_same_as_sysbenchs_own() {
        for output in [POINT_SELECT, READ_WRITE] {
            let own = own_p95(output);
            let ours = parse(output).unwrap().p95_ms;
            assert!((own - ours).abs() <= 0.005, "{own} {ours}");
        }
    }

    #[test]
    fn output_that_was_cut_off_is_no_result() {
        let (without_report, _) = POINT_SELECT.split_once("SQL statistics").unwrap();
        assert_eq!(parse(without_report), None);
        assert_eq!(parse(&POINT_SELECT.replace('|', ":")), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn one_complaint_stands_for_those_of_all_clients() {
        let output = format!("sysbench 1.0.20\n{}", "FATAL: unable to connect\n".repeat(128));
        assert_eq!(complaint(&output).lines().count(), 4);
        assert_eq!(complaint("no script\n"), "no script\n");
    }
}
