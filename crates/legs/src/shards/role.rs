//! The part of a session in statements over sharded tables.

use std::rc::Rc;
use std::sync::Arc;

use planner::plan::Branch;
use route::{Caller, StatementPlan};
use runtime::worker::Worker;
use scatter::{Over, Relay};
use session::state::Settings;
use shard::Layout;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::leg::Leg;
use crate::links::Links;
use crate::phase::Phase;
use crate::shards::command::Command;
use crate::shards::prepared::{Statement, Statements};
use crate::shards::savepoints::Savepoints;
use crate::shards::warnings::{Question, Warnings};
use crate::state::SessionState;

/// The part of a session in statements over sharded tables. Most have none, and all pay for its
/// size.
#[derive(Debug, Default)]
pub struct Role(pub Option<Box<Shards>>);

/// What a session has at shards.
#[derive(Debug, Default)]
pub struct Shards {
    /// Those that it has used.
    pub inner: Vec<Inner>,
    /// The one where the command of the client runs, if it takes the phases of a session there.
    pub runs: Option<Inner>,
    /// How many it has made.
    pub made: u64,
    /// The transaction that is open.
    pub transaction: Transaction,
    /// What it has prepared.
    pub statements: Statements,
    /// Where its last statement has run.
    pub last: Place,
    /// The warnings of the last statement that had some at several shards.
    pub warnings: Box<Warnings>,
    /// The command in the backlog runs at home.
    pub(crate) stays_home: bool,
    /// The layout with which the open transaction has reached its first shard.
    pub layout: Option<Arc<Layout>>,
    /// The inner session, by its serial number, whose server knows what `LAST_INSERT_ID()` is.
    pub last_id: Option<u64>,
    /// How many definitions there had been when the last statement was planned.
    pub planned_at: u64,
    /// The version of definitions when a statement was first prepared at home.
    pub prepared_at: Option<u64>,
    /// Settings for inner sessions of the execution that runs, if they are not those of now.
    pub as_then: Option<Rc<Settings>>,
}

impl Shards {
    /// Keeps the warnings of the last statement.
    pub fn keep_warnings(&mut self, warnings: Warnings) {
        (*self.warnings, self.last) = (warnings, Place::Shards);
    }

    /// The next execution has the settings of now. Whether an inner session that ends knows what
    /// `LAST_INSERT_ID()` is.
    pub fn end_as_then(&mut self) -> bool {
        self.as_then = None;
        let last = self.last_id;
        self.inner.iter().any(|inner| inner.is_for_once && Some(inner.serial) == last)
    }

    /// Drops the inner sessions that were for one execution.
    pub fn forget_for_once(&mut self) {
        let gone: Vec<_> = self.inner.extract_if(.., |inner| inner.is_for_once).collect();
        self.statements.forget_sites(|serial| gone.iter().any(|inner| inner.serial == serial));
    }
}

/// What a shard has to hear before its first statement of the open transaction.
#[derive(Debug, Default)]
pub struct Transaction {
    /// The statement that has begun it, or the one before it that `AND CHAIN` goes on with.
    pub beginning: Option<Box<[u8]>>,
    /// Those that it has.
    pub savepoints: Savepoints,
    /// A statement has written at home.
    pub wrote_at_home: bool,
    /// `SET TRANSACTION` has said something of this one alone, which only the home knows.
    pub is_special: bool,
}

/// Where a statement runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
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
    pub(crate) const fn behind(self, kind: Kind) -> Self {
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
    pub fn may_be_asked(&self, worker: &Worker) -> bool {
        self.0.is_some() || worker.has_shards.get()
    }

    /// Whether the command that begins now is to be looked at for that, and was not yet: it may
    /// have waited for a connection since.
    pub fn looks(&self, worker: &Worker) -> bool {
        self.may_be_asked(worker) && !self.0.as_ref().is_some_and(|shards| shards.stays_home)
    }

    /// The command is over.
    pub fn end_command(&mut self) {
        if let Some(shards) = &mut self.0 {
            shards.stays_home = false;
        }
    }

    /// Whether the command of the client takes the phases of a session at a shard.
    pub fn runs_at_shard(&self) -> bool {
        self.0.as_ref().is_some_and(|shards| shards.runs.is_some())
    }

    /// That shard.
    pub fn running(&mut self) -> Option<&mut Inner> {
        self.0.as_mut()?.runs.as_mut()
    }

    /// What it has at shards.
    pub fn shards(&mut self) -> &mut Shards {
        self.0.get_or_insert_default()
    }

    /// Inner sessions, if the session has any.
    pub fn inner_sessions(&mut self) -> &mut [Inner] {
        self.0.as_mut().map_or(&mut [], |shards| &mut shards.inner)
    }

    /// Whether a transaction is open at a shard.
    pub fn has_transaction(&self) -> bool {
        self.0.as_ref().is_some_and(|shards| shards.inner.iter().any(Inner::is_in_transaction))
    }
}

