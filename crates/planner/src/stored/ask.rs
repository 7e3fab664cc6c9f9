//! Asking a server for definitions of stored code, and its answer.

use shard::sequence::store::literal;
use sql::Modes;
use sql::shape::SCHEMAS_OF_SERVERS;

use super::Object;

/// Why an answer was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer about stored code is not understood")]
pub struct Unreadable;

/// What a row of the answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// There is a table.
    Table,
    /// There is a view.
    View,
    /// What a view or other code is.
    Code,
}

/// A row of the answer.
pub(super) struct Definition<'a> {
    pub(super) what: What,
    /// Where it is.
    pub(super) schema: String,
    /// Its text, as far as the user may see it.
    pub(super) text: &'a [u8],
    /// Modes in which it was written.
    pub(super) modes: Modes,
    /// It is the text of a view.
    pub(super) is_view: bool,
    /// One of them is MariaDB's `ORACLE`.
    pub(super) is_oracle: bool,
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
        Object::Table { schema, name, is_written } => {
            let (schema, name) = (literal(schema), literal(name));
            let is_it = format!("TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}");
            let kind = "IF(TABLE_TYPE = 'VIEW', 1, 3)";
            let mut all = vec![
                row(kind, "TABLE_SCHEMA", "NULL", "''", &format!("TABLES WHERE {is_it}")),
                row("4", "TABLE_SCHEMA", "VIEW_DEFINITION", "''", &format!("VIEWS WHERE {is_it}")),
            ];
            if *is_written {
                let from = "TRIGGERS WHERE EVENT_OBJECT_SCHEMA";
                let from = format!("{from} = {schema} AND EVENT_OBJECT_TABLE = {name}");
                all.push(row("2", "EVENT_OBJECT_SCHEMA", "ACTION_STATEMENT", "SQL_MODE", &from));
            }
            all.join(" UNION ALL ")
        }
        Object::Routine { schema, name } => {
            let name = format!("ROUTINE_NAME = {}", literal(name));
            let is_it = match schema.as_deref().map(literal) {
                // MariaDB's packages have routines, too.
                Some(schema) => format!(
                    "ROUTINE_SCHEMA = {schema} AND {name} OR ROUTINE_NAME = {schema} AND ROUTINE_TYPE LIKE 'PACKAGE%'"
                ),
                None => format!("{name} AND ROUTINE_SCHEMA NOT IN ('{}')", SCHEMAS_OF_SERVERS.join("', '")),
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
    let &[Some(kind), Some(schema), text, modes] = row else { return Err(Unreadable) };
    let what = match kind {
        b"1" => What::View,
        b"2" | b"4" => What::Code,
        b"3" => What::Table,
        _ => return Err(Unreadable),
    };
    let schema = std::str::from_utf8(schema).map_err(|_| Unreadable)?.to_owned();
    let has = |mode: &[u8]| modes.unwrap_or_default().split(|byte| *byte == b',').any(|one| one == mode);
    let modes = Modes {
        ansi_quotes: has(b"ANSI_QUOTES"),
        no_backslash_escapes: has(b"NO_BACKSLASH_ESCAPES"),
        ..Modes::default()
    };
    let (is_view, is_oracle) = (kind == b"4", has(b"ORACLE"));
    Ok(Definition { what, schema, text: text.unwrap_or_default(), modes, is_view, is_oracle })
}
