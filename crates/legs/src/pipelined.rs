//! Commands that were sent behind the one that runs, in their order. Their replies are in the
//! connection's queue.

use std::collections::VecDeque;

use observe::running::{Also, Measured};
use runtime::control::Control;
use runtime::limits::PIPELINE_MAX;
use session::ran::Sent;
use tokio::time::Instant;

use crate::state::SessionState;

/// A command that was sent, as far as its reply is concerned.
#[derive(Debug, Clone)]
pub struct Step {
    /// What is measured of it.
    pub measured: Measured,
    /// What else is noted when its reply is over.
    pub also: Also,
    /// What statement it is, if it is one.
    pub statement: Option<Sent>,
}

/// The commands with a reply behind the one whose reply is being relayed. Without memory unless a
/// client sends commands before it has the replies to those before.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a session has 8 bytes for what nearly always is not there")]
pub struct Pipelined(Option<Box<VecDeque<Step>>>);

impl Pipelined {
    /// One more command, behind the others.
    pub fn push(&mut self, step: Step) {
        self.0.get_or_insert_default().push_back(step);
    }

    /// The next command, if there is one.
    pub fn pop(&mut self) -> Option<Step> {
        let next = self.0.as_mut()?.pop_front();
        if self.is_empty() {
            self.0 = None;
        }
        next
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|steps| steps.is_empty())
    }

    /// Whether no further command may be sent before a reply has come.
    pub fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|steps| steps.len() >= PIPELINE_MAX)
    }
}

/// The server works at this command now, which was sent with the one before.
pub fn work_at(control: &Control, state: &mut SessionState, next: &Step) {
    state.last.ran.work_at(next.statement);
    control.running.go_on(next.measured, &next.also, Instant::now());
}
