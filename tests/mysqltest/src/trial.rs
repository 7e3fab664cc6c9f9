//! One test, run once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::environment::Surroundings;
use crate::needs;
use crate::noise::Noise;
use crate::place::Place;
use crate::suite::{Suite, Test};

/// Longest time of one test.
const TEST_TIME_MAX: Duration = Duration::from_mins(2);
/// Most that is kept of the server's log of a test, in bytes.
const LOG_LEN_MAX: usize = 1 << 18;
/// Lines that are shown of what happened before an answer went astray.
const LOG_LINES: usize = 2_000;
/// How `mariadb-test` says that a test cannot run here.
const SKIPPED: i32 = 62;

/// How a test talks to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Statements as text.
    Text,
    /// Prepared statements.
    Ps,
    /// Prepared statements with cursors.
    Cursor,
    /// Statements as text, compressed.
    Compress,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Text, Self::Ps, Self::Cursor, Self::Compress];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Ps => "ps",
            Self::Cursor => "cursor",
            Self::Compress => "compress",
        }
    }

    /// Options of `mariadb-test`.
    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Text => &[],
            Self::Ps => &["--ps-protocol"],
            // What the suite's runner gives: cursors need prepared statements.
            Self::Cursor => &["--ps-protocol", "--cursor-protocol"],
            Self::Compress => &["--compress"],
        }
    }
}

/// How a test went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It gave the output that it must give.
    Passed,
    /// It found out that it cannot run here.
    Skipped,
    /// It gave something else; here is the difference, or what `mariadb-test` said.
    Failed(String),
}

/// Runs `test` once and puts the place in order afterwards.
///
/// # Errors
/// When it cannot be run at all, or the server does not come back.
pub fn run(
    suite: &Suite,
    place: &mut Place,
    test: &Test,
    mode: Mode,
    through_proxy: bool,
) -> anyhow::Result<(Verdict, Duration)> {
    if through_proxy {
        place.provide_proxy(needs::of(test, mode));
    }
    let target = place.target(through_proxy)?;
    let alternatives = alternatives(test, mode);
    let surroundings = Surroundings { suite, place, test, target: &target, alternatives: &alternatives };
    surroundings.write_option_file()?;
    let result = result_file(suite, place, test, &alternatives)?;
    let log_sizes = place.log_sizes();
    let noise = Noise::begin(place.account(), &target.1, mode, place.conditions().noise)?;
    let start = Instant::now();
    let mut verdict = attempt(&surroundings, mode, &result)?;
    let time = start.elapsed();
    if let Verdict::Failed(text) = &mut verdict
        && through_proxy
        && place.conditions().multiplexing
    {
        // Which connection a statement came over tells most of it.
        text.push_str("\nThe server's log of it ends with:\n");
        text.push_str(&place.log_since(log_sizes.general, LOG_LEN_MAX));
    }
    let noise_counts = noise.end().with_context(|| {
        let log = place.log_since(log_sizes.general, usize::MAX);
        format!("during {}; the server's log up to then:\n{}", test.name, noisy_part(&log))
    })?;
    place.note_noise(noise_counts);
    if through_proxy {
        place.note_reader(&test.name, log_sizes);
    }
    place.restore()?;
    Ok((verdict, time))
}

/// The last part of a log in which the other clients say something: one that fails stops all of
/// them.
fn noisy_part(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let end = lines.iter().rposition(|line| line.contains("'noise ")).map_or(lines.len(), |last| last + 1);
    lines[end.saturating_sub(LOG_LINES)..end].join("\n")
}

fn alternatives(test: &Test, mode: Mode) -> Vec<&'static str> {
    let protocol = if matches!(mode, Mode::Ps | Mode::Cursor) { "ps" } else { "nm" };
    test.alternatives.iter().copied().chain(test.by_protocol.then_some(protocol)).collect()
}

/// A copy of the expected output, in a folder of ours: `mariadb-test` writes beside it.
fn result_file(suite: &Suite, place: &Place, test: &Test, alternatives: &[&str]) -> anyhow::Result<PathBuf> {
    let main = suite.folder.join("main");
    let folder = place.folder().join("r");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder)?;
    let result = folder.join(format!("{}.result", test.name));
    let special = |suffix: &str| {
        let names = alternatives.iter().map(|alternative| format!("{},{alternative}.{suffix}", test.name));
        names.map(|name| main.join(name)).find(|path| path.is_file())
    };
    let source = special("result").unwrap_or_else(|| main.join(format!("{}.result", test.name)));
    std::fs::copy(&source, &result).with_context(|| source.display().to_string())?;
    if let Some(difference) = special("rdiff") {
        let status = Command::new("patch")
            .args(["--quiet", "--force", "--reject-file=-"])
            .arg(&result)
            .arg(&difference)
            .status()
            .context("cannot run `patch`")?;
        anyhow::ensure!(status.success(), "{} does not fit", difference.display());
    }
    Ok(result)
}

fn attempt(surroundings: &Surroundings<'_>, mode: Mode, result: &Path) -> anyhow::Result<Verdict> {
    let (place, suite, name) = (surroundings.place, surroundings.suite, &surroundings.test.name);
    let (port, socket) = surroundings.target;
    let log = place.folder().join("log/output");
    let output = File::create(&log)?;
    let mut command = place.sandbox().command("mariadb-test")?;
    command
        .arg(format!("--defaults-file={}", surroundings.option_file().display()))
        .arg("--silent")
        .arg(format!("--tmpdir={}", place.tmp().display()))
        .arg(format!("--logdir={}", place.folder().join("log").display()))
        .args(["--character-sets-dir=/usr/share/mysql/charsets", "--database=test"])
        .arg(format!("--suite-dir={}/main/", suite.folder.display()))
        .arg(format!("--test-file={}/main/{name}.test", suite.folder.display()))
        .arg(format!("--result-file={}", result.display()))
        .arg(format!("--port={port}"))
        .arg(format!("--socket={}", socket.display()))
        .args(["--tail-lines=20", "--wait-for-pos-timeout=300"])
        .args(mode.options())
        .current_dir(&suite.folder)
        .env_remove("TZ")
        .envs(surroundings.variables())
        .env("MYSQL_TEST", format!("mariadb-test --defaults-file={}", surroundings.option_file().display()))
        .stdout(Stdio::from(output.try_clone()?))
        .stderr(output);
    let mut process = place.sandbox().start(command)?;
    let status = process.wait(TEST_TIME_MAX)?;
    if status.is_none() {
        process.kill()?;
    }
    Ok(match status.map(|status| status.code()) {
        Some(Some(0)) => Verdict::Passed,
        Some(Some(SKIPPED)) => Verdict::Skipped,
        Some(_) => Verdict::Failed(difference(place, result, &log)?),
        None => Verdict::Failed(format!(
            "not finished after {} s\n{}",
            TEST_TIME_MAX.as_secs(),
            difference(place, result, &log)?
        )),
    })
}

/// What differs from the expected output, and what `mariadb-test` said.
fn difference(place: &Place, result: &Path, log: &Path) -> anyhow::Result<String> {
    let mut text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let in_log =
        place.folder().join("log").join(result.with_extension("reject").file_name().unwrap_or_default());
    for reject in [result.with_extension("reject"), in_log] {
        if reject.is_file() {
            let output = Command::new("diff").arg("-u").args([result, &reject]).output()?;
            text.push_str(&String::from_utf8_lossy(&output.stdout));
            std::fs::remove_file(&reject)?;
        }
    }
    Ok(text)
}
