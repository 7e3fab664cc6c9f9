//! What a statement's kind and its tables add to the effects that were found in its text. What is
//! in doubt counts against a reader.

use super::effects::Effects;
use super::kind::StatementKind;
use super::{Shape, Table};

/// Schemas of the servers themselves: their tables are about the server that is asked, and what is
/// behind their names is the server's own.
pub const SCHEMAS_OF_SERVERS: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// Tables of `information_schema` that tell what the server has done for the session last.
const ABOUT_THE_STATEMENT_BEFORE: [&str; 2] = ["optimizer_trace", "profiling"];

/// Effects that last until the session ends, whatever becomes of transactions.
const LASTING: Effects = Effects::TRANSACTION.union(Effects::PREPARED).union(Effects::TABLE_LOCKS);

/// The effects of what may do anything.
const UNKNOWN_WRITE: Effects = Effects::UNKNOWN.union(Effects::WRITES);

/// The effects of a whole text with this shape.
pub(super) fn effects(shape: &Shape) -> Effects {
    let mut effects = shape.effects;
    match shape.kind {
        _ if shape.several => {}
        // The kind says so.
        kind if kind.begins() || matches!(kind, StatementKind::Commit | StatementKind::Rollback) => {
            effects.remove(Effects::TRANSACTION | Effects::COMMITS);
        }
        // What they leave behind ends with the transaction, of which servers tell.
        StatementKind::Savepoint
        | StatementKind::RollbackSavepoint
        | StatementKind::ReleaseSavepoint
        | StatementKind::Xa => effects.remove(Effects::TRANSACTION),
        StatementKind::Handler => effects |= Effects::LOCKS_ROWS,
        StatementKind::Set | StatementKind::Use => effects |= Effects::SESSION,
        kind if kind.is_about_server() => effects |= Effects::ABOUT_SERVER,
        // All of it is understood but what the functions do.
        kind if kind.is_select() && effects & UNKNOWN_WRITE == Effects::UNKNOWN => {
            effects = (effects - Effects::UNKNOWN) | Effects::FUNCTION;
        }
        _ => {}
    }
    effects.set(Effects::SESSION, effects.intersects(LASTING | Effects::SESSION));
    if shape.reads.iter().any(is_about_the_statement_before) {
        effects |= Effects::READS_LAST;
    } else if shape.reads.iter().any(is_about_the_server) {
        effects |= Effects::ABOUT_SERVER;
    }
    effects
}

fn is_about_the_statement_before(table: &Table) -> bool {
    ABOUT_THE_STATEMENT_BEFORE.iter().any(|name| name.eq_ignore_ascii_case(&table.name))
}

fn is_about_the_server(table: &Table) -> bool {
    let schema = table.schema.as_deref();
    schema.is_some_and(|schema| SCHEMAS_OF_SERVERS.iter().any(|name| name.eq_ignore_ascii_case(schema)))
}
