//! Whether two answers are the same, as far as a statement says what its answer is.
//!
//! Rows without an order are a multiset. Rows that ORDER BY has equal may come in any order, and a
//! LIMIT may take any of them.
//!
//! What depends on the way in which a server executes a statement is not compared. Its optimizer
//! counts rows, of which shards have fewer: whether it makes a temporary table shows in some flags
//! of columns, and which conditions it evaluates shows in the number of warnings.

use wire::packet::Column;

use crate::answer::{Answer, Cells};
use crate::query::Query;
use crate::world::Way;

/// `BINARY` as a collation: numbers, dates, bytes.
const BINARY: u16 = 63;

/// The first difference in words.
pub(crate) type Difference = String;

/// Compares all but the rows. Whether the rows have to be compared.
pub(crate) fn frames(expected: &Answer, got: &Answer, way: Way) -> Result<bool, Difference> {
    match (&expected.error, &got.error) {
        (None, None) => {}
        (Some((expected, _)), Some((got, _))) if expected == got => return Ok(false),
        (expected, got) => return Err(format!("errors: expected {expected:?}, got {got:?}")),
    }
    if expected.change != got.change {
        return Err(format!("changes: expected {:?}, got {:?}", expected.change, got.change));
    }
    let (expected_columns, got_columns) = (expected.decoded(), got.decoded());
    if expected_columns.len() != got_columns.len() {
        return Err(format!("columns: expected {}, got {}", expected_columns.len(), got_columns.len()));
    }
    for (expected, got) in expected_columns.iter().zip(&got_columns) {
        // A server that makes a temporary table leaves out the schema.
        let has_names = way == Way::Proxied && !expected.schema.is_empty() && !got.schema.is_empty();
        // One way has a BLOB of a temporary table, the other one none.
        let is_blob = |column: &Column<'_>| column.table.is_empty() && matches!(column.kind, 249..=252);
        let has_length = !is_blob(expected) && !is_blob(got);
        if lasting(expected, has_names, has_length) != lasting(got, has_names, has_length) {
            return Err(format!("columns: expected {}, got {}", shown(expected), shown(got)));
        }
    }
    Ok(true)
}

/// Flags of a column that are its type's: `BLOB`, `UNSIGNED`, `ZEROFILL`, `ENUM`, `SET`.
const OF_TYPE: u16 = 16 | UNSIGNED | 64 | 256 | 2048;
const UNSIGNED: u16 = 32;

/// Digits of what is no number: 31 or 39, 0 behind a temporary table.
const NOT_FIXED: u8 = 31;

/// Types of integers. An expression that went through a temporary table has another one.
const TINY: u8 = 1;
const YEAR: u8 = 13;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
/// Types of `MAX(NULL)`.
const NULL: u8 = 6;
const VAR_STRING: u8 = 253;

/// A column, with the names that only a proxy puts back or without them, and with its length or
/// without. What depends on the way of its execution is left out.
fn lasting<'a>(column: &Column<'a>, has_names: bool, has_length: bool) -> Column<'a> {
    let is_of_table = !column.table.is_empty();
    Column {
        schema: if has_names { column.schema } else { b"" },
        org_table: if has_names { column.org_table } else { b"" },
        org_name: if is_of_table { column.org_name } else { b"" },
        kind: match column.kind {
            SHORT | LONG | LONGLONG | INT24 | TINY | YEAR if !is_of_table => LONGLONG,
            NULL | 249..=252 if !is_of_table => VAR_STRING,
            kind => kind,
        },
        // GROUP_CONCAT has the length of the BLOB that it went through.
        max_len: if has_length { column.max_len } else { 0 },
        flags: column.flags & if is_of_table { OF_TYPE } else { UNSIGNED },
        decimals: if column.decimals >= NOT_FIXED { 0 } else { column.decimals },
        ..*column
    }
}

fn shown(column: &Column<'_>) -> String {
    format!(
        "{}.{}.{} (of {}.{}) kind {} collation {} length {} flags {:#x} decimals {}",
        column.schema.escape_ascii(),
        column.table.escape_ascii(),
        column.name.escape_ascii(),
        column.org_table.escape_ascii(),
        column.org_name.escape_ascii(),
        column.kind,
        column.collation,
        column.max_len,
        column.flags,
        column.decimals
    )
}

