//! How long sessions may take.

use std::time::Duration;

use tokio::time::Instant;

/// How long sessions may do nothing, or hold a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// `mysql-wait_timeout`: idle outside a transaction.
    pub idle: Duration,
    /// `mysql-max_transaction_idle_time`: idle inside a transaction.
    pub idle_in_transaction: Duration,
    /// `mysql-max_transaction_time`: a transaction, whether idle or not.
    pub transaction: Duration,
    /// `mysql-default_query_timeout`: a statement without a limit of its own.
    pub statement: Duration,
}

impl Patience {
    /// When a session that begins at `now` can have taken too long at the earliest.
    pub fn end(&self, now: Instant) -> Option<Instant> {
        let Self { idle, idle_in_transaction, transaction, statement } = *self;
        now.checked_add(idle.min(idle_in_transaction).min(transaction).min(statement))
    }
}
