//! Reading who has which prepared statements.

use super::Remote;
use crate::counts::report::StatementSums;
use crate::limits::DIGESTS_PAUSE;
use observe::rows::StatementStats;
use upstream::ledger::Slice;
use upstream::ledger::report::{list, sums};

impl Remote {
    /// What sessions have prepared, and connections to servers, of all workers together: one for
    /// each text of a user in a schema, in the order of their numbers. Some are left out if there
    /// are very many, or very long ones.
    pub fn statements(&self) -> Vec<StatementStats> {
        list(|from| self.slices(from, true))
    }

    /// Sums over all of them.
    pub(super) fn statement_sums(&self) -> StatementSums {
        sums(|from| self.slices(from, false))
    }

    /// What each worker has of them from a hash on, as much as it says in one turn.
    fn slices(&self, from: u64, with_texts: bool) -> Vec<Slice> {
        if from > 0 {
            std::thread::sleep(DIGESTS_PAUSE);
        }
        self.ask(move |worker| worker.ledger.slice(from, with_texts))
    }
}
