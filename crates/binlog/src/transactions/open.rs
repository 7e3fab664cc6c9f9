//! A transaction that has begun and has not ended.

use std::collections::BTreeMap;

use super::Transaction;
use super::judged::Judged;
use super::tables::{How, TABLES_MAX, Table, Tables, Why};
use crate::event::{Begin, Change, Statement};
use crate::xid::Xid;

/// The schema of accounts, privileges and others of the server's own tables.
const SYSTEM_SCHEMA: &str = "mysql";

/// Numbers that belong to no table: MySQL ends a statement with such a row event.
const NO_TABLE: [u64; 2] = [0xff_ffff, 0xffff_ffff_ffff];

/// A transaction whose begin was seen.
#[derive(Debug)]
pub(super) struct Open {
    /// What its events have said so far.
    pub(super) transaction: Transaction,
    /// The next statement is the whole transaction.
    pub(super) is_single: bool,
    /// Its events are compressed together.
    pub(super) is_compressed: bool,
    /// How the transaction ends, by its events so far.
    pub(super) end: End,
    /// Tables by their numbers in row events.
    numbers: BTreeMap<u64, Table>,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// The changes are committed, or there are none.
    Commit,
    /// Another transaction will commit the changes.
    Prepare(Xid),
    /// The changes of this prepared transaction are committed; `None` if its name is not known.
    Complete(Option<Xid>),
    /// The changes of this prepared transaction are rolled back.
    Forget(Option<Xid>),
}

impl Open {
    /// A transaction that begins like this.
    pub(super) fn new(begin: &Begin) -> Self {
        let is_alter = begin.change == Change::Alter;
        let tables = if is_alter { Tables::All(Why::Definitions) } else { Tables::default() };
        Self {
            transaction: Transaction { definitions: is_alter, ..Transaction::of(begin.gtid, tables) },
            is_single: matches!(begin.change, Change::ToBeSeen | Change::Standalone | Change::Alter),
            is_compressed: false,
            end: End::Commit,
            numbers: BTreeMap::new(),
        }
    }

    /// Adds a table that may be changed, and its number in row events.
    pub(super) fn map(&mut self, id: u64, schema: &[u8], name: &[u8]) {
        let known = self.numbers.get(&id);
        if known.is_some_and(|table| table.schema.as_bytes() == schema && table.name.as_bytes() == name) {
            return;
        }
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let table = Table { schema: text(schema), name: text(name) };
        self.transaction.privileges |= table.schema.eq_ignore_ascii_case(SYSTEM_SCHEMA);
        self.transaction.tables.add(table.clone(), How::empty());
        if self.numbers.len() < TABLES_MAX || self.numbers.contains_key(&id) {
            self.numbers.insert(id, table);
        } else {
            self.transaction.tables.all(Why::Many);
        }
    }

    /// Adds rows of the table with this number.
    pub(super) fn rows(&mut self, id: u64) {
        match self.numbers.get(&id) {
            Some(table) => self.transaction.tables.add(table.clone(), How::ROWS),
            None if NO_TABLE.contains(&id) => {}
            None => self.transaction.tables.all(Why::UnknownTable),
        }
    }

    /// Adds a statement that changes something.
    pub(super) fn statement(&mut self, statement: &Statement<'_>) {
        let Judged { tables, definitions, privileges } = Judged::of(statement);
        self.transaction.definitions |= definitions;
        self.transaction.privileges |= privileges;
        match tables {
            Ok(tables) => tables.into_iter().for_each(|(table, how)| {
                self.transaction.privileges |= table.schema.eq_ignore_ascii_case(SYSTEM_SCHEMA);
                self.transaction.tables.add(table, how);
            }),
            Err(why) => self.transaction.tables.all(why),
        }
    }

    /// The events follow, compressed together.
    pub(super) const fn compress(&mut self) {
        self.is_compressed = true;
    }

    /// The compressed events end. If they are not whole, any table may have changed.
    pub(super) fn expand(&mut self, whole: bool) {
        if !whole {
            self.transaction.tables.all(Why::Compressed);
        }
    }
}
