//! What the kernel says about a process: the processor time it has used and the memory it occupies.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

/// Processor time that a process has used so far, user and system, of all its threads.
///
/// The kernel counts in ticks, usually 10 ms.
pub(crate) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = parse_ticks(&stat).with_context(|| format!("cannot understand {path}: {stat}"))?;
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second())?;
    Ok(Duration::from_secs(ticks) / per_second)
}

/// Resident memory of a process in KiB.
pub(crate) fn rss_kib(pid: u32) -> anyhow::Result<u32> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse_rss_kib(&status).with_context(|| format!("no resident memory in {path}"))
}

/// `utime` + `stime`, fields 14 and 15 of `/proc/PID/stat` (proc(5)). The second field is the
/// program's name in brackets, which may itself contain spaces and brackets.
fn parse_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The number of the line `VmRSS` in `/proc/PID/status`.
fn parse_rss_kib(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticks_are_found_behind_any_name() {
        let numbers =
            "S 1 2 3 0 -1 4194304 98 0 0 0 150 77 9 9 20 0 4 0 309528 3133440 411 18446744073709551615";
        for name in ["haproxy", "a b", "x) S 1 (y"] {
            assert_eq!(parse_ticks(&format!("4261 ({name}) {numbers}")), Some(227), "{name}");
        }
        assert_eq!(parse_ticks("4261 (cut) S 1 2"), None);
        assert_eq!(parse_ticks(""), None);
    }

    #[test]
    fn resident_memory_is_found_among_the_other_lines() {
        let status = "Name:\tpointsman\nVmHWM:\t   10000 kB\nVmRSS:\t    9876 kB\nRssAnon:\t 5000 kB\n";
        assert_eq!(parse_rss_kib(status), Some(9876));
        assert_eq!(parse_rss_kib("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn this_process_has_used_time_and_memory() {
        let pid = std::process::id();
        let before = cpu(pid).unwrap();
        while cpu(pid).unwrap() == before {}
        assert!(rss_kib(pid).unwrap() > 100);
    }
}
