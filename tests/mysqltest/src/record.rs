//! What came out, and what `divergences.txt` says about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::place::{Account, Conditions};
use crate::plan::{Outcome, Outcomes};
use crate::reader::ReaderLog;
use crate::suite::Test;
use crate::trial::{Mode, Verdict};

/// The list of known divergences.
const DIVERGENCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/divergences.txt");
/// The list of those that there are, too, when sessions share connections.
const DIVERGENCES_SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/divergences-shared.txt");
/// The list of those that there are, too, when reads are cached.
const DIVERGENCES_CACHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/divergences-cached.txt");

/// Known divergences: the reason of each, by test.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Divergences(BTreeMap<String, String>);

impl Divergences {
    /// Reads the lists of the repository that count under these conditions.
    ///
    /// # Errors
    /// When one cannot be read, a line is no `NAME: REASON`, or a test is there twice.
    pub fn read(conditions: Conditions) -> anyhow::Result<Self> {
        let files = [
            (DIVERGENCES, true),
            (DIVERGENCES_SHARED, conditions.multiplexing),
            (DIVERGENCES_CACHED, conditions.cached),
        ];
        let mut known = BTreeMap::new();
        for (file, _) in files.into_iter().filter(|(_, counts)| *counts) {
            let lines = std::fs::read_to_string(file).context(file)?;
            known.extend(Self::parse(&lines).context(file)?.0);
        }
        Ok(Self(known))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut known = BTreeMap::new();
        for line in lines {
            let (name, reason) =
                line.split_once(": ").with_context(|| format!("{line:?} is no `NAME: REASON`"))?;
            ensure!(known.insert(name.to_owned(), reason.to_owned()).is_none(), "{name} is there twice");
        }
        Ok(Self(known))
    }

    /// The tests that diverge and are not in the list.
    pub fn unknown<'a>(&self, outcomes: &'a Outcomes) -> BTreeSet<&'a str> {
        diverging(outcomes).filter(|name| !self.0.contains_key(*name)).collect()
    }

    /// The tests of the list that passed both ways.
    pub fn outdated<'a>(&'a self, outcomes: &Outcomes) -> BTreeSet<&'a str> {
        let same = |name: &&String| matches!(outcomes.by_test.get(*name), Some(Outcome::Same));
        self.0.keys().filter(same).map(String::as_str).collect()
    }
}

fn diverging(outcomes: &Outcomes) -> impl Iterator<Item = &str> {
    let diverges = |(_, outcome): &(&String, &Outcome)| matches!(outcome, Outcome::Diverges(_));
    outcomes.by_test.iter().filter(diverges).map(|(name, _)| name.as_str())
}

/// Counts of one mode and account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that passed directly.
    pub direct: usize,
    /// Of these, tests that passed through the proxy, if only when repeated.
    pub proxied: usize,
    /// Tests that diverge.
    pub diverging: usize,
    /// Tests that did not give the same twice.
    pub unsteady: usize,
    /// Tests that do not pass directly.
    pub failed: usize,
}

impl Counts {
    /// Counts the outcomes.
    pub fn of(outcomes: &Outcomes) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes.by_test.values() {
            match outcome {
                Outcome::Same => counts.proxied += 1,
                Outcome::Diverges(_) => counts.diverging += 1,
                Outcome::Unsteady(_) => counts.unsteady += 1,
                Outcome::NotDirectly(_) => counts.failed += 1,
            }
        }
        counts.direct = counts.proxied + counts.diverging + counts.unsteady;
        counts
    }

    /// The first line of a table.
    pub fn header() -> String {
        format!(
            "{:<9} {:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}",
            "mode", "account", "direct", "proxied", "diverge", "unsteady", "fail", "time"
        )
    }

    /// A line of the table.
    pub fn line(&self, mode: Mode, account: Account, outcomes: &Outcomes) -> String {
        format!(
            "{:<9} {:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} s",
            mode.name(),
            account.name,
            self.direct,
            self.proxied,
            self.diverging,
            self.unsteady,
            self.failed,
            outcomes.time.as_secs()
        )
    }
}