/// Whether the rows can be compared without knowing which of them ORDER BY has equal.
pub(crate) fn needs_places(query: &Query, expected: &Answer, got: &Answer) -> bool {
    expected.rows != got.rows && (!query.order.is_empty() || query.limit.is_some())
}

/// Compares rows as a multiset.
pub(crate) fn multiset(query: &Query, expected: &Answer, got: &Answer) -> Result<(), Difference> {
    let sorted = |answer: &Answer| {
        let mut rows: Vec<_> = answer.rows.iter().map(|row| cells(query, answer, row)).collect();
        rows.sort();
        rows
    };
    let (expected, got) = (sorted(expected), sorted(got));
    if expected == got {
        return Ok(());
    }
    let lacks = expected.iter().find(|row| !got.contains(row));
    let has = got.iter().find(|row| !expected.contains(row));
    Err(format!(
        "rows: expected {}, got {}; first one that lacks: {}; first one too many: {}",
        expected.len(),
        got.len(),
        lacks.map_or_else(String::new, |row| row_shown(row)),
        has.map_or_else(String::new, |row| row_shown(row))
    ))
}

/// Compares rows with the answer to [`Query::ranked`].
pub(crate) fn places(query: &Query, ranked: &Answer, got: &Answer) -> Result<(), Difference> {
    let mut all: Vec<_> = ranked.rows.iter().map(|row| with_place(query, ranked, row)).collect();
    all.sort_by_key(|(place, _)| *place);
    let (offset, count) = query.limit.unwrap_or((0, u64::MAX));
    let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
    let end = begin.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)).min(all.len());
    if got.rows.len() != end - begin {
        return Err(format!("rows: expected {}, got {}", end - begin, got.rows.len()));
    }
    let mut got = got.rows.iter().map(|row| cells(query, got, row));
    let mut at = 0;
    for class in all.chunk_by(|one, other| one.0 == other.0) {
        let (first, last) = (at.max(begin), (at + class.len()).min(end));
        at += class.len();
        let mut left: Vec<_> = class.iter().map(|(_, row)| row).collect();
        for position in first..last {
            let row = got.next().unwrap_or_default();
            match left.iter().position(|other| **other == row) {
                Some(found) => drop(left.swap_remove(found)),
                None => {
                    return Err(format!(
                        "row {}: expected {}{}, got {}",
                        position - begin,
                        left.first().map_or_else(String::new, |row| row_shown(row)),
                        if left.len() > 1 { " or another one that is equal" } else { "" },
                        row_shown(&row)
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The cells of a row: of texts only that they are there, if any equal one will do.
fn cells(query: &Query, answer: &Answer, row: &Cells) -> Cells {
    if !query.is_loose {
        return row.clone();
    }
    let columns = answer.decoded();
    let cell = |(at, cell): (usize, &Option<Vec<u8>>)| {
        let is_any = columns.get(at).is_some_and(|column| column.collation != BINARY);
        if is_any { cell.as_ref().map(|_| b"(any)".to_vec()) } else { cell.clone() }
    };
    row.iter().enumerate().map(cell).collect()
}

/// The place of a row, and its other cells.
fn with_place(query: &Query, ranked: &Answer, row: &Cells) -> (u64, Cells) {
    let mut cells = cells(query, ranked, row);
    let place = cells.pop().flatten().unwrap_or_default();
    let number = match (<[u8; 8]>::try_from(place.as_slice()), ranked.is_binary) {
        (Ok(bytes), true) => Some(u64::from_le_bytes(bytes)),
        _ => String::from_utf8_lossy(&place).parse().ok(),
    };
    (number.unwrap_or_else(|| panic!("no place: {place:?}")), cells)
}

fn row_shown(row: &[Option<Vec<u8>>]) -> String {
    let cells: Vec<_> = row
        .iter()
        .map(|cell| cell.as_ref().map_or_else(|| "NULL".to_owned(), |cell| cell.escape_ascii().to_string()))
        .collect();
    format!("({})", cells.join(", "))
}
