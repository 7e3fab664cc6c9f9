//! Statements by ProxySQL's command, and how long they took.

use std::time::Duration;

use super::histogram::Histogram;
use crate::rows::CommandCounts;
use sql::StatementKind;

/// How many commands there are.
const COMMANDS: usize = StatementKind::COMMANDS.len();

/// The statements of one worker.
#[derive(Debug)]
pub struct Commands(Box<[Histogram; COMMANDS]>);

impl Default for Commands {
    fn default() -> Self {
        Self(Box::new(std::array::from_fn(|_| Histogram::default())))
    }
}

impl Commands {
    /// Counts a statement that took `time`.
    pub fn note(&self, kind: StatementKind, time: Duration) {
        self.0.get(kind.command() as usize).into_iter().for_each(|times| times.note(time));
    }

    /// All commands, in ProxySQL's order.
    pub fn counts(&self) -> Vec<CommandCounts> {
        let counts = |(kind, times): (&StatementKind, &Histogram)| CommandCounts {
            command: kind.name(),
            times: times.times(),
        };
        StatementKind::COMMANDS.iter().zip(&*self.0).map(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_counted_by_its_command() {
        let commands = Commands::default();
        commands.note(StatementKind::Select, Duration::from_micros(7));
        commands.note(StatementKind::Select, Duration::from_micros(8));
        commands.note(StatementKind::Unknown, Duration::from_micros(9));
        let counts = commands.counts();
        let of = |name| counts.iter().find(|row| row.command == name).unwrap().times;
        assert_eq!((of("SELECT").count, of("SELECT").total_us), (2, 15));
        assert_eq!(of("UNKNOWN").total_us, 9);
        assert_eq!(counts.iter().map(|row| row.times.count).sum::<u64>(), 3);
    }
}