/// How many tests a plain server cannot run, by reason.
pub fn skipped(tests: &[Test]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in tests.iter().filter_map(|test| test.skip) {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut text = String::new();
    for (reason, count) in reasons {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{count:>5}  {reason}");
    }
    text
}

/// A folder with a line for each test, and the difference of each that did not pass both ways.
#[derive(Debug)]
pub struct Keep {
    folder: PathBuf,
    verdicts: Mutex<File>,
}

impl Keep {
    /// Creates `folder/MODE-ACCOUNT`, or `folder/MODE-ACCOUNT-shared` if sessions share
    /// connections, without what an earlier run has left there.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(folder: &Path, mode: Mode, account: Account, multiplexing: bool) -> anyhow::Result<Self> {
        let end = if multiplexing { "-shared" } else { "" };
        let folder = folder.join(format!("{}-{}{end}", mode.name(), account.name));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let verdicts = Mutex::new(File::create(folder.join("verdicts"))?);
        Ok(Self { folder, verdicts })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes down what does not belong to a reader, and what was refused because the server is
    /// read-only.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn note_reader(&self, log: &ReaderLog) -> anyhow::Result<()> {
        for (name, lines) in [
            ("strangers", &log.strangers),
            ("refused", &log.refused),
            ("refused-by-writer", &log.refused_by_writer),
        ] {
            std::fs::write(self.folder.join(name), lines.join("\n"))?;
        }
        Ok(())
    }

    /// Writes down how a test went.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn note(
        &self,
        test: &Test,
        outcome: &Outcome,
        (direct, proxied): (Duration, Duration),
    ) -> anyhow::Result<()> {
        let (word, text) = match outcome {
            Outcome::Same => ("same", None),
            Outcome::NotDirectly(Verdict::Failed(text)) => ("fails", Some(text)),
            Outcome::NotDirectly(_) => ("skipped", None),
            Outcome::Unsteady(text) => ("unsteady", Some(text)),
            Outcome::Diverges(text) => ("diverges", Some(text)),
        };
        if let Some(text) = text {
            std::fs::write(self.folder.join(format!("{}.{word}", test.name)), text)?;
        }
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let [direct, proxied] = [direct, proxied].map(|time| time.as_millis());
        Ok(writeln!(verdicts, "{:<10} {direct:>6} ms {proxied:>6} ms  {}", word, test.name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_reason_for_each_name() {
        let known = Divergences::parse("# why\n\nkill: ids are the proxy's\n").unwrap();
        assert_eq!(known.0["kill"], "ids are the proxy's");
        assert!(Divergences::parse("kill\n").is_err());
        assert!(Divergences::parse("kill: a\nkill: b\n").is_err());
    }

    #[test]
    fn unlisted_divergences_are_told_from_listed_and_outdated_ones() {
        let mut outcomes = Outcomes::default();
        outcomes.by_test.insert("a".into(), Outcome::Diverges(String::new()));
        outcomes.by_test.insert("b".into(), Outcome::Diverges(String::new()));
        outcomes.by_test.insert("c".into(), Outcome::Same);
        let known = Divergences::parse("b: x\nc: y\n").unwrap();
        assert_eq!(known.unknown(&outcomes), BTreeSet::from(["a"]));
        assert_eq!(known.outdated(&outcomes), BTreeSet::from(["c"]));
        assert_eq!(
            Counts::of(&outcomes),
            Counts { direct: 3, proxied: 1, diverging: 2, ..Counts::default() }
        );
    }

    #[test]
    fn the_list_of_the_repository_is_well_formed() {
        let read = |multiplexing, cached| {
            Divergences::read(Conditions { multiplexing, cached, ..Conditions::default() }).unwrap().0
        };
        for list in [read(true, false), read(false, true)] {
            assert!(list.values().all(|reason| reason.len() > 10));
            assert!(read(false, false).len() < list.len());
        }
    }
}
