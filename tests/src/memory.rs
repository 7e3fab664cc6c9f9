//! What a process holds and uses, as the kernel tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How often [`Watch`] looks.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);

/// Resident memory of a process, in KiB.
///
/// # Panics
/// When there is no such process.
pub fn rss_kib(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

/// Processor time that all threads of a process have used.
///
/// # Panics
/// When there is no such process.
pub fn processor_time(pid: u32) -> Duration {
    let path = format!("/proc/{pid}/task");
    let threads = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    // A thread may end meanwhile.
    let used = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(|thread| used(thread.ok()?)).sum())
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

/// Samples the resident memory of a process, on a thread of its own, and keeps the highest value.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    sampler: std::thread::JoinHandle<u64>,
}

impl Watch {
    /// Starts to sample.
    pub fn start(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sampler = std::thread::spawn(move || {
            let mut highest = rss_kib(pid);
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(SAMPLE_INTERVAL);
                highest = highest.max(rss_kib(pid));
            }
            highest
        });
        Self { stop, sampler }
    }

    /// The highest value so far, in KiB. Ends the sampling.
    ///
    /// # Panics
    /// When the process has ended.
    pub fn highest_kib(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.sampler.join().unwrap_or_else(|_| panic!("the process has ended"))
    }
}

/// Raises the limit of open files of this process, and of those that it starts, as far as it may,
/// and returns it.
///
/// # Panics
/// When the kernel refuses.
pub fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).unwrap_or_else(|error| panic!("cannot raise the limit: {error}"));
    limit.maximum.unwrap_or(u64::MAX)
}
