//! Whole transactions out of events: which tables each one changes.

mod control;
mod judged;
mod open;
mod position;
mod prepared;
mod tables;

pub use position::Position;
pub use tables::{How, Table, Tables, Why};

use gtid::Gtid;

use crate::event::{Event, Logged, Statement};
use crate::xid::Xid;
use control::Control;
use open::{End, Open};
use prepared::Prepared;

/// A transaction that has ended in the log. It may not be visible yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The transaction's GTID; `None` if the server gives none.
    pub gtid: Option<Gtid>,
    /// Tables that the transaction changes. An XA transaction changes them, and all that follows,
    /// when it is committed.
    pub tables: Tables,
    /// The transaction changes definitions.
    pub definitions: bool,
    /// The transaction changes accounts, roles or privileges.
    pub privileges: bool,
    /// The transaction commits an XA transaction that was prepared before.
    pub is_xa: bool,
}

impl Transaction {
    /// A transaction that changes these tables, and nothing else.
    pub(crate) const fn of(gtid: Option<Gtid>, tables: Tables) -> Self {
        Self { gtid, tables, definitions: false, privileges: false, is_xa: false }
    }
}

/// What follows from an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A transaction has ended.
    Transaction(Transaction),
    /// The stream has come to [`Transactions::position`] without a transaction.
    Progress,
    /// An event of an unknown type: every table may have changed.
    Unknown {
        /// The type's number.
        kind: u8,
    },
    /// The server has lost events: every table may have changed.
    Incident,
    /// An event comes where none of its kind may be: every table may have changed.
    Misplaced {
        /// What the event is.
        event: &'static str,
    },
    /// The server has sent the whole log, and was asked not to wait for more.
    End,
    /// The server ends the stream with an error.
    Refused {
        /// The error's number: 1236 if the log cannot be read from the position that was asked for.
        code: u16,
        /// The error's text.
        message: String,
    },
}

/// Folds the events of one stream to transactions.
///
/// XA transactions that were prepared are remembered over reconnects, as long as no transaction is
/// missed: see [`Transactions::reconnect`].
#[derive(Debug, Default)]
pub struct Transactions {
    position: Position,
    open: Option<Open>,
    prepared: Prepared,
}

impl Transactions {
    /// Where the last transaction ends, or where the log was said to end.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// Another stream begins, behind the last transaction of this one. The transaction that is open
    /// comes again.
    pub fn reconnect(&mut self) {
        self.open = None;
    }

    /// Goes on with an event. Facts go to `out`, in their order.
    pub fn take(&mut self, logged: &Logged<'_>, mut out: impl FnMut(Fact)) {
        match &logged.event {
            Event::Format { .. } => self.close(0, &mut out),
            Event::Rotate { file, position } => {
                self.close(0, &mut out);
                self.position.set(file, *position);
                out(Fact::Progress);
            }
            Event::Begin(begin) => {
                // A transaction that is open has no end: it changes what its events have said.
                self.close(0, &mut out);
                self.open = Some(Open::new(begin));
            }
            Event::Statement(statement) => self.statement(statement, logged.next_position, &mut out),
            Event::Table { id, schema, name } => {
                self.in_open("a table", &mut out, |open| open.map(*id, schema, name));
            }
            Event::Rows { id } => self.in_open("rows", &mut out, |open| open.rows(*id)),
            Event::Commit | Event::Prepare { one_phase: true, .. } => {
                self.end(End::Commit, logged.next_position, &mut out);
            }
            Event::Prepare { xid, .. } => self.end(End::Prepare(*xid), logged.next_position, &mut out),
            Event::Compressed => self.in_open("a compressed transaction", &mut out, Open::compress),
            Event::Expanded { whole } => {
                self.in_open("the end of a compressed transaction", &mut out, |open| open.expand(*whole));
                self.close(logged.next_position, &mut out);
            }
            Event::Unknown { kind } => {
                if let Some(open) = &mut self.open {
                    open.transaction.tables.all(Why::UnknownEvent);
                }
                out(Fact::Unknown { kind: *kind });
            }
            Event::Incident => {
                self.close(logged.next_position, &mut out);
                out(Fact::Incident);
            }
            Event::Heartbeat { file, position } => {
                self.position.set(file, *position);
                out(Fact::Progress);
            }
            Event::End => out(Fact::End),
            Event::Refused { code, message } => {
                let message = String::from_utf8_lossy(message).into_owned();
                out(Fact::Refused { code: *code, message });
            }
        }
    }

    /// Changes the open transaction by an event that belongs into one.
    fn in_open(&mut self, event: &'static str, out: &mut impl FnMut(Fact), change: impl FnOnce(&mut Open)) {
        match &mut self.open {
            Some(open) => change(open),
            None => out(Fact::Misplaced { event }),
        }
    }

    fn statement(&mut self, statement: &Statement<'_>, next_position: u32, out: &mut impl FnMut(Fact)) {
        let Some(open) = &mut self.open else { return out(Fact::Misplaced { event: "a statement" }) };
        match Control::of(statement.text) {
            Control::Begin => open.is_single = false,
            Control::Inside => {}
            Control::End => self.end(End::Commit, next_position, out),
            Control::XaCommit(xid) => self.end(End::Complete(xid), next_position, out),
            Control::XaRollback(xid) => self.end(End::Forget(xid), next_position, out),
            Control::None => {
                open.statement(statement);
                if open.is_single {
                    self.end(End::Commit, next_position, out);
                }
            }
        }
    }

    /// Ends the open transaction: now, or with the compressed events that it is in.
    fn end(&mut self, end: End, next_position: u32, out: &mut impl FnMut(Fact)) {
        let Some(open) = &mut self.open else { return out(Fact::Misplaced { event: "a commit" }) };
        open.end = end;
        if !open.is_compressed {
            self.close(next_position, out);
        }
    }

    /// Tells the open transaction: no event is added to it any more.
    fn close(&mut self, next_position: u32, out: &mut impl FnMut(Fact)) {
        let Some(open) = self.open.take() else { return };
        self.position.advance(next_position);
        let mut transaction = open.transaction;
        let gtid = transaction.gtid;
        let prepared = |xid: Option<Xid>, all: &mut Prepared| xid.and_then(|xid| all.remove(&xid));
        match open.end {
            End::Commit => {}
            End::Prepare(xid) => {
                let nothing = Transaction::of(gtid, Tables::default());
                self.prepared.insert(xid, std::mem::replace(&mut transaction, nothing));
            }
            End::Complete(xid) => {
                let changes = prepared(xid, &mut self.prepared).unwrap_or_else(unknown);
                transaction = Transaction { gtid, is_xa: true, ..changes };
            }
            End::Forget(xid) => {
                prepared(xid, &mut self.prepared);
            }
        }
        out(Fact::Transaction(transaction));
    }
}

/// What a prepared transaction changes of which nothing is known: anything.
fn unknown() -> Transaction {
    let tables = Tables::All(Why::UnknownXid);
    Transaction { definitions: true, privileges: true, ..Transaction::of(None, tables) }
}

#[cfg(test)]
mod tests;
