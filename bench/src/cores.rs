//! Who runs on which processor.
//!
//! On a small machine clients, proxy and server take processor time from each other, so that what a
//! proxy saves its server goes to its clients, and the other way round. With a core of its own the
//! server is to all others what it is on a machine of its own: what it can do is what limits them.

use std::fs;
use std::io;

use anyhow::Context as _;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The server has a core of its own, and this process, with all that it starts from now on, the
/// others. Taken back when dropped.
#[derive(Debug)]
pub(crate) struct Apart {
    server: u32,
    all: CpuSet,
}

impl Apart {
    /// Parts them; nothing where there is only one core.
    pub(crate) fn new(server: u32) -> anyhow::Result<Option<Self>> {
        let all = sched_getaffinity(None).context("cannot ask for the processors of this process")?;
        let Some(first) = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).filter(|_| all.count() > 1)
        else {
            return Ok(None);
        };
        let (mut own, mut others) = (CpuSet::new(), all);
        own.set(first);
        others.unset(first);
        let apart = Self { server, all };
        confine(server, &own).context("cannot confine the server to a processor")?;
        confine(std::process::id(), &others)
            .context("cannot confine this process to the other processors")?;
        Ok(Some(apart))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        for pid in [self.server, std::process::id()] {
            if let Err(error) = confine(pid, &self.all) {
                eprintln!("process {pid} is left on some of the processors: {error}");
            }
        }
    }
}

/// All threads of a process, and those that they start, run on these processors.
fn confine(pid: u32, cpus: &CpuSet) -> io::Result<()> {
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let id = task?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        match sched_setaffinity(id, cpus) {
            // It has ended meanwhile.
            Err(rustix::io::Errno::SRCH) => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_confined_and_let_go() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let cpus_of = |pid: u32| sched_getaffinity(Pid::from_raw(pid.cast_signed())).unwrap();
        let before = cpus_of(sleeper.id());
        if let Some(apart) = Apart::new(sleeper.id()).unwrap() {
            assert_eq!(
                (cpus_of(sleeper.id()).count(), cpus_of(std::process::id()).count()),
                (1, before.count() - 1)
            );
            drop(apart);
        }
        assert_eq!((cpus_of(sleeper.id()), cpus_of(std::process::id())), (before, before));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
