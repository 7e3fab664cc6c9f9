//! The part of a session in statements over sharded tables.

use std::rc::Rc;
use std::sync::Arc;

use runtime::worker::Worker;
use shard::Layout;
use wire::command::Kind;

use super::inner::Inner;
use super::prepared::Statements;
use super::savepoints::Savepoints;
use crate::state::Settings;

/// The part of a session in statements over sharded tables. Most have none, and all pay for its
/// size.
#[derive(Debug, Default)]
pub(in crate::session) struct Role(pub(super) Option<Box<Shards>>);

/// What a session has at shards.
#[derive(Debug, Default)]
pub(in crate::session) struct Shards {
    /// Those that it has used.
    pub(super) inner: Vec<Inner>,
    /// The one where the command of the client runs, if it takes the phases of a session there.
    pub(super) runs: Option<Inner>,
    /// How many it has made.
    pub(super) made: u64,
    /// The transaction that is open.
    pub(super) transaction: Transaction,
    /// What it has prepared.
    pub(super) statements: Statements,
    /// Where its last statement has run.
    pub(super) last: Place,
    /// The warnings of the last statement that had some at several shards.
    pub(super) warnings: Box<Warnings>,
    /// The command in the backlog runs at home.
    pub(super) stays_home: bool,
    /// The layout with which the open transaction has reached its first shard.
    pub(super) layout: Option<Arc<Layout>>,
    /// The inner session, by its serial number, whose server knows what `LAST_INSERT_ID()` is.
    pub(super) last_id: Option<u64>,
    /// How many definitions there had been when the last statement was planned.
    pub(super) planned_at: u64,
    /// The version of definitions when a statement was first prepared at home.
    pub(super) prepared_at: Option<u64>,
    /// Settings for inner sessions of the execution that runs, if they are not those of now.
    pub(super) as_then: Option<Rc<Settings>>,
}

impl Shards {
    /// Keeps the warnings of the last statement.
    pub(super) fn keep_warnings(&mut self, warnings: Warnings) {
        (*self.warnings, self.last) = (warnings, Place::Shards);
    }

    /// The next execution has the settings of now. Whether an inner session that ends knows what
    /// `LAST_INSERT_ID()` is.
    pub(super) fn end_as_then(&mut self) -> bool {
        self.as_then = None;
        let last = self.last_id;
        self.inner.iter().any(|inner| inner.is_for_once && Some(inner.serial) == last)
    }

    /// Drops the inner sessions that were for one execution.
    pub(super) fn forget_for_once(&mut self) {
        let gone: Vec<_> = self.inner.extract_if(.., |inner| inner.is_for_once).collect();
        self.statements.forget_sites(|serial| gone.iter().any(|inner| inner.serial == serial));
    }
}

/// What a shard has to hear before its first statement of the open transaction.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The statement that has begun it, or the one before it that `AND CHAIN` goes on with.
    pub(super) beginning: Option<Box<[u8]>>,
    /// Those that it has.
    pub(super) savepoints: Savepoints,
    /// A statement has written at home.
    pub(super) wrote_at_home: bool,
    /// `SET TRANSACTION` has said something of this one alone, which only the home knows.
    pub(super) is_special: bool,
}

/// The warnings of a statement.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    /// Definitions of the columns, as a server sends them.
    pub(super) columns: Vec<Vec<u8>>,
    pub(super) all: Vec<Warning>,
    /// How many there were. Servers keep the first ones.
    pub(super) count: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Warning {
    pub(super) level: Vec<u8>,
    pub(super) code: Vec<u8>,
    pub(super) text: Vec<u8>,
}

/// Where a statement runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In the outer session.
    #[default]
    Home,
    /// In the inner session of this hostgroup.
    Shard(u32),
    /// In several inner sessions. It has had warnings, which are kept.
    Shards,
    /// The warnings are in the inner session of this hostgroup. A command without a statement has
    /// come behind it, which says at home how many rows there were.
    Behind(u32),
}

impl Place {
    /// Where what may be asked about is behind such a command that home runs. One without a
    /// statement leaves warnings as they are, at both kinds of servers; one without a reply leaves
    /// all as it is.
    pub(super) const fn behind(self, kind: Kind) -> Self {
        match (kind, self) {
            (Kind::Ping | Kind::Statistics | Kind::SetOption, Self::Shard(at)) => Self::Behind(at),
            (
                Kind::StmtClose | Kind::SendLongData | Kind::Ping | Kind::Statistics | Kind::SetOption,
                last,
            ) => last,
            _ => Self::Home,
        }
    }
}

impl Role {
    /// Whether the next command may be about sharded tables: there are some, or the session has
    /// used some.
    pub(in crate::session) fn may_be_asked(&self, worker: &Worker) -> bool {
        self.0.is_some() || worker.has_shards()
    }

    /// Whether the command that begins now is to be looked at for that, and was not yet: it may
    /// have waited for a connection since.
    pub(in crate::session) fn looks(&self, worker: &Worker) -> bool {
        self.may_be_asked(worker) && !self.0.as_ref().is_some_and(|shards| shards.stays_home)
    }

    /// The command is over.
    pub(in crate::session) fn end_command(&mut self) {
        if let Some(shards) = &mut self.0 {
            shards.stays_home = false;
        }
    }

    /// Whether the command of the client takes the phases of a session at a shard.
    pub(in crate::session) fn runs_at_shard(&self) -> bool {
        self.0.as_ref().is_some_and(|shards| shards.runs.is_some())
    }

    /// That shard.
    pub(in crate::session) fn running(&mut self) -> Option<&mut Inner> {
        self.0.as_mut()?.runs.as_mut()
    }

    /// What it has at shards.
    pub(super) fn shards(&mut self) -> &mut Shards {
        self.0.get_or_insert_default()
    }
}
