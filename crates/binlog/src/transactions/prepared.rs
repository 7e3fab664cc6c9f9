//! XA transactions that were prepared and not yet committed.

use std::collections::{HashMap, VecDeque};

use super::Transaction;
use crate::xid::Xid;

/// Prepared transactions that are remembered, at most. The oldest one is forgotten, and changes
/// every table when it is committed.
const PREPARED_MAX: usize = 1024;

/// Tables of all prepared transactions, at most.
const TABLES_MAX: usize = 16 * 1024;

/// Prepared transactions, by their names.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    transactions: HashMap<Xid, Transaction>,
    /// The names, the oldest first; each is there once.
    order: VecDeque<Xid>,
    /// Tables of all.
    len: usize,
}

impl Prepared {
    /// Remembers a transaction. Beyond the limits the oldest ones are forgotten.
    pub(super) fn insert(&mut self, xid: Xid, transaction: Transaction) {
        self.remove(&xid);
        self.len += transaction.tables.len();
        self.transactions.insert(xid, transaction);
        self.order.push_back(xid);
        while self.order.len() > PREPARED_MAX || self.len > TABLES_MAX {
            let Some(oldest) = self.order.front().copied() else { return };
            self.remove(&oldest);
        }
    }

    /// Forgets a transaction that ends, and returns it; `None` if it is not known.
    pub(super) fn remove(&mut self, xid: &Xid) -> Option<Transaction> {
        let transaction = self.transactions.remove(xid)?;
        self.len -= transaction.tables.len();
        self.order.retain(|other| other != xid);
        Some(transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::{How, Table, Tables, Why};
    use super::*;

    fn xid(number: usize) -> Xid {
        Xid::new(1, number.to_string().as_bytes(), b"").unwrap()
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut prepared = Prepared::default();
        let transaction = || Transaction::of(None, Tables::All(Why::Many));
        for number in 0..=PREPARED_MAX {
            prepared.insert(xid(number), transaction());
        }
        assert_eq!(prepared.remove(&xid(0)), None);
        assert_eq!(prepared.remove(&xid(1)), Some(transaction()));
        assert_eq!(prepared.remove(&xid(1)), None);
    }

    #[test]
    fn tables_are_bounded() {
        let mut prepared = Prepared::default();
        let transaction = |count: usize| {
            let table = |number: usize| Table { schema: String::new(), name: number.to_string() };
            let tables = (0..count).map(|number| (table(number), How::ROWS));
            Transaction::of(None, Tables::These(tables.collect()))
        };
        let each = TABLES_MAX / 4;
        for number in 0..5 {
            prepared.insert(xid(number), transaction(each));
            prepared.insert(xid(number), transaction(each));
        }
        assert_eq!((prepared.len, prepared.order.len()), (4 * each, 4));
        assert_eq!(prepared.remove(&xid(0)), None);
        for number in 1..5 {
            assert!(prepared.remove(&xid(number)).is_some());
        }
        assert_eq!((prepared.len, prepared.order.len()), (0, 0));
    }
}
