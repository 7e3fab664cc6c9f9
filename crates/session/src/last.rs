//! What statements may ask about those before them: how many rows there were, `LAST_INSERT_ID()`,
//! and over which connection they ran.

use std::rc::Rc;

use wire::reply::Outcome;

use crate::ran::Ran;
use crate::state::Results;
use crate::state::substitute::{Counted, Unknown};

/// The number of no connection.
const NOWHERE: u64 = u64::MAX;

/// What statements may ask about those before them.
#[derive(Debug, Default)]
pub struct LastResults {
    /// What statements have run since the connection in use was taken.
    pub ran: Ran,
    /// What only servers know.
    pub results: Rc<Results>,
    /// How many rows the last one had.
    pub counted: Counted,
    /// The number of the connection over which the last statement ran; 0 if none has run.
    ran_on: u64,
    /// The same of the last statement that has counted rows for `FOUND_ROWS()`.
    found_on: u64,
    /// The hostgroup of the statement that ran last.
    pub hostgroup: Option<u32>,
}

impl LastResults {
    /// Those of a command that is no statement, and of nothing before it.
    pub fn of_command() -> Self {
        Self { ran: Ran::command(), ..Self::default() }
    }

    /// Takes note of what has run over the connection with this number since it was taken. Whether
    /// what is known of `LAST_INSERT_ID()` is another now.
    pub fn note_ran(&mut self, connection: u64) -> bool {
        let ran = std::mem::take(&mut self.ran);
        if ran.statements == 0 {
            return false;
        }
        if !ran.only_looked() {
            self.ran_on = connection;
        }
        if ran.counts {
            self.found_on = connection;
        }
        let before = self.results.last_id();
        let last_id = ran.last_id(before, connection);
        let is_another = last_id != before;
        if is_another {
            self.results.set_last_id(last_id);
        }
        is_another
    }

    /// The command that is answered next has ended like this.
    pub fn note_end(&mut self, outcome: Outcome) {
        self.counted = self.ran.note_end(outcome, self.counted);
    }

    /// The statement has run elsewhere, and ended like this; `found` is how many rows it had for
    /// `FOUND_ROWS()`.
    pub fn note_elsewhere(&mut self, outcome: Outcome, found: u64) {
        self.counted = Ran::default().note_end(outcome, self.counted);
        if outcome.ends_rows {
            self.counted.found = found;
        }
        self.hide_rows();
    }

    /// No server knows how many rows the statement before changed.
    pub const fn hide_changed(&mut self) {
        self.ran_on = NOWHERE;
    }

    /// No server knows how many rows the statement before had.
    pub const fn hide_rows(&mut self) {
        (self.ran_on, self.found_on) = (NOWHERE, NOWHERE);
    }

    /// The connection that is used from now on has had statements of other sessions.
    pub const fn was_used_by_others(&mut self) {
        if self.ran_on == 0 {
            self.ran_on = NOWHERE;
        }
        if self.found_on == 0 {
            self.found_on = NOWHERE;
        }
    }

    /// What the server of this connection does not know of the statement before the next one,
    /// because that ran over another connection.
    pub fn unknown_at(&self, here: Option<u64>) -> Unknown {
        let is_elsewhere =
            |connection: u64| self.ran.statements == 0 && connection != 0 && here != Some(connection);
        Unknown {
            changed: is_elsewhere(self.ran_on).then_some(self.counted.changed),
            found: is_elsewhere(self.found_on).then_some(self.counted.found),
        }
    }
}
