//! What may go wrong in a seed.

use super::dice::Dice;
use super::world::World;

/// What may go wrong, each once in so many times; 0 is never.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// A server is not reached; it may have closed its connections before.
    pub(super) unreachable: u64,
    /// A server closes a connection before, in or after an answer.
    pub(super) lost: u64,
    /// A statement takes long.
    pub(super) slow: u64,
    /// A client leaves in the middle of something.
    pub(super) vanishing: u64,
    /// A client kills what another does.
    pub(super) kills: u64,
    /// A server answers with another session's answer: what no proxy can mend, and every client
    /// has to notice.
    pub(super) swapped: u64,
    /// The same of answers about the sharded table only.
    pub(super) swapped_at_shards: u64,
}

impl Faults {
    /// Those of a seed. One in four is without faults: there every answer must be right.
    pub(super) fn roll(seed: u64, dice: &Dice) -> Self {
        if seed.is_multiple_of(4) {
            return Self::default();
        }
        let often = || *dice.pick(&[0, 0, 20, 60]);
        Self {
            unreachable: often(),
            lost: often(),
            slow: often(),
            vanishing: often(),
            kills: often(),
            ..Self::default()
        }
    }

    /// Whether servers close connections.
    pub(super) const fn loses_connections(self) -> bool {
        self.lost + self.unreachable > 0
    }

    /// Whether a client may hear errors that its statements do not explain.
    pub(super) const fn explain_errors(self) -> bool {
        self.unreachable + self.lost + self.kills > 0
    }
}

impl World {
    /// Whether a connection is lost at a command.
    pub(super) fn loses(&self) -> bool {
        self.happens(self.faults.lost)
    }
}
