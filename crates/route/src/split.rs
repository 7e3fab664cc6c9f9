//! The split of reads from writes: what a statement is decides, no expression does.
//!
//! Only what is proven to be a plain read leaves the writer. In a transaction everything stays
//! where the transaction is; with `autocommit=0` a transaction begins with the next access of a
//! table, so nothing is sent away then.

use std::collections::HashMap;

use sql::StatementKind;
use sql::hint::AccessMode;
use sql::shape::Effects;

use crate::plan::{StatementPlan, said};
use crate::route::{Hold, Session};

/// Writers and their readers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pairs(HashMap<u32, u32>);

impl Pairs {
    /// These pairs, each of the hostgroup of writers and that of their readers. Of several with the
    /// same writers the last counts.
    pub fn new(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// With a pair of another table.
    #[must_use]
    pub fn with(mut self, writer: u32, reader: u32) -> Self {
        self.0.insert(writer, reader);
        self
    }

    /// The writer of readers.
    pub fn writer(&self, reader: u32) -> Option<u32> {
        self.0.iter().find(|(_, readers)| **readers == reader).map(|(writer, _)| *writer)
    }

    /// The readers of a writer.
    pub fn reader(&self, writer: u32) -> Option<u32> {
        self.0.get(&writer).copied()
    }
}

/// What the split says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// Which side.
    pub side: Side,
    /// Which hostgroup that is.
    pub hostgroup: u32,
    /// Why.
    pub reason: Reason,
}

/// Where a statement may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// To the user's hostgroup.
    Writer,
    /// To its readers.
    Reader,
    /// Where the session is.
    Stay,
}

/// Why a statement goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A transaction is open.
    Transaction,
    /// The session is locked on a hostgroup.
    Locked,
    /// The session left something at a server.
    Held(Hold),
    /// It asks about the statement before.
    LastResult,
    /// The user's hostgroup is no writer of a pair.
    NoPair,
    /// The client asked for this side.
    Asked,
    /// It begins a transaction that may write.
    Begins,
    /// It begins a transaction that only reads.
    BeginsReadOnly,
    /// It is no read.
    NotARead,
    /// It has these effects.
    Effects(Effects),
    /// A transaction would begin: autocommit is off.
    AutocommitOff,
    /// It is a plain read outside a transaction.
    PlainRead,
}

impl Reason {
    /// The reason as the end of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Transaction => "a transaction is open",
            Self::Locked => "the session is locked on it",
            Self::Held(hold) => hold.text(),
            Self::LastResult => "it asks about the statement before",
            Self::NoPair => "the user's hostgroup has no readers",
            Self::Asked => "the client asks for it",
            Self::Begins => "it begins a transaction that may write",
            Self::BeginsReadOnly => "it begins a read-only transaction",
            Self::NotARead => "it is no plain read",
            Self::Effects(effects) => said(effects).next().unwrap_or("it is no plain read"),
            Self::AutocommitOff => "autocommit is off: it would begin a transaction",
            Self::PlainRead => "a plain read outside a transaction",
        }
    }
}

/// What no reader does even for a client that asks for one.
const NEVER_AT_A_READER: Effects = Effects::WRITES
    .union(Effects::UNKNOWN)
    .union(Effects::LOCKS)
    .union(Effects::COMMITS)
    .union(Effects::NAMED_LOCKS)
    .union(Effects::SEQUENCE)
    .union(Effects::TEMPORARY_TABLE);

/// Where a statement with this plan goes, if the split alone decides. `writer` is the user's
/// hostgroup.
pub fn split(
    plan: StatementPlan,
    session: &Session,
    asked: Option<AccessMode>,
    writer: u32,
    pairs: &Pairs,
) -> Split {
    let at = |side, hostgroup, reason| Split { side, hostgroup, reason };
    if let Some(hostgroup) = session.transaction {
        return at(Side::Stay, hostgroup, Reason::Transaction);
    }
    if let Some(hostgroup) = session.locked_on {
        return at(Side::Stay, hostgroup, Reason::Locked);
    }
    if let Some((hold, hostgroup)) = session.hold {
        return at(Side::Stay, hostgroup, Reason::Held(hold));
    }
    if plan.effects.intersects(Effects::READS_LAST)
        && let Some(hostgroup) = session.last_hostgroup
    {
        return at(Side::Stay, hostgroup, Reason::LastResult);
    }
    let Some(reader) = pairs.reader(writer) else { return at(Side::Writer, writer, Reason::NoPair) };
    match side(plan, session, asked) {
        (true, reason) => at(Side::Reader, reader, reason),
        (false, reason) => at(Side::Writer, writer, reason),
    }
}

/// Whether a reader may run it, and why or why not.
fn side(plan: StatementPlan, session: &Session, asked: Option<AccessMode>) -> (bool, Reason) {
    let asks_for_reader = asked == Some(AccessMode::ReadOnly);
    if asked == Some(AccessMode::ReadWrite) {
        return (false, Reason::Asked);
    }
    if plan.effects.intersects(NEVER_AT_A_READER) {
        return (false, Reason::Effects(plan.effects));
    }
    // It waits where the reads behind it are: at a reader.
    let effects = plan.effects.difference(Effects::WAITS_FOR_POSITION);
    let nothing = || if effects.is_empty() { Reason::NotARead } else { Reason::Effects(effects) };
    match plan.kind {
        _ if plan.several => (false, nothing()),
        StatementKind::StartReadOnly => (true, Reason::BeginsReadOnly),
        kind if asks_for_reader && (kind.begins() || kind.is_select()) => (true, Reason::Asked),
        kind if kind.begins() => (false, Reason::Begins),
        kind if !(kind.is_select() && effects.is_empty()) => (false, nothing()),
        _ if !session.autocommit => (false, Reason::AutocommitOff),
        _ => (true, Reason::PlainRead),
    }
}

#[cfg(test)]
mod tests;
