//! What a statement writes, as far as cached answers depend on it.
//!
//! An answer in the mode `own` is from after the last write to its tables that a client of this
//! proxy was told to have succeeded. A write counts against the tables that it names, and those
//! that triggers and views behind them change. In a transaction that set grows with each statement,
//! and counts from before the `COMMIT` is sent. Where it is not known, the write is one to all
//! tables.

use cache::{Scope, Writing};
use command::Command;
use legs::cache::tables::sight;
use legs::entry::BookEntry;
use legs::flight::Flight;
use legs::leg::Leg;
use legs::relations::defines;
use legs::state::{Past, SessionState};
use route::StatementPlan;
use runtime::decided::Decided;
use runtime::worker::Worker;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;

use crate::session::facts::cache::tables_of;

/// Hashes of the tables that a statement changes; nothing if that is not known.
pub(crate) fn written(
    entry: &BookEntry,
    leg: &Leg,
    command: Command<'_>,
    decided: &Decided,
) -> Option<Vec<u64>> {
    use StatementKind as Of;
    let plan = decided.plan;
    let is_temporary = plan.effects.contains(Effects::TEMPORARY_TABLE)
        && !plan.effects.intersects(Effects::COMMITS | Effects::UNKNOWN | Effects::FUNCTION);
    let names_written = match plan.kind {
        Of::Insert | Of::Replace | Of::Update | Of::Delete | Of::Load | Of::TruncateTable => true,
        Of::CreateTemporary if is_temporary => false,
        kind if kind.is_select() => false,
        _ => return None,
    };
    if plan.several || plan.effects.contains(Effects::UNKNOWN) || !entry.worker.settings().judge_tables {
        return None;
    }
    let text = if command.kind == Kind::Query {
        command.text()
    } else {
        let what = leg.state.executed(command)?;
        // A server executes it in the schema in which it was prepared.
        what.text.as_deref().filter(|_| what.modes == leg.state.modes())?
    };
    let tables = tables_of(&entry.worker, text, decided);
    if !leg.links.names_all(&leg.state, text, &tables) || names_written && tables.writes.is_empty() {
        return None;
    }
    let writes = if names_written { leg.state.with_schemas(&tables.writes) } else { Vec::new() };
    let (cache, hostgroup) = (&entry.worker.shared.cache, decided.target()?);
    let reads = leg.state.with_schemas(&tables.reads);
    let written =
        cache.catalog.written(sight(&entry.worker, &leg.state, hostgroup), &cache.versions, writes, &reads);
    entry.want(hostgroup, written.to_ask);
    written.tables
}

/// The open transaction is being committed.
pub(crate) fn note_commit(entry: &BookEntry, state: &SessionState, flight: &mut Flight) {
    if state.past.contains(Past::WROTE) && entry.worker.shared.cache.watches_writes() {
        add_write(entry, flight);
    }
}

pub(crate) fn add_write(entry: &BookEntry, flight: &mut Flight) {
    let scope = match entry.worker.cached.written.borrow().get(&entry.control.id()) {
        Some(tables) => Scope::of_write(tables),
        None => Scope::of_unknown_write(),
    };
    let write = Writing::of_rows(&entry.worker.shared.cache, scope);
    flight.begin().taps.add_write(write);
}

/// A statement is being sent: as long as it runs, answers that it may change are not given.
#[inline]
pub(crate) fn note_write(entry: &BookEntry, leg: &mut Leg, command: Command<'_>, decided: &Decided) {
    if may_write(decided.plan) {
        begin_write(entry, leg, command, decided);
    }
}

#[cold]
pub(crate) fn begin_write(entry: &BookEntry, leg: &mut Leg, command: Command<'_>, decided: &Decided) {
    let plan = decided.plan;
    // Transactions are known from their beginning, also if answers are cached from now on only.
    let may_be_open = leg.state.in_transaction()
        || leg.state.past.contains(Past::UNSURE)
        || leg.links.open_elsewhere().is_some();
    if leg.links.pipelined.is_empty() && !may_be_open {
        if leg.state.past.contains(Past::WROTE) {
            entry.worker.cached.written.borrow_mut().remove(&entry.control.id());
        }
        leg.state.past.remove(Past::WROTE);
    }
    if plan.effects.intersects(WRITES) || plan.kind == StatementKind::Xa {
        note_written(entry, leg, command, decided);
    }
    if plan.effects.intersects(Effects::COMMITS) && defines(leg.state.text_of(command)) {
        let defining = entry.worker.shared.definitions.begin();
        leg.flight.begin().taps.set_defining(defining);
    }
    if !entry.worker.shared.cache.watches_writes() {
        leg.state.past.insert(Past::UNWATCHED);
        return;
    }
    if leg.state.past.contains(Past::WROTE) {
        add_write(entry, &mut leg.flight);
    }
    if let Some(changes) = begin_definition(&entry.worker, &mut leg.state, command, decided) {
        leg.flight.begin().taps.add_write(changes);
    }
}

/// Whether something may be changed by a statement, or become visible to others.
pub(crate) const fn may_write(plan: StatementPlan) -> bool {
    // A COMMIT may be behind the first of several statements.
    plan.several
        || !matches!(plan.kind, StatementKind::Select | StatementKind::Show)
        || plan.effects.intersects(WRITES)
}

/// What may change rows.
pub(crate) const WRITES: Effects = Effects::WRITES.union(Effects::UNKNOWN).union(Effects::FUNCTION);

/// Adds what a statement writes to what the open transaction has written.
pub(crate) fn note_written(entry: &BookEntry, leg: &mut Leg, command: Command<'_>, decided: &Decided) {
    let is_first = !leg.state.past.contains(Past::WROTE);
    let tables = entry.worker.shared.cache.watches_tables().then(|| written(entry, leg, command, decided));
    let tables = tables.flatten();
    if decided.plan.kind.is_select() && tables.as_ref().is_some_and(Vec::is_empty) {
        // Views that it reads call nothing.
        return;
    }
    leg.state.past.insert(Past::WROTE);
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
pub(crate) fn begin_definition(
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
pub(crate) fn changes_privileges(
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

/// Whether a statement may change a definition.
pub(crate) const fn may_define(plan: StatementPlan) -> bool {
    use StatementKind as Of;
    // They commit, and define nothing.
    let commits_only =
        !plan.several && matches!(plan.kind, Of::Set | Of::LockTable | Of::UnlockTables | Of::TruncateTable);
    plan.effects.intersects(Effects::UNKNOWN) || plan.effects.intersects(Effects::COMMITS) && !commits_only
}

/// Words of statements that change privileges, in texts of which no more is known.
pub(crate) const OF_PRIVILEGES: [&[u8]; 6] = [b"grant", b"revoke", b"user", b"role", b"privileges", b"view"];

/// Tables that a transaction is known to have written, at most. One with more counts as a write to
/// all tables.
pub(crate) const WRITTEN_MAX: usize = 64;
