//! Statements by ProxySQL's command, and how long they took.

use std::cell::Cell;
use std::time::Duration;

use crate::micros;
use crate::rows::CommandCounts;
use sql::StatementKind;

/// How many commands there are.
const COMMANDS: usize = StatementKind::COMMANDS.len();

/// The longest times of all buckets but the last one, in microseconds.
const BUCKETS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// One command.
#[derive(Debug, Default)]
struct Cells {
    count: Cell<u64>,
    total_us: Cell<u64>,
    buckets: [Cell<u64>; BUCKETS_US.len() + 1],
}

/// The statements of one worker.
#[derive(Debug)]
pub struct Commands(Box<[Cells; COMMANDS]>);

impl Default for Commands {
    fn default() -> Self {
        Self(Box::new(std::array::from_fn(|_| Cells::default())))
    }
}

fn add(cell: &Cell<u64>, n: u64) {
    cell.set(cell.get().wrapping_add(n));
}

impl Commands {
    /// Counts a statement that took `time`.
    pub fn note(&self, kind: StatementKind, time: Duration) {
        let us = micros(time);
        let Some(cells) = self.0.get(kind.command() as usize) else { return };
        add(&cells.count, 1);
        add(&cells.total_us, us);
        // Most statements are in the first ones.
        let bucket = BUCKETS_US.iter().position(|&longest| us <= longest).unwrap_or(BUCKETS_US.len());
        cells.buckets.get(bucket).into_iter().for_each(|bucket| add(bucket, 1));
    }

    /// All commands, in ProxySQL's order.
    pub fn counts(&self) -> Vec<CommandCounts> {
        let counts = |(kind, cells): (&StatementKind, &Cells)| CommandCounts {
            command: kind.name(),
            count: cells.count.get(),
            total_us: cells.total_us.get(),
            buckets: cells.buckets.each_ref().map(Cell::get),
        };
        StatementKind::COMMANDS.iter().zip(&*self.0).map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_in_one_bucket() {
        let commands = Commands::default();
        let times = [0, 100, 101, 500, 1_000, 9_999, 10_000_000, 10_000_001, u64::from(u32::MAX)];
        for us in times {
            commands.note(StatementKind::Select, Duration::from_micros(us));
        }
        commands.note(StatementKind::Unknown, Duration::from_nanos(100_999));
        let counts = commands.counts();
        let of = |name| counts.iter().find(|row| row.command == name).unwrap();
        assert_eq!(of("SELECT").buckets, [2, 2, 1, 0, 1, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((of("SELECT").count, of("SELECT").total_us), (9, times.iter().sum()));
        assert_eq!(of("UNKNOWN").buckets[0], 1, "whole microseconds count");
        assert_eq!(counts.iter().map(|row| row.count).sum::<u64>(), 10);
    }
}
