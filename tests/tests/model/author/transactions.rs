//! Transactions of all kinds.

use super::Author;

impl Author {
    /// Begins, ends, or marks a place in a transaction.
    pub(super) fn transaction(&mut self) {
        match self.dice.below(14) {
            0..=3 => {
                self.one_of(&[
                    "BEGIN",
                    "BEGIN WORK",
                    "START TRANSACTION",
                    "START TRANSACTION READ ONLY",
                    "START TRANSACTION READ WRITE",
                    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
                ]);
                let end = *self.dice.pick(&["COMMIT", "ROLLBACK", "COMMIT WORK", "ROLLBACK AND NO CHAIN"]);
                self.later(end);
            }
            4 | 5 => self.one_of(&["COMMIT", "ROLLBACK", "ROLLBACK"]),
            6 => {
                self.one_of(&["COMMIT AND CHAIN", "ROLLBACK AND CHAIN"]);
                self.later("ROLLBACK");
            }
            7 => self.one_of(&[
                "SAVEPOINT one",
                "ROLLBACK TO SAVEPOINT one",
                "RELEASE SAVEPOINT one",
                "ROLLBACK TO one",
            ]),
            8 | 9 => {
                self.one_of(&[
                    "SET autocommit = 0",
                    "SET @@session.autocommit = OFF",
                    "SET SESSION AUTOCOMMIT=0",
                ]);
                self.later("SET autocommit = 1");
            }
            10 => self.one_of(&[
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SET TRANSACTION READ ONLY",
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
            ]),
            11 => {
                self.one_of(&[
                    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                    "SET SESSION TRANSACTION READ ONLY",
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                ]);
                self.later("SET SESSION TRANSACTION READ WRITE");
            }
            12 => self.xa(),
            _ => {
                // One that does something.
                self.query("BEGIN");
                for _ in 0..self.dice.within(1..4) {
                    self.write();
                    self.read();
                }
                self.one_of(&["COMMIT", "ROLLBACK"]);
                if self.dice.chance(40) {
                    self.ask_for_last();
                }
            }
        }
    }

    /// A distributed transaction from beginning to end: a prepared one would outlive the session,
    /// with its locks.
    fn xa(&mut self) {
        let name = format!("'x{}_{}'", self.db, self.said);
        self.query(format!("XA START {name}"));
        self.query("INSERT INTO {db}.t (a, b) VALUES ({n}, {tag})");
        if self.dice.chance(40) {
            self.read();
        }
        self.query(format!("XA END {name}"));
        if self.dice.chance(50) {
            self.query(format!("XA PREPARE {name}"));
            let end = *self.dice.pick(&["COMMIT", "ROLLBACK"]);
            self.query(format!("XA {end} {name}"));
        } else {
            self.query(format!("XA COMMIT {name} ONE PHASE"));
        }
    }
}
