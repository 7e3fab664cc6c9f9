//! Asking a server for definitions of stored code, and its answer.

use sql::Modes;

use super::{OF_SERVERS, Object};
use crate::define::literal;

/// Why an answer was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer about stored code is not understood")]
pub struct Unreadable;

/// A row of the answer.
pub(super) struct Definition<'a> {
    /// It says that there is a view, and not what it is.
    pub(super) is_view: bool,
    /// Where it is.
    pub(super) schema: String,
    /// Its text, as far as the user may see it.
    pub(super) text: &'a [u8],
    /// Modes in which it was written.
    pub(super) modes: Modes,
}

impl Definition<'_> {
    pub(super) fn is_readable(&self) -> bool {
        !self.text.is_empty()
    }
}

/// See [`Object::question`].
pub(super) fn question(object: &Object) -> String {
    let row = |kind: &str, schema: &str, text: &str, modes: &str, from: &str| {
        format!(
            "SELECT CAST({kind} AS BINARY), CAST({schema} AS BINARY), CAST({text} AS BINARY), \
             CAST({modes} AS BINARY) FROM information_schema.{from}"
        )
    };
    let all = match object {
        Object::Table { schema, name } => {
            let (schema, name) = (literal(schema), literal(name));
            let is_it = format!("TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}");
            [
                row(
                    "1",
                    "TABLE_SCHEMA",
                    "NULL",
                    "''",
                    &format!("TABLES WHERE {is_it} AND TABLE_TYPE = 'VIEW'"),
                ),
                row("2", "TABLE_SCHEMA", "VIEW_DEFINITION", "''", &format!("VIEWS WHERE {is_it}")),
                row(
                    "2",
                    "EVENT_OBJECT_SCHEMA",
                    "ACTION_STATEMENT",
                    "SQL_MODE",
                    &format!("TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name}"),
                ),
            ]
            .join(" UNION ALL ")
        }
        Object::Routine { schema, name } => {
            let name = format!("ROUTINE_NAME = {}", literal(name));
            let is_it = match schema.as_deref().map(literal) {
                // MariaDB's packages have routines, too.
                Some(schema) => format!(
                    "ROUTINE_SCHEMA = {schema} AND {name} OR ROUTINE_NAME = {schema} AND ROUTINE_TYPE LIKE 'PACKAGE%'"
                ),
                None => format!("{name} AND ROUTINE_SCHEMA NOT IN ('{}')", OF_SERVERS.join("', '")),
            };
            row("2", "ROUTINE_SCHEMA", "ROUTINE_DEFINITION", "SQL_MODE", &format!("ROUTINES WHERE {is_it}"))
        }
    };
    // Not less than all rows, whatever `sql_select_limit` is.
    format!("{all} LIMIT 18446744073709551615")
}

/// The rows of an answer.
pub(super) fn definitions<'a>(rows: &[Vec<Option<&'a [u8]>>]) -> Result<Vec<Definition<'a>>, Unreadable> {
    rows.iter().map(|row| definition(row)).collect()
}

fn definition<'a>(row: &[Option<&'a [u8]>]) -> Result<Definition<'a>, Unreadable> {
    let &[Some(kind @ (b"1" | b"2")), Some(schema), text, modes] = row else { return Err(Unreadable) };
    let schema = std::str::from_utf8(schema).map_err(|_| Unreadable)?.to_owned();
    let has = |mode: &[u8]| modes.unwrap_or_default().split(|byte| *byte == b',').any(|one| one == mode);
    let modes = Modes {
        ansi_quotes: has(b"ANSI_QUOTES"),
        no_backslash_escapes: has(b"NO_BACKSLASH_ESCAPES"),
        ..Modes::default()
    };
    Ok(Definition { is_view: kind == b"1", schema, text: text.unwrap_or_default(), modes })
}
