//! Statements that make answers of the query cache too old, or what is known of tables.
//!
//! An answer in the mode `own` is from after the last write to its tables that a client of this
//! proxy was told to have succeeded. A write counts against the tables that it names, and those
//! that triggers and views behind them change. In a transaction that set grows with each statement,
//! and counts from before the `COMMIT` is sent. Where it is not known, the write is one to all
//! tables.

use cache::Writing;
use command::Command;
use route::StatementPlan;
use sql::StatementKind;
use sql::shape::Effects;
use wire::reply::Event;

use super::Session;
use super::decided::Decided;
use super::facts::cache::{forget_before, tables_of};
use super::facts::writes::{add_write, written};
use super::links::Links;
use super::relations::defines;
use super::segments::At;
use super::state::{Past, SessionState};
use crate::worker::{BookEntry, Worker};

/// What may change rows.
const WRITES: Effects = Effects::WRITES.union(Effects::UNKNOWN).union(Effects::FUNCTION);

/// Tables that a transaction is known to have written, at most. One with more counts as a write to
/// all tables.
const WRITTEN_MAX: usize = 64;

/// Words of statements that change privileges, in texts of which no more is known.
const OF_PRIVILEGES: [&[u8]; 6] = [b"grant", b"revoke", b"user", b"role", b"privileges", b"view"];

impl Session {
    /// A statement is being sent: as long as it runs, answers that it may change are not given.
    #[inline]
    pub(super) fn note_write(&mut self, command: Command<'_>, decided: &Decided) {
        if may_write(decided.plan) {
            self.begin_write(command, decided);
        }
    }

    #[cold]
    fn begin_write(&mut self, command: Command<'_>, decided: &Decided) {
        let plan = decided.plan;
        // Transactions are known from their beginning, also if answers are cached from now on only.
        let may_be_open = self.state.in_transaction()
            || self.state.past.contains(Past::UNSURE)
            || self.links.open_elsewhere().is_some();
        if self.links.pipelined.is_empty() && !may_be_open {
            if self.state.past.contains(Past::WROTE) {
                self.entry.worker.cached.written.borrow_mut().remove(&self.entry.control.id());
            }
            self.state.past.remove(Past::WROTE);
        }
        if plan.effects.intersects(WRITES) || plan.kind == StatementKind::Xa {
            note_written(&self.entry, &mut self.state, &self.links, command, decided);
        }
        if plan.effects.intersects(Effects::COMMITS) && defines(self.state.text_of(command)) {
            let defining = self.entry.worker.shared.definitions.begin();
            self.flight.begin().taps.set_defining(defining);
        }
        if !self.entry.worker.shared.cache.watches_writes() {
            self.state.past.insert(Past::UNWATCHED);
            return;
        }
        if self.state.past.contains(Past::WROTE) {
            add_write(&self.entry, &mut self.flight);
        }
        if let Some(changes) = begin_definition(&self.entry.worker, &mut self.state, command, decided) {
            self.flight.begin().taps.add_write(changes);
        }
    }
}

/// Adds what a statement writes to what the open transaction has written.
fn note_written(
    entry: &BookEntry,
    state: &mut SessionState,
    links: &Links,
    command: Command<'_>,
    decided: &Decided,
) {
    let is_first = !state.past.contains(Past::WROTE);
    let tables =
        entry.worker.shared.cache.watches_tables().then(|| written(entry, state, links, command, decided));
    let tables = tables.flatten();
    if decided.plan.kind.is_select() && tables.as_ref().is_some_and(Vec::is_empty) {
        // Views that it reads call nothing.
        return;
    }
    state.past.insert(Past::WROTE);
    let (mut written, id) = (entry.worker.cached.written.borrow_mut(), entry.control.id());
    let before = written.remove(&id).or(is_first.then(Vec::new));
    if let Some((mut all, tables)) = before.zip(tables) {
        for table in tables {
            if !all.contains(&table) {
                all.push(table);
            }
        }
        if all.len() <= WRITTEN_MAX {
            written.insert(id, all);
        }
    }
}

/// What a statement does to definitions and privileges, if it may.
fn begin_definition(
    worker: &Worker,
    state: &mut SessionState,
    command: Command<'_>,
    decided: &Decided,
) -> Option<Writing> {
    let plan = decided.plan;
    let text = state.text_of(command);
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    // What comes from a variable may be anything; values of an EXECUTE are none of that.
    let is_text =
        plan.kind == StatementKind::Prepare || plan.kind == StatementKind::Execute && has(b"immediate");
    let may_name = OF_PRIVILEGES.into_iter().any(has) || is_text && has(b"@");
    let cache = &worker.shared.cache;
    let changes = if changes_privileges(worker, state, plan, text, may_name, decided) {
        Some(Writing::of_privileges(cache))
    } else if may_define(plan) {
        Some(Writing::of_definitions(cache))
    } else {
        None
    };
    if plan.kind == StatementKind::Prepare && may_name {
        state.past.insert(Past::PREPARED_PRIVILEGES);
    }
    changes
}

/// Whether a statement may change what accounts may read.
/// `may_name`: it has words of statements about privileges.
fn changes_privileges(
    worker: &Worker,
    state: &SessionState,
    plan: StatementPlan,
    text: &[u8],
    may_name: bool,
    decided: &Decided,
) -> bool {
    use StatementKind as Of;
    let is_server = |schema: &[u8]| schema.eq_ignore_ascii_case(b"mysql");
    let writes_there = || {
        let tables = tables_of(worker, text, decided);
        tables
            .writes
            .iter()
            .any(|table| is_server(table.schema.as_deref().map_or(state.caller.schema(), str::as_bytes)))
    };
    match plan.kind {
        Of::Grant
        | Of::Revoke
        | Of::CreateUser
        | Of::DropUser
        | Of::CreateView
        | Of::AlterView
        | Of::DropView
        | Of::Define
        | Of::Flush => true,
        // `SET DEFAULT ROLE`, `SET GLOBAL mandatory_roles`.
        Of::Set => may_name && plan.effects.contains(Effects::WRITES),
        Of::Execute => may_name || state.past.contains(Past::PREPARED_PRIVILEGES),
        _ if plan.several || plan.effects.contains(Effects::UNKNOWN) => may_name,
        _ => plan.effects.contains(Effects::WRITES) && writes_there(),
    }
}

impl At<'_> {
    /// The client is about to get a part of a reply, with `event` behind it. The command may have
    /// been a write, and the cache was not told of it.
    #[cold]
    pub(super) fn end_unwatched(&mut self, event: Event) {
        let is_over = matches!(event, Event::Done(_)) && self.pipelined.is_empty();
        self.state.past.set(Past::UNWATCHED, !is_over);
        forget_before(&self.entry.worker.shared.cache);
    }
}

/// Whether something may be changed by a statement, or become visible to others.
const fn may_write(plan: StatementPlan) -> bool {
    // A COMMIT may be behind the first of several statements.
    plan.several
        || !matches!(plan.kind, StatementKind::Select | StatementKind::Show)
        || plan.effects.intersects(WRITES)
}

/// Whether a statement may change a definition.
const fn may_define(plan: StatementPlan) -> bool {
    use StatementKind as Of;
    // They commit, and define nothing.
    let commits_only =
        !plan.several && matches!(plan.kind, Of::Set | Of::LockTable | Of::UnlockTables | Of::TruncateTable);
    plan.effects.intersects(Effects::UNKNOWN) || plan.effects.intersects(Effects::COMMITS) && !commits_only
}
