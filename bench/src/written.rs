//! A run of reads through a proxy, with writes to the same table beside them.

use std::time::Duration;

use crate::plan::{Cell, Workload};
use crate::procfs;
use crate::sysbench::Sysbench;
use crate::target::Target;

/// What a run has shown of the reads.
pub(crate) struct Run {
    /// Statements per second.
    pub(crate) qps: f64,
    /// The same in each second.
    pub(crate) each_second: Vec<f64>,
    /// Processor time of the proxy per read, in microseconds.
    pub(crate) cpu_us: f64,
}

/// Reads for some seconds. Another client makes so many `writes` in a second, if any.
///
/// # Errors
/// When a load fails, or the proxy is gone.
pub(crate) fn read(
    sysbench: &Sysbench,
    target: &Target,
    reads: Cell,
    seconds: u32,
    writes: Option<u32>,
) -> anyhow::Result<Run> {
    let pid = target.pid();
    std::thread::scope(|scope| {
        let writer = writes.map(|rate| {
            let cell = Cell { workload: Workload::Update, ..Cell::judged(1) };
            scope.spawn(move || sysbench.run_at(target.port, cell, seconds, Some(rate), || Ok(())))
        });
        let mut before = Duration::ZERO;
        let (figures, each_second) = sysbench.run_watched(target.port, reads, seconds, || {
            before = procfs::cpu(pid)?;
            Ok(())
        })?;
        let cpu = procfs::cpu(pid)?.saturating_sub(before);
        if let Some(writer) = writer {
            writer.join().map_err(|_| anyhow::anyhow!("the writer has panicked"))??;
        }
        let cpu_us = cpu.as_secs_f64() * 1e6 / f64::from(figures.queries.max(1));
        Ok(Run { qps: figures.qps, each_second, cpu_us })
    })
}
