//! Steps of one plan: what is looked at more than once for each node of the tree is counted, so
//! that no text keeps a worker for long.

use std::cell::Cell;

use sql::digest::Span;

use super::refusal::Cause;
use super::{Refusal, Request};

/// Steps that any statement may take. A step takes about 10 ns.
const STEPS_MIN: usize = 100_000;

/// Further steps for each node of the tree.
const STEPS_OF_A_NODE: usize = 8;

/// The steps that a plan may take, and those that it has taken.
#[derive(Debug)]
pub(super) struct Budget {
    taken: Cell<usize>,
    all: usize,
}

impl Budget {
    /// That of a statement with so many nodes.
    pub(super) const fn of(nodes: usize) -> Self {
        let all = STEPS_MIN.saturating_add(STEPS_OF_A_NODE.saturating_mul(nodes));
        Self { taken: Cell::new(0), all }
    }

    /// Takes so many steps. False if there are no more: the statement is refused, whatever follows.
    pub(super) fn take(&self, steps: usize) -> bool {
        self.taken.set(self.taken.get().saturating_add(steps));
        self.taken.get() < self.all
    }

    /// Refuses the statement if there are no more.
    pub(super) fn check(&self, request: &Request<'_>) -> Result<(), Refusal> {
        if self.taken.get() < self.all {
            return Ok(());
        }
        Err(Cause::Size.at(Span { start: 0, end: request.sql.len() }))
    }

    /// The steps that were taken.
    #[cfg(test)]
    pub(super) const fn taken(&self) -> usize {
        self.taken.get()
    }
}
