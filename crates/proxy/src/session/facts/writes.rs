//! What a statement writes, as far as cached answers depend on it.

use crate::session::decided::Decided;
use crate::session::facts::cache::tables_of;
use crate::session::flight::Flight;
use crate::session::links::Links;
use crate::session::state::{Past, SessionState};
use crate::worker::BookEntry;
use cache::Scope;
use cache::Writing;
use command::Command;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;

/// Hashes of the tables that a statement changes; nothing if that is not known.
pub(in crate::session) fn written(
    entry: &BookEntry,
    state: &SessionState,
    links: &Links,
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
        let what = state.prepared.as_ref()?.executed(command.statement()?)?;
        // A server executes it in the schema in which it was prepared.
        what.text.as_deref().filter(|_| what.modes == state.modes())?
    };
    let tables = tables_of(&entry.worker, text, decided);
    if !links.names_all(state, text, &tables) || names_written && tables.writes.is_empty() {
        return None;
    }
    let writes = if names_written { state.with_schemas(&tables.writes) } else { Vec::new() };
    let (cache, hostgroup) = (&entry.worker.shared.cache, decided.target()?);
    let reads = state.with_schemas(&tables.reads);
    let written =
        cache.catalog.written(entry.worker.sight(state, hostgroup), &cache.versions, writes, &reads);
    entry.want(hostgroup, written.to_ask);
    written.tables
}

/// The open transaction is being committed.
pub(in crate::session) fn note_commit(entry: &BookEntry, state: &SessionState, flight: &mut Flight) {
    if state.past.contains(Past::WROTE) && entry.worker.shared.cache.watches_writes() {
        add_write(entry, flight);
    }
}

pub(in crate::session) fn add_write(entry: &BookEntry, flight: &mut Flight) {
    let scope = match entry.worker.cached.written.borrow().get(&entry.control.id()) {
        Some(tables) => Scope::of_write(tables),
        None => Scope::of_unknown_write(),
    };
    let write = Writing::of_rows(&entry.worker.shared.cache, scope);
    flight.begin().taps.add_write(write);
}
