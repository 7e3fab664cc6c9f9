//! The answers that a backend owes: one for each command of a pipeline.

use std::collections::VecDeque;

use wire::reply::Answer;

use super::aside::Sent;
use crate::control::running::{Also, Measured};

use crate::limits::PIPELINE_MAX;

/// A command that was sent, as far as its answer is concerned.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) answer: Answer,
    pub(super) measured: Measured,
    pub(super) also: Also,
    /// What statement it is, if it is one.
    pub(super) statement: Option<Sent>,
}

/// What kinds of answers follow the one that is being relayed, in their order. Without memory unless a client sends
/// commands before it has the answers to those before.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a session has 8 bytes for what nearly always is not there")]
pub(super) struct Owed(Option<Box<VecDeque<Step>>>);

impl Owed {
    /// One more answer, behind the others; commands without one owe none.
    pub(super) fn push(&mut self, step: Step) {
        if step.answer != Answer::None {
            self.0.get_or_insert_default().push_back(step);
        }
    }

    /// The next answer, if one is owed.
    pub(super) fn pop(&mut self) -> Option<Step> {
        let next = self.0.as_mut()?.pop_front();
        if self.is_empty() {
            self.0 = None;
        }
        next
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|owed| owed.is_empty())
    }

    /// Whether no further command may be sent before an answer has come.
    pub(super) fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|owed| owed.len() >= PIPELINE_MAX)
    }
}
