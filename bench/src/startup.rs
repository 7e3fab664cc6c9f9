//! How long a proxy takes from the start of its process until a client is greeted.

use std::time::Duration;

use crate::progress::Progress;
use crate::target::{Kind, Stage, Target};

/// One start of one target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// What was started.
    pub(crate) kind: Kind,
    /// Until the greeting arrived. The shell that starts the process has its part in it, about 1
    /// ms.
    pub(crate) time: Duration,
}

/// Starts every target so many times, in turn.
pub(crate) fn measure(stage: &Stage, runs: u32) -> anyhow::Result<Vec<Start>> {
    let mut starts = Vec::new();
    let mut progress = Progress::new("start", runs);
    for _ in 0..runs {
        progress.next("from the start of the process to the first greeting");
        for kind in Kind::ALL {
            let (_target, time) = Target::start(stage, kind)?;
            starts.push(Start { kind, time });
        }
    }
    Ok(starts)
}