impl Links {
    /// Puts an inner session back.
    pub fn put_inner(&mut self, inner: Inner) {
        self.away.role.shards().inner.push(inner);
    }

    /// The command of the client runs no more, or goes on at home. Whether it ran at a shard.
    pub fn come_home(&mut self) -> bool {
        let Some(shards) = self.away.role.0.as_mut() else { return false };
        let Some(inner) = shards.runs.take() else { return false };
        shards.last = inner.place();
        shards.inner.push(inner);
        true
    }

    /// The command in the backlog runs in the outer session.
    pub fn stay_home(&mut self, kind: Kind) -> Phase {
        let shards = self.away.role.shards();
        (shards.stays_home, shards.last) = (true, shards.last.behind(kind));
        Phase::Reading
    }

    /// Keeps what later statements may ask about this one.
    pub fn note_scattered(&mut self, state: &mut SessionState, relay: &Relay, first: u32, branches: usize) {
        let scatter = relay.scatter();
        let over = scatter.over();
        if let Some(over) = over.filter(|_| branches > 1) {
            state.last.note_elsewhere(over.outcome, over.found_rows);
        }
        let is_one = branches == 1 || over.is_none_or(Over::is_error);
        let shards = self.away.role.shards();
        shards.last = if is_one { Place::Shard(first) } else { Place::Home };
    }

    /// The statement over sharded tables that the client knows as `id`.
    pub fn statement_at_shards(&mut self, id: u32) -> Option<&mut Statement> {
        self.away.role.shards().statements.get(id)
    }

    /// An execution may open a cursor at this shard.
    pub fn note_cursor(&mut self, command: &Command<'_>, branch: &Branch, inner: u64) {
        let Some((id, _)) = command.execution else { return };
        let Some(statement) = self.statement_at_shards(id) else { return };
        let known_as = statement.site(inner, branch.text.as_deref());
        statement.cursor = known_as.filter(|_| command.opens_cursor()).map(|id| (inner, id));
    }

    /// Where the statement has run that this one asks about, if it asks about one.
    pub fn place_of_last(&mut self, what: StatementPlan, text: &[u8]) -> Option<Place> {
        let shards = self.away.role.shards();
        let is_diagnostics = what.kind == StatementKind::Diagnostics;
        let asks = what.effects.intersects(Effects::READS_LAST) || is_diagnostics;
        let is_there = match shards.last {
            Place::Home => false,
            Place::Shard(_) => true,
            // All else that they may ask is known without the shards.
            Place::Shards => Question::of(text).is_some(),
            Place::Behind(_) => is_diagnostics || Question::of(text).is_some(),
        };
        (asks && is_there).then_some(shards.last)
    }
}

impl Inner {
    /// Where it is.
    pub const fn place(&self) -> Place {
        Place::Shard(self.hostgroup)
    }

    /// Whether a transaction is open there.
    pub fn is_in_transaction(&self) -> bool {
        self.leg.state.in_transaction()
    }
}

/// A session at a shard.
#[derive(Debug)]
pub struct Inner {
    /// The shard's hostgroup.
    pub hostgroup: u32,
    /// Which of the sessions of that hostgroup: 0 has the transactions.
    pub slot: usize,
    /// Its number among all that the outer session has made.
    pub serial: u64,
    /// Where it runs, with the control of its own while it runs beside others.
    pub entry: BookEntry,
    /// What it has there.
    pub leg: Box<Leg>,
    /// Who the outer session was, and what it had set, when that was taken over.
    pub followed: Option<(Arc<Caller>, Rc<Settings>)>,
    /// It has written in the transaction that is open.
    pub wrote: bool,
    /// It has the settings of another time, and ends with the execution that runs.
    pub is_for_once: bool,
}
