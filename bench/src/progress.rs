//! What the benchmark is doing, on standard error: one changing line on a terminal, ten lines in a
//! log.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

/// Lines that go to a log for one part of the benchmark.
const LOG_LINES: u32 = 10;

/// The progress of one part of the benchmark.
#[derive(Debug)]
pub(crate) struct Progress {
    part: &'static str,
    done: u32,
    total: u32,
    started: Instant,
    terminal: bool,
}

impl Progress {
    /// A part that has `total` steps.
    pub(crate) fn new(part: &'static str, total: u32) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { part, done: 0, total, started: Instant::now(), terminal }
    }

    /// Says that the next step begins.
    pub(crate) fn next(&mut self, step: &str) {
        self.done += 1;
        let Self { part, done, total, .. } = *self;
        let seconds = self.started.elapsed().as_secs();
        let line = format!("{part} {done}/{total}, {seconds} s: {step}");
        if self.terminal {
            // Back to the start of the line, and erase it.
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
        } else if (done - 1) % total.div_ceil(LOG_LINES).max(1) == 0 {
            eprintln!("{line}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
