//! Instructions of Pointsman per statement, as callgrind counts them: the same on a busy machine,
//! where times are not. System calls count as one instruction each.
//!
//! A figure may be above the one that is kept by [`MORE_MAX`]; a commit that makes it larger keeps
//! the new one, and says why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::plan::Cell;
use crate::programs::{Programs, installed};
use crate::progress::Progress;
use crate::sysbench::Sysbench;
use crate::target::{Kind, Stage, Target};
use crate::with_tables;

/// The figures that are kept.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/icount.txt");
/// How much above the kept one a figure may be, in percent.
const MORE_MAX: f64 = 1.0;
/// Statements before counting begins.
const WARM_UP: u32 = 500;
/// Statements of the two runs of a case. Their difference counts no login.
const RUNS: [u32; 2] = [1000, 9000];

/// The proxy is at rest if it takes at most so many instructions in such a time. At its start
/// another thread makes a key pair.
const REST: Duration = Duration::from_millis(300);
const REST_COUNT_MAX: f64 = 1e6;
/// Longest time until then.
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// How clients get to the server.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    clients: u32,
    /// Whether a connection is given back behind each statement.
    pooled: bool,
}

/// As text and prepared each.
const CASES: [Case; 3] = [
    Case { name: "one to one", clients: 1, pooled: false },
    Case { name: "pooled", clients: 1, pooled: true },
    Case { name: "16 on 1 connection", clients: 16, pooled: true },
];

/// Counts, and prints the figures beside those that are kept. With `keep` these are the new ones.
///
/// # Errors
/// If a figure is above the kept one by more than [`MORE_MAX`].
pub(crate) fn measure(programs: &Programs, keep: bool) -> anyhow::Result<()> {
    let (sandbox, database, sysbench) = with_tables(programs, None)?;
    let counts = sandbox.path().join("callgrind.out");
    let under = vec![
        installed("valgrind", "valgrind")?.display().to_string(),
        "--quiet".to_owned(),
        "--tool=callgrind".to_owned(),
        format!("--callgrind-out-file={}", counts.display()),
    ];
    let programs = Programs { under, ..programs.clone() };
    let stage = Stage { programs: &programs, sandbox: &sandbox, database: &database, threads: 1 };
    let mut progress = Progress::new("instructions", 2 * u32::try_from(CASES.len())?);
    let mut figures = Vec::new();
    for case in CASES {
        for prepared in [false, true] {
            let name = format!("{}, {}", if prepared { "prepared" } else { "text" }, case.name);
            progress.next(&name);
            figures.push((name, count(&stage, &sysbench, case, prepared, &counts)?));
        }
    }
    drop(progress);
    let kept = read(&fs::read_to_string(KEPT).unwrap_or_default());
    print!("{}", table(&figures, &kept));
    if keep {
        return fs::write(KEPT, written(&figures)).context(KEPT);
    }
    let above: Vec<_> = figures.iter().filter(|(name, now)| is_above(kept.get(name), *now)).collect();
    ensure!(
        above.is_empty(),
        "{} figures are more than {MORE_MAX} % above bench/icount.txt; `bench --icount --keep` keeps them",
        above.len()
    );
    Ok(())
}

/// Instructions per statement of one case.
fn count(
    stage: &Stage,
    sysbench: &Sysbench,
    case: Case,
    prepared: bool,
    counts: &Path,
) -> anyhow::Result<f64> {
    let variables = format!("multiplexing = {}\n", case.pooled);
    let limit = "[[mysql_hostgroup_attributes]]\nhostgroup_id = 0\n\
                 hostgroup_settings = '{\"max_backend_connections\":1}'\n";
    let more = if case.clients > 1 { limit } else { "" };
    let target = Target::start_with(stage, Kind::Pointsman, &variables, more)?;
    let cell = Cell { prepared, ..Cell::judged(case.clients) };
    sysbench.run_events(target.port, cell, WARM_UP)?;
    let during = |work: &dyn Fn() -> anyhow::Result<u32>| {
        order(stage, "--zero", target.pid())?;
        let statements = work()?;
        order(stage, "--dump", target.pid())?;
        anyhow::Ok((statements, take_count(counts)?))
    };
    let end = Instant::now() + START_TIME_MAX;
    let rest = || {
        thread::sleep(REST);
        Ok(0)
    };
    while during(&rest)?.1 > REST_COUNT_MAX {
        ensure!(Instant::now() < end, "it does not come to rest within {} s", START_TIME_MAX.as_secs());
    }
    let mut runs = [(0, 0.0); 2];
    for (run, events) in runs.iter_mut().zip(RUNS) {
        *run = during(&|| sysbench.run_events(target.port, cell, events))?;
    }
    let [(few, fewer), (many, more)] = runs;
    Ok((more - fewer) / f64::from(many - few))
}

/// Has callgrind do something, and waits until that is done.
fn order(stage: &Stage, what: &str, pid: u32) -> anyhow::Result<()> {
    let mut command = stage.sandbox.command(installed("callgrind_control", "valgrind")?)?;
    command.args([what, &pid.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let status = stage.sandbox.start(command)?.child().wait()?;
    ensure!(status.success(), "callgrind_control {what} has failed: {status}");
    Ok(())
}

/// What the last file of counts says; it is removed.
fn take_count(counts: &Path) -> anyhow::Result<f64> {
    let folder = counts.parent().context("a folder")?;
    let mut files = fs::read_dir(folder)?.filter_map(|file| Some(file.ok()?.path()));
    // Dumps have numbers: `callgrind.out.1`.
    let file = files.find(|file| file.with_extension("") == *counts);
    let file = file.context("callgrind has written nothing")?;
    let text = fs::read_to_string(&file)?;
    fs::remove_file(&file)?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    Ok(total.context("no sum in callgrind's file")?.trim().parse()?)
}

/// Whether a figure is larger than it may be.
fn is_above(kept: Option<&f64>, now: f64) -> bool {
    kept.is_some_and(|kept| now > kept * (1.0 + MORE_MAX / 100.0))
}

/// The figures beside those that are kept.
fn table(figures: &[(String, f64)], kept: &BTreeMap<String, f64>) -> String {
    let mut text = format!("{:<32}{:>14}{:>10}{:>10}\n", "", "instructions", "kept", "x");
    for (name, now) in figures {
        let _ = match kept.get(name) {
            Some(kept) => writeln!(text, "{name:<32}{now:>14.0}{kept:>10.0}{:>10.3}", now / kept),
            None => writeln!(text, "{name:<32}{now:>14.0}"),
        };
    }
    text
}

/// The figures as they are kept.
fn written(figures: &[(String, f64)]) -> String {
    let lines = figures.iter().map(|(name, figure)| format!("{name}: {figure:.0}\n"));
    lines.collect()
}

/// The same, read.
fn read(kept: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (name, figure) = line.split_once(": ")?;
        Some((name.to_owned(), figure.parse().ok()?))
    };
    kept.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let figures = [("text, pooled".to_owned(), 12_000.0), ("prepared, pooled".to_owned(), 13_000.4)];
        let kept = read(&written(&figures));
        assert_eq!(kept.get("prepared, pooled"), Some(&13_000.0));
        assert!(table(&figures, &kept).contains("12000     12000     1.000"));
    }

    #[test]
    fn one_percent_is_not_too_much() {
        assert!(!is_above(Some(&1000.0), 1010.0));
        assert!(is_above(Some(&1000.0), 1011.0));
        assert!(!is_above(None, 1011.0));
    }
}
