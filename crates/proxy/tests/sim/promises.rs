//! What a client was promised to be written, and what may be.

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
        let database = self.world.database.borrow();
        let lost: Vec<_> = self.database.committed.difference(&database.committed).collect();
        if !lost.is_empty() {
            self.fail(format!("c09: rows that were promised are not there: {lost:?}"));
        }
        let own = database.committed.iter().filter(|id| owner(**id) == self.me);
        let strange: Vec<_> =
            own.filter(|id| !self.database.committed.contains(id) && !self.maybe.contains(id)).collect();
        if !strange.is_empty() {
            self.fail(format!("c09: rows of transactions that did not end are there: {strange:?}"));
        }
        if let Some((id, times)) = database.inserted.iter().find(|(_, times)| **times > 1) {
            self.fail(format!("c10: row {id} was inserted {times} times"));
        }
    }
}
