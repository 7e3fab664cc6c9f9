//! The load itself: every cell with every target in turn, in rounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;

use crate::plan::Cell;
use crate::procfs;
use crate::progress::Progress;
use crate::sysbench::{Figures, Sysbench};
use crate::target::{Kind, Target};

/// How often memory is looked at during a run.
const RSS_INTERVAL: Duration = Duration::from_millis(100);
/// Seconds of each target's run that fills caches and is not recorded.
const WARM_UP_SECONDS: u32 = 1;
/// Clients of that run.
const WARM_UP_CLIENTS: u32 = 16;

/// One run of one cell with one target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// What was measured.
    pub(crate) kind: Kind,
    /// With what.
    pub(crate) cell: Cell,
    /// In which round, from 1.
    pub(crate) round: u32,
    /// What sysbench said.
    pub(crate) figures: Figures,
    /// Processor time of the proxy per statement, in microseconds.
    pub(crate) cpu_us: f64,
    /// The most resident memory of the proxy during the run, in KiB.
    pub(crate) rss_kib: u32,
}

/// How much is measured.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// What is measured.
    pub(crate) cells: Vec<Cell>,
    /// Seconds of one run.
    pub(crate) seconds: u32,
    /// How often everything is repeated.
    pub(crate) rounds: u32,
}

impl Plan {
    /// Number of runs of all targets in all rounds.
    pub(crate) fn runs(&self) -> u32 {
        let runs = |cell: &Cell| cell.passes() * u32::try_from(cell.kinds().len()).unwrap_or(u32::MAX);
        self.rounds * self.cells.iter().map(runs).sum::<u32>()
    }
}

/// Measures everything in the plan. The targets take turns within every cell, so that what else
/// happens on the machine meets all of them, and every round starts with another one.
pub(crate) fn measure(sysbench: &Sysbench, targets: &[Target], plan: &Plan) -> anyhow::Result<Vec<Sample>> {
    let warm_up = Cell::judged(WARM_UP_CLIENTS);
    for target in targets {
        sysbench.run(target.port, warm_up, WARM_UP_SECONDS, || Ok(()))?;
    }
    let mut samples = Vec::new();
    let mut progress = Progress::new("load", plan.runs());
    for round in 1..=plan.rounds {
        for &cell in &plan.cells {
            for pass in 0..cell.passes() {
                for target in
                    turns(targets, round + pass)?.filter(|target| cell.kinds().contains(&target.kind))
                {
                    progress.next(&format!("round {round} of {}, {cell}, {}", plan.rounds, target.kind));
                    samples.push(run(sysbench, target, cell, round, plan.seconds)?);
                }
            }
        }
    }
    Ok(samples)
}

/// All of them, beginning with another one in each round.
pub(crate) fn turns<T>(all: &[T], round: u32) -> anyhow::Result<impl Iterator<Item = &T>> {
    let (late, early) = all.split_at(usize::try_from(round)? % all.len().max(1));
    Ok(early.iter().chain(late))
}

/// One run. The proxy's processor time counts from the moment when all clients are logged in.
pub(crate) fn run(
    sysbench: &Sysbench,
    target: &Target,
    cell: Cell,
    round: u32,
    seconds: u32,
) -> anyhow::Result<Sample> {
    let pid = target.pid();
    let mut before = Duration::ZERO;
    let ended = AtomicBool::new(false);
    let (figures, rss_kib) = thread::scope(|scope| {
        let memory = scope.spawn(|| most_memory(pid, &ended));
        let figures = sysbench.run(target.port, cell, seconds, || {
            before = procfs::cpu(pid)?;
            Ok(())
        });
        ended.store(true, Ordering::Relaxed);
        memory.thread().unpark();
        let rss_kib = memory.join().map_err(|_| anyhow!("the thread that watches memory has panicked"))?;
        anyhow::Ok((figures?, rss_kib?))
    })?;
    let cpu = procfs::cpu(pid)?.saturating_sub(before);
    let cpu_us = cpu.as_secs_f64() * 1e6 / f64::from(figures.queries.max(1));
    Ok(Sample { kind: target.kind, cell, round, figures, cpu_us, rss_kib })
}

/// The most resident memory of a process, in KiB, until the run has ended.
fn most_memory(pid: u32, ended: &AtomicBool) -> anyhow::Result<u32> {
    let mut most = 0;
    while !ended.load(Ordering::Relaxed) {
        most = most.max(procfs::rss_kib(pid)?);
        thread::park_timeout(RSS_INTERVAL);
    }
    Ok(most)
}
