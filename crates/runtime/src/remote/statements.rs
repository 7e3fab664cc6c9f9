//! Reading who has which prepared statements.

use super::Remote;
use crate::counts::report::StatementSums;
use crate::limits::DIGESTS_PAUSE;
use upstream::ledger::Slice;
use upstream::ledger::report::sums;

impl Remote {
    /// Sums over all statements that sessions and connections to servers have prepared.
    pub(super) fn statement_sums(&self) -> StatementSums {
        sums(|from| self.slices(from, false))
    }

    /// What each worker has of prepared statements from a hash on, as much as it says in one turn.
    pub(super) fn slices(&self, from: u64, with_texts: bool) -> Vec<Slice> {
        if from > 0 {
            std::thread::sleep(DIGESTS_PAUSE);
        }
        self.ask(move |worker| worker.ledger.slice(from, with_texts))
    }
}
