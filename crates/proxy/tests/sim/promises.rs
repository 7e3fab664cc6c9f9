//! What a client was promised to be written, and what may be.

use std::collections::BTreeSet;
use std::iter;

use super::client::Player;
use super::model::{Database, Session, owner};
use super::statement::Statement;

impl Player {
    /// What these statements would write if all of them were carried out.
    pub(super) fn doubt(&mut self, twin: &Session, statements: impl IntoIterator<Item = Statement>) {
        let (mut twin, mut scratch) = (twin.clone(), Database::default());
        for statement in statements {
            twin.run(&mut scratch, statement);
        }
        self.maybe.extend(scratch.committed);
    }

    /// At the end each row that was promised is there, each row at most once, and no other.
    pub(super) fn check_rows(&self) {
        let home = self.world.database.borrow();
        let shards = self.world.shards.each_ref().map(|shard| shard.borrow());
        let committed: BTreeSet<u64> =
            iter::once(&home).chain(&shards).flat_map(|database| &database.committed).copied().collect();
        let lost: Vec<_> = self.database.committed.difference(&committed).collect();
        if !lost.is_empty() {
            self.fail(format!("c09: rows that were promised are not there: {lost:?}"));
        }
        let own = committed.iter().filter(|id| owner(**id) == self.me);
        let strange: Vec<_> =
            own.filter(|id| !self.database.committed.contains(id) && !self.maybe.contains(id)).collect();
        if !strange.is_empty() {
            self.fail(format!("c09: rows of transactions that did not end are there: {strange:?}"));
        }
        // Each row is in one place, so that no two servers count it.
        let mut inserted = iter::once(&home).chain(&shards).flat_map(|database| &database.inserted);
        if let Some((id, times)) = inserted.find(|(_, times)| **times > 1) {
            self.fail(format!("c10: row {id} was inserted {times} times"));
        }
    }
}
