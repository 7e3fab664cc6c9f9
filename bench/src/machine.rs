//! What the benchmark ran on: processor, memory, system, versions. No host names and no paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::programs::Programs;

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// The text of `machine.txt`: one fact per line.
pub(crate) fn facts(programs: &Programs) -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = value(&release, "PRETTY_NAME=").trim_matches('"').to_owned();
    let memory = value(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:").to_owned();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "cpu: {}\ncores: {}\nmemory: {memory}\nsystem: {system}\nkernel: {}\n{}commit: {}\n",
        cpu_model(),
        cores(),
        kernel.trim(),
        programs.versions(),
        commit(),
    )
}

/// Processor and cores as a part of a folder's name.
pub(crate) fn slug() -> String {
    format!("{}-{}-cores", slug_of(&cpu_model()), cores())
}

/// Today, in UTC, as `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(now.as_secs() / SECONDS_PER_DAY)
}

fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    match value(&info, "model name") {
        // Processors other than x86 do not tell their names here.
        "" => std::env::consts::ARCH.to_owned(),
        model => model.trim_start_matches(['\t', ' ', ':']).to_owned(),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What follows `name` in the first line that starts with it, or nothing.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim)
}

/// Lower-case words and numbers with `-` between them, without what every processor's name has.
fn slug_of(model: &str) -> String {
    let lower = model.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !["", "cpu", "processor", "with"].contains(word));
    words.collect::<Vec<_>>().join("-")
}

/// The commit that the benchmark was built from, and whether tracked files differ from it.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain", "--untracked-files=no"]).as_deref() {
        Some("") => commit,
        _ => format!("{commit}, with changes"),
    }
}

/// The date of a day after 1970-01-01.
///
/// Source: the inverse of the day count in Howard Hinnant's "chrono-Compatible Low-Level Date
/// Algorithms".
fn date(days: u64) -> String {
    // Years here begin in March, so that the leap day is the last one, and eras are the 400 years
    // after which the calendar repeats.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A folder name that is not taken yet: `name`, `name-2`, `name-3` and so on.
pub(crate) fn free_name(parent: &Path, name: &str) -> PathBuf {
    let names = std::iter::once(name.to_owned()).chain((2_u32..).map(|n| format!("{name}-{n}")));
    let mut paths = names.map(|name| parent.join(name));
    paths.find(|path| !path.exists()).unwrap_or_else(|| parent.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days() {
        let days =
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_088, "2024-12-31")];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }

    #[test]
    fn processors_become_short_names() {
        assert_eq!(slug_of("Intel(R) Xeon(R) Processor @ 2.50GHz"), "intel-xeon-2-50ghz");
        assert_eq!(slug_of("AMD EPYC 7B13 64-Core Processor"), "amd-epyc-7b13-64-core");
    }

    #[test]
    fn facts_are_found_in_files_of_the_kernel() {
        let info = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n";
        assert_eq!(value(info, "model name").trim_start_matches(['\t', ' ', ':']), "AMD EPYC");
        assert_eq!(value("MemTotal:       24000 kB\n", "MemTotal:"), "24000 kB");
        assert_eq!(value("", "MemTotal:"), "");
    }
}
