//! What a process holds, as the kernel tells.

/// Resident memory of a process, in KiB.
///
/// # Panics
/// When there is no such process.
pub fn rss_kib(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

/// The value of a line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> u64 {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {path}"))
}

/// Number of file descriptors that a process has open.
///
/// # Panics
/// When there is no such process.
pub fn descriptors(pid: u32) -> usize {
    let path = format!("/proc/{pid}/fd");
    std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{path}: {error}")).count()
}
