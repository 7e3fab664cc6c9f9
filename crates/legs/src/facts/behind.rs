//! What is behind the tables of a statement, as far as it is known.

use runtime::decided::Decided;
use runtime::worker::Worker;
use session::limits::TABLES_MAX;
use session::relations::{Behind, Whose};
use session::state::marks::prepared_text;
use session::unjudged::{Calls, Unseen};
use sql::shape::{Effects, SCHEMAS_OF_SERVERS, Table};
use sql::{Modes, Options, Shape, StatementKind};

use crate::state::SessionState;

/// The longest name of a table, 64 letters.
const NAME_BYTES_MAX: usize = 256;

/// Statements that run nothing of what is behind the names that they define.
const DEFINES: [StatementKind; 7] = [
    StatementKind::CreateIndex,
    StatementKind::CreateTable,
    StatementKind::CreateTemporary,
    StatementKind::DropIndex,
    StatementKind::DropTable,
    StatementKind::RenameTable,
    StatementKind::TruncateTable,
];

/// What is behind the tables of a statement, if that is not nothing.
pub(crate) fn behind_tables(
    worker: &Worker,
    state: &SessionState,
    decided: &Decided,
    text: &[u8],
) -> Option<Unseen> {
    let (relations, now) = worker.relations();
    let whose = state.whose(decided.hostgroup());
    let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
    let digest = decided.digest().filter(|_| rewritten.is_none() && digest_has_tables(worker, decided));
    if digest.is_some_and(|digest| relations.sees_through(whose, digest, now)) {
        return None;
    }
    let text = rewritten.unwrap_or(text);
    let prepared = if decided.plan.tables { None } else { prepared_text(text) };
    let mut all = tables_of(prepared.as_deref().unwrap_or(text), state.caller.schema());
    if relations.are_harmless(whose, &all, digest, now) {
        return None;
    }
    let behind = |table: &Table| relations.behind(whose, table, now);
    // A `DEFAULT(column)` takes one as well.
    let takes = decided.plan.effects.intersects(Effects::WRITES.union(Effects::SEQUENCE));
    let matters = |one: &Table| match behind(one) {
        Some(Behind::Something) => true,
        Some(Behind::Sequence) => takes,
        Some(Behind::Nothing) | None => false,
    };
    if all.len() > TABLES_MAX || all.iter().any(matters) {
        return Some(Unseen::Known);
    }
    all.retain(|one| behind(one).is_none());
    if all.is_empty() {
        return None;
    }
    Some(Unseen::Unknown(Box::new(Calls::of_tables(all))))
}

/// Whether all statements with this digest have the same tables. Some options leave out digits
/// and capital letters.
fn digest_has_tables(worker: &Worker, decided: &Decided) -> bool {
    let routing = worker.routing.borrow();
    let is_exact = |options: &Options| !options.no_digits && !options.lowercase;
    decided.plan.tables && decided.screened.clear && routing.routes().digests.as_ref().is_some_and(is_exact)
}

impl SessionState {
    pub(crate) fn whose(&self, hostgroup: u32) -> Whose<'_> {
        Whose { caller: &self.caller, hostgroup }
    }
}

/// The tables of a statement in this schema that can be asked for.
fn tables_of(text: &[u8], schema: &[u8]) -> Vec<Table> {
    let Shape { kind, reads, mut writes, .. } = Shape::of(text, Modes::default());
    if DEFINES.contains(&kind) {
        writes.clear();
    }
    let schema = std::str::from_utf8(schema).unwrap_or_default();
    askable(reads.into_iter().chain(writes), schema)
}

/// Those of these tables that can be asked for, with their schemas. Names without one are of this
/// schema.
pub(crate) fn askable(tables: impl Iterator<Item = Table>, schema: &str) -> Vec<Table> {
    let mut all: Vec<_> = tables.map(|table| table.within(schema)).filter(is_askable).collect();
    all.dedup();
    all
}

/// Whether the name of a table can be put into a question as it is, and is not a server's own.
pub(crate) fn is_askable(table: &Table) -> bool {
    let (schema, name) = (table.schema.as_deref().unwrap_or_default(), table.name.as_str());
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['\'', '\\', char::REPLACEMENT_CHARACTER]);
    let is_of_servers = SCHEMAS_OF_SERVERS.iter().any(|own| own.eq_ignore_ascii_case(schema));
    is_plain(schema) && is_plain(name) && name.len() <= NAME_BYTES_MAX && !is_of_servers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let all = tables_of(text.as_bytes(), b"db");
        all.iter().map(|one| format!("{}.{}", one.schema.as_deref().unwrap(), one.name)).collect()
    }

    #[test]
    fn tables_are_those_that_a_server_can_be_asked_for() {
        assert_eq!(names("SELECT * FROM t JOIN a.`v w`"), ["db.t", "a.v w"]);
        assert_eq!(names("INSERT INTO t SELECT * FROM s"), ["db.s", "db.t"]);
        assert_eq!(names("SELECT * FROM information_schema.TABLES, `it's`, sys.x"), [""; 0]);
        assert_eq!(names("SELECT 1"), [""; 0]);
    }
}
