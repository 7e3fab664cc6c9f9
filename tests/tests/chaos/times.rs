//! How long the clients of a round were kept from writing.

use std::time::{Duration, Instant};

use super::clients::Told;

/// How long clients could not write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// From a server being writable to the first row.
    pub(crate) first: Duration,
    /// To the first row of the last client.
    pub(crate) all: Duration,
    /// The longest time without a row.
    pub(crate) gap: Duration,
    /// The longest time of a statement.
    pub(crate) statement: Duration,
}

impl Times {
    pub(crate) fn of(told: &[Told], writable: Instant) -> Self {
        let firsts = told.iter().filter_map(|told| told.times.iter().find(|time| **time > writable));
        let firsts: Vec<Duration> = firsts.map(|time| *time - writable).collect();
        let mut times: Vec<Instant> = told.iter().flat_map(|told| told.times.iter().copied()).collect();
        times.sort_unstable();
        Self {
            first: firsts.iter().min().copied().unwrap_or_default(),
            all: firsts.iter().max().copied().unwrap_or_default(),
            gap: times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default(),
            statement: told.iter().map(|told| told.longest).max().unwrap_or_default(),
        }
    }

    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            first: self.first.max(other.first),
            all: self.all.max(other.all),
            gap: self.gap.max(other.gap),
            statement: self.statement.max(other.statement),
        }
    }
}
