//! Which tests to run, how, and over how many servers at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::needs;
use crate::noise::NoiseCounts;
use crate::place::{Account, Conditions, Place, ROOT, Template};
use crate::reader::ReaderLog;
use crate::suite::{Suite, Test};
use crate::trial::{self, Mode, Verdict};

/// How a test went in both ways.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It passed both ways.
    Same,
    /// It fails, or cannot run, without the proxy.
    NotDirectly(Verdict),
    /// It failed through the proxy once and passed when repeated; or it failed directly when
    /// repeated.
    Unsteady(String),
    /// It passes directly, twice, and fails through the proxy, twice; this is the difference.
    Diverges(String),
}

/// All outcomes of one mode and account, by test.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// The outcomes.
    pub by_test: BTreeMap<String, Outcome>,
    /// How long it took.
    pub time: Duration,
    /// How often a server had to be put back to its first state.
    pub restarts: u32,
    /// Time of all first runs, directly and through the proxy.
    pub times: (Duration, Duration),
    /// What came to the reader.
    pub reader: ReaderLog,
    /// What the clients beside the tests' own have seen.
    pub noise: NoiseCounts,
}

/// Hears of a test that is through, with the times of its first runs, directly and through the
/// proxy.
pub type Report<'a> = dyn Fn(&Test, &Outcome, (Duration, Duration)) -> anyhow::Result<()> + Sync + 'a;

/// Tests to run in one mode as one account.
pub struct Job<'a> {
    /// Where tests come from.
    pub suite: &'a Suite,
    /// What servers start with.
    pub template: &'a Template,
    /// What is run.
    pub tests: &'a [Test],
    /// How.
    pub mode: Mode,
    /// By whom.
    pub account: Account,
    /// Under what.
    pub conditions: Conditions,
    /// Called for each test.
    pub report: &'a Report<'a>,
}

impl Outcomes {
    /// Adds those of other tests, which were run after these.
    pub fn add(&mut self, other: Self) {
        self.by_test.extend(other.by_test);
        self.time += other.time;
        self.restarts += other.restarts;
        self.times.0 += other.times.0;
        self.times.1 += other.times.1;
        self.reader.add(other.reader);
        self.noise.add(other.noise);
    }
}

/// Whether a server that is read-only would be in the way of a test: it is about that itself, has
/// clients log in as users that it makes, which may not write then, comes by TCP itself, or inserts
/// with a delay, which the server does with no rights at all.
pub fn has_to_write(test: &Test, mode: Mode, account: Account) -> bool {
    let known = [ROOT.name, account.name];
    let makes_users = needs::of(test, mode).users.keys().any(|name| !known.contains(&name.as_str()));
    makes_users || test.sources.iter().any(|source| source.lines().any(minds_read_only))
}

/// Whether a line of a script is about `read_only`, and not about a variable whose name ends so,
/// connects by TCP, or inserts with a delay.
fn minds_read_only(line: &str) -> bool {
    let line = line.to_lowercase();
    if ["insert delayed", "replace delayed", "127.0.0.1"].iter().any(|words| line.contains(words)) {
        return true;
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !line.trim_start().starts_with('#')
        && line.match_indices("read_only").any(|(at, _)| {
            let before = at.checked_sub(1).and_then(|at| line.as_bytes().get(at));
            !before.is_some_and(|&byte| is_name(byte))
        })
}

/// Runs tests over `servers` servers at a time.
///
/// # Errors
/// When a server does not start.
pub fn run(job: &Job<'_>, servers: usize) -> anyhow::Result<Outcomes> {
    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Outcomes::default());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..servers)
            .map(|number| {
                let work = || work(job, &next, &outcomes);
                std::thread::Builder::new().name(format!("server {number}")).spawn_scoped(scope, work)
            })
            .collect();
        for worker in workers {
            worker?.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread has panicked")))?;
        }
        anyhow::Ok(())
    })?;
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.time = start.elapsed();
    Ok(outcomes)
}

fn work(job: &Job<'_>, next: &AtomicUsize, outcomes: &Mutex<Outcomes>) -> anyhow::Result<()> {
    let mut place = Place::new(job.suite, job.template, job.account, job.conditions)?;
    while let Some(test) = job.tests.get(next.fetch_add(1, Ordering::Relaxed)) {
        let (outcome, times) = both_ways(job, &mut place, test)?;
        (job.report)(test, &outcome, times)?;
        let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.times.0 += times.0;
        outcomes.times.1 += times.1;
        outcomes.by_test.insert(test.name.clone(), outcome);
    }
    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
    outcomes.restarts += place.restarts();
    outcomes.reader.add(place.take_reader_log());
    outcomes.noise.add(place.take_noise());
    Ok(())
}

/// Runs a test directly and through the proxy, and says how long that took; if it differs, once
/// more.
fn both_ways(
    job: &Job<'_>,
    place: &mut Place,
    test: &Test,
) -> anyhow::Result<(Outcome, (Duration, Duration))> {
    let mut trial = |through_proxy| trial::run(job.suite, place, test, job.mode, through_proxy);
    let (direct, direct_time) = trial(false)?;
    if direct != Verdict::Passed {
        return Ok((Outcome::NotDirectly(direct), (direct_time, Duration::ZERO)));
    }
    let (proxied, proxied_time) = trial(true)?;
    let outcome = match proxied {
        Verdict::Passed => Outcome::Same,
        first => {
            let (direct, _) = trial(false)?;
            let (proxied, _) = trial(true)?;
            let first = describe(first, place);
            match (direct, proxied) {
                (Verdict::Passed, Verdict::Passed) => Outcome::Unsteady(first),
                (Verdict::Passed, second) => Outcome::Diverges(describe(second, place)),
                (_, _) => Outcome::Unsteady(first),
            }
        }
    };
    Ok((outcome, (direct_time, proxied_time)))
}

/// The difference, with the last words of the proxy.
fn describe(verdict: Verdict, place: &Place) -> String {
    /// Lines of the proxy's log that are shown.
    const LOG_LINES: usize = 20;
    let text = match verdict {
        Verdict::Passed => "passed".to_owned(),
        Verdict::Skipped => "skipped itself".to_owned(),
        Verdict::Failed(text) => text,
    };
    let log = place.proxy_log();
    let log = &log[log.len().saturating_sub(LOG_LINES)..];
    format!("{text}\nThe proxy's log ends with:\n{}\n", log.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::ORDINARY;

    #[test]
    fn tests_that_a_read_only_server_would_be_in_the_way_of_are_known() {
        for (script, has_to) in [
            ("SET GLOBAL read_only = 1;", true),
            ("select @@read_only;", true),
            ("set tx_read_only = 1;", false),
            ("INSERT DELAYED INTO t1 VALUES (1);", true),
            ("--connect (c, 127.0.0.1, root,,test,$MASTER_MYPORT,)", true),
            ("# read_only", false),
            ("connect (c,localhost,u1,x);", true),
            ("connect (c,localhost,root,,);", false),
            ("connect (c,localhost,developer,x);", false),
        ] {
            let mut test = Test::new("t".into());
            test.sources.push(script.into());
            assert_eq!(has_to_write(&test, Mode::Text, ORDINARY), has_to, "{script}");
        }
    }
}
