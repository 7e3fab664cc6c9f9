//! Rows that get an id: of the sequence of their table, never of a server.
//!
//! The rules are those of `AUTO_INCREMENT`: a row without a value, with DEFAULT, NULL or 0 gets an
//! id; in the mode `NO_AUTO_VALUE_ON_ZERO` 0 is a value.

use shard::{ColumnType, Key, Value};
use sql::parse::NodeId;

use crate::plan::outcome::{Ids, Wanted};
use crate::plan::refusal::Cause;
use crate::plan::{Refusal, Request};

use super::Insertion;
use super::values::{Given, Values};

/// Ids of the rows of a statement.
pub(super) struct Assigned {
    /// The column's name.
    pub(super) column: String,
    /// Its position, if the statement names it.
    pub(super) at: Option<usize>,
    /// The new id of each row that has none.
    pub(super) rows: Vec<Option<u64>>,
    /// What the sequence is told.
    pub(super) ids: Ids,
}

/// What becomes of the rows of a statement.
pub(super) enum Outcome {
    /// No row gets an id.
    None,
    /// The table has a sequence.
    Assigned(Assigned),
    /// There are too few ids.
    Wanted(Wanted),
}

/// The column that gets ids, if the table has one; whether of a sequence.
pub(super) fn column<'a>(insertion: &Insertion<'_, 'a>) -> Option<(&'a str, bool)> {
    let request = insertion.request;
    let (schema, table) = (&insertion.used.schema, &insertion.used.name);
    let sequence = request.layout.sequence(schema, table).map(|sequence| (sequence.column.as_str(), true));
    sequence.or_else(|| Some((request.definitions.auto_increment(schema, table)?, false)))
}

/// Gives ids to the rows that have none.
pub(super) fn assign(insertion: &Insertion<'_, '_>, values: &Values) -> Result<Outcome, Refusal> {
    let Some((column, is_sequence)) = column(insertion) else { return Ok(Outcome::None) };
    let at = values.position(column);
    let mut said = Vec::with_capacity(values.rows.len());
    for row in &values.rows {
        let id = match Values::given(insertion, row, at) {
            Given::Default(_) => None,
            Given::Value(id, value) => of_client(insertion.request, id, value)?,
            Given::Expression(id) => return Err(Cause::Id.at(insertion.request.tree.span(id))),
        };
        if id.is_none() && !is_sequence {
            return Err(Cause::Ids.at(row.span));
        }
        said.push(id);
    }
    if !is_sequence {
        return Ok(Outcome::None);
    }
    let (schema, table) = (insertion.used.schema.clone(), insertion.used.name.clone());
    let count = said.iter().filter(|id| id.is_none()).count();
    let ids = insertion.request.asked.ids;
    if ids.len() < count {
        return Ok(Outcome::Wanted(Wanted { schema, table, count }));
    }
    let mut new = ids.iter().copied();
    let rows = said.iter().map(|id| if id.is_none() { new.next() } else { None }).collect();
    let largest = said.iter().flatten().filter_map(|id| u64::try_from(*id).ok()).max();
    let first = ids.first().copied().filter(|_| count > 0);
    let ids = Ids { schema, table, first, largest };
    Ok(Outcome::Assigned(Assigned { column: column.to_owned(), at, rows, ids }))
}

/// The id that a constant is; none if the row gets one. Refuses constants that the server may
/// store as 0.
fn of_client(request: &Request<'_>, id: NodeId, value: Value<'_>) -> Result<Option<i128>, Refusal> {
    const ANY: ColumnType = ColumnType::Integer { min: i64::MIN, max: u64::MAX };
    if value == Value::Null {
        return Ok(None);
    }
    match Key::stored(ANY, value) {
        Ok(Key::Integer(0)) if !request.asked.keeps_zero => Ok(None),
        Ok(Key::Integer(number)) => Ok(Some(number)),
        _ => Err(Cause::Id.at(request.tree.span(id))),
    }
}

/// An id as a value that the placement function takes.
pub(super) fn value(id: u64) -> Value<'static> {
    i64::try_from(id).map_or(Value::Unsigned(id), Value::Signed)
}
