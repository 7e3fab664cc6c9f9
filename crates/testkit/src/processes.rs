//! Finds processes: to prove that none is left, and to kill those that others have started.

use std::io;
use std::path::Path;

use rustix::process::{Pid, kill_process};

use crate::guard::Signal;

/// Process ids of living processes whose environment has this variable with this value: a mark that
/// all descendants of a process inherit.
pub fn with_environment(name: &str, value: &Path) -> Vec<u32> {
    let mark = [name.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            // A process that is gone meanwhile, or has ended and was not waited for, has no
            // environment.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == mark)
        })
        .collect()
}

/// The arguments of a process, separated by spaces; empty if it is gone.
pub fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

/// Sends a signal to one process.
///
/// # Errors
/// When there is no such process.
pub fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}
