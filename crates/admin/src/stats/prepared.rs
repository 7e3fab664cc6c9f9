//! The table of prepared statements.

use std::sync::Arc;

use observe::plane::DataPlane;
use observe::rows::StatementStats;
use rusqlite::types::Value;

use super::listed::{Found, Listed, lossy};
use super::literals::without_literals;
use super::tables::{number, text};
use crate::store::Filling;
use crate::tables::PREPARED_STATEMENTS;
use crate::who::Rights;

/// Gives the table its rows, if it is among `names`.
pub(super) fn refresh(names: &[String], to: &mut Filling<'_>, plane: &dyn DataPlane) {
    if names.iter().any(|name| name == PREPARED_STATEMENTS) {
        let found = Arc::new(Found(plane.statements()));
        let cell = if to.rights == Rights::Admin { cell } else { cell_without_literals };
        to.show(PREPARED_STATEMENTS, Arc::new(Listed { found, cell }));
    }
}

/// A cell of `stats_mysql_prepared_statements_info`.
fn cell(statement: &StatementStats, column: usize) -> Value {
    match column {
        0 => number(statement.id),
        1 => lossy(&statement.schema),
        2 => lossy(&statement.user),
        3 => text(format!("0x{:016X}", statement.digest)),
        4 => number(statement.clients),
        5 => number(statement.servers),
        6 => number(statement.columns.into()),
        7 => number(statement.params.into()),
        _ => lossy(&statement.text),
    }
}

/// The column with the text of the statement.
const QUERY: usize = 8;

/// The same for accounts that see no literals.
fn cell_without_literals(statement: &StatementStats, column: usize) -> Value {
    if column >= QUERY { without_literals(&statement.text) } else { cell(statement, column) }
}
