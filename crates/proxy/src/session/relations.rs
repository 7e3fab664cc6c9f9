//! What is behind the names of a statement's tables: a view or a trigger may do more than the
//! statement says.
//!
//! The first statement with a table counts as one that calls a stored function. Behind it, the
//! session's server is asked what is there; what it says holds for all sessions of the worker.

use session::limits::TABLES_MAX;
use session::unjudged::{Calls, Unseen};
use sql::routine::unhex;
use sql::shape::{Effects, SCHEMAS_OF_SERVERS};
use sql::{Modes, Options, Shape, StatementKind, routine};
use upstream::Reply;
use wire::packet::Cells;

use super::decided::Decided;
use super::routines::modes_of;
use super::state::SessionState;
use crate::limits::{RELATION_ROWS_MAX, ROUTINE_BYTES_MAX};
use crate::relations::{Behind, Relation, Whose};
use crate::state::marks::prepared_text;
use crate::worker::Worker;

/// What is in a definition of what may be behind the name of a table.
const DEFINITIONS: [&str; 5] = ["view", "trigger", "function", "procedure", "rename"];

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

impl Worker {
    /// What is behind the tables of a statement, if that is not nothing.
    pub(super) fn behind(&self, state: &SessionState, decided: &Decided, text: &[u8]) -> Option<Unseen> {
        let (relations, now) = self.relations();
        let whose = state.whose(decided.hostgroup());
        let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
        let digest = decided.digest().filter(|_| rewritten.is_none() && self.digest_has_tables(decided));
        if digest.is_some_and(|digest| relations.sees_through(whose, digest, now)) {
            return None;
        }
        let text = rewritten.unwrap_or(text);
        let prepared = if decided.plan.tables { None } else { prepared_text(text) };
        let mut all = tables_of(prepared.as_deref().unwrap_or(text), state.caller.schema());
        if relations.are_harmless(whose, &all, digest, now) {
            return None;
        }
        let behind = |relation: &Relation| relations.behind(whose, relation, now);
        // A `DEFAULT(column)` takes one as well.
        let takes = decided.plan.effects.intersects(Effects::WRITES.union(Effects::SEQUENCE));
        let matters = |one: &Relation| match behind(one) {
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
}

impl SessionState {
    pub(super) fn whose(&self, hostgroup: u32) -> Whose<'_> {
        Whose { caller: &self.caller, hostgroup }
    }
}

impl Worker {
    /// Whether all statements with this digest have the same tables. Some options leave out digits
    /// and capital letters.
    fn digest_has_tables(&self, decided: &Decided) -> bool {
        let routing = self.routing.borrow();
        let is_exact = |options: &Options| !options.no_digits && !options.lowercase;
        decided.plan.tables
            && decided.screened.clear
            && routing.routes().digests.as_ref().is_some_and(is_exact)
    }
}

/// Whether a text that commits may define what is behind the name of a table.
pub(super) fn defines(text: &[u8]) -> bool {
    let has = |word: &str| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    DEFINITIONS.into_iter().any(has)
}

/// The tables of a statement in this schema that can be asked for.
fn tables_of(text: &[u8], schema: &[u8]) -> Vec<Relation> {
    let Shape { kind, reads, mut writes, .. } = Shape::of(text, Modes::default());
    if DEFINES.contains(&kind) {
        writes.clear();
    }
    let schema = std::str::from_utf8(schema).unwrap_or_default();
    relations_of(reads.into_iter().chain(writes), schema)
}

/// These tables, named by what is in this schema.
pub(super) fn relations_of(tables: impl Iterator<Item = sql::shape::Table>, schema: &str) -> Vec<Relation> {
    let relation = |table: sql::shape::Table| Relation {
        schema: table.schema.unwrap_or_else(|| schema.to_owned()),
        name: table.name,
    };
    let mut all: Vec<_> = tables.map(relation).filter(can_be_asked_for).collect();
    all.dedup();
    all
}

/// Whether a name can be put into a question as it is, and is not a server's own.
pub(super) fn can_be_asked_for(relation: &Relation) -> bool {
    let Relation { schema, name } = relation;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['\'', '\\', char::REPLACEMENT_CHARACTER]);
    let is_of_servers = SCHEMAS_OF_SERVERS.iter().any(|own| own.eq_ignore_ascii_case(schema));
    is_plain(schema) && is_plain(name) && !is_of_servers
}

/// How to ask what is behind a name. Definitions come in hexadecimal: what character set results
/// have does not matter.
pub(super) fn question(relation: &Relation) -> String {
    let Relation { schema, name } = relation;
    format!(
        "SELECT 'view', HEX(VIEW_DEFINITION), '' FROM information_schema.VIEWS \
         WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}' UNION ALL \
         SELECT 'trigger', HEX(ACTION_STATEMENT), SQL_MODE FROM information_schema.TRIGGERS \
         WHERE EVENT_OBJECT_SCHEMA = '{schema}' AND EVENT_OBJECT_TABLE = '{name}' UNION ALL \
         SELECT 'default', '', '' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{schema}' \
         AND TABLE_NAME = '{name}' AND COLUMN_DEFAULT LIKE '%nextval(%' LIMIT {RELATION_ROWS_MAX}"
    )
}

/// Whether a server has answered that a column's default takes values of a sequence.
pub(super) fn takes_values(reply: &Reply) -> bool {
    let is_default = |row| Cells::of(row).next() == Some(Some(b"default"));
    reply.rows().is_some_and(|mut rows| rows.any(is_default))
}

/// What a view or triggers use by what their server has answered, if nothing of them outlives a
/// statement. What the user may not see has no definition.
pub(super) fn uses(reply: &Reply) -> Option<routine::Uses> {
    let mut all = routine::Uses::default();
    let rows = reply.rows()?;
    if rows.len() >= RELATION_ROWS_MAX {
        return None;
    }
    for row in rows {
        let mut cells = Cells::of(row);
        let (kind, definition, modes) = (cells.next()??, unhex(cells.next()??)?, cells.next()??);
        if definition.len() > ROUTINE_BYTES_MAX {
            return None;
        }
        let uses = match kind {
            _ if definition.is_empty() => routine::Uses::default(),
            b"view" => routine::view(&definition)?,
            _ => routine::trigger(&definition, modes_of(std::str::from_utf8(modes).ok()?)?)?,
        };
        all.routines.extend(uses.routines);
        all.tables.extend(uses.tables);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let all = tables_of(text.as_bytes(), b"db");
        all.iter().map(|one| format!("{}.{}", one.schema, one.name)).collect()
    }

    #[test]
    fn tables_are_those_that_a_server_can_be_asked_for() {
        assert_eq!(names("SELECT * FROM t JOIN a.`v w`"), ["db.t", "a.v w"]);
        assert_eq!(names("INSERT INTO t SELECT * FROM s"), ["db.s", "db.t"]);
        assert_eq!(names("SELECT * FROM information_schema.TABLES, `it's`, sys.x"), [""; 0]);
        assert_eq!(names("SELECT 1"), [""; 0]);
    }

    #[test]
    fn a_text_that_may_define_something_is_known() {
        assert!(defines(b"CREATE OR REPLACE VIEW v AS SELECT 1") && defines(b"rename table a to b"));
        assert!(!defines(b"TRUNCATE t"));
    }
}
