//! What a connection can do, and how often it does it.

use super::random::Random;

/// One kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// One row by its key.
    PointSelect,
    /// The same with a prepared statement.
    Prepared,
    /// Twenty rows, sorted.
    RangeSelect,
    /// A sum over the purchases of one item.
    Aggregate,
    /// Changes one row.
    Update,
    /// Adds one row.
    Insert,
    /// Reads a row for update, changes it, adds another, commits: five queries.
    Transaction,
    /// Removes old purchases, now and then, so that a long run does not fill the disk.
    Trim,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::PointSelect,
        Self::Prepared,
        Self::RangeSelect,
        Self::Aggregate,
        Self::Update,
        Self::Insert,
        Self::Transaction,
        Self::Trim,
    ];

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point select",
            Self::Prepared => "prepared select",
            Self::RangeSelect => "range select",
            Self::Aggregate => "aggregate",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Transaction => "transaction",
            Self::Trim => "trim",
        }
    }
}

/// Which operations a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Reads only: fit for replicas.
    Reads,
    /// Reads and writes.
    ReadsAndWrites,
    /// One row by its key, in text.
    PointSelects,
}

impl Mix {
    /// Operations with how many of 100 they are.
    const fn weights(self) -> &'static [(Operation, u64)] {
        match self {
            Self::Reads => &[
                (Operation::PointSelect, 50),
                (Operation::Prepared, 25),
                (Operation::RangeSelect, 15),
                (Operation::Aggregate, 10),
            ],
            Self::ReadsAndWrites => &[
                (Operation::PointSelect, 40),
                (Operation::Prepared, 20),
                (Operation::RangeSelect, 10),
                (Operation::Update, 15),
                (Operation::Insert, 10),
                (Operation::Transaction, 5),
            ],
            Self::PointSelects => &[(Operation::PointSelect, 100)],
        }
    }

    /// The next operation of a connection.
    pub(super) fn choose(self, random: &mut Random) -> Operation {
        let mut left = random.below(100);
        for &(operation, weight) in self.weights() {
            if left < weight {
                return operation;
            }
            left -= weight;
        }
        Operation::PointSelect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_percents_and_numbers_are_places() {
        for mix in [Mix::Reads, Mix::ReadsAndWrites, Mix::PointSelects] {
            assert_eq!(mix.weights().iter().map(|(_, weight)| weight).sum::<u64>(), 100);
        }
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
        }
    }
}
