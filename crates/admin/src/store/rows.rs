//! Rows between SQLite and drafts.

use config::schema::{Scalar, Section, Shape};
use config::{Row, RowProblem, RowReader, SqlCell};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result, params_from_iter};

/// The rows of `section` in `schema`, in the order of their keys, or everything that is wrong with
/// them.
pub(super) fn read(
    connection: &Connection,
    schema: &str,
    section: &'static Section,
) -> Result<std::result::Result<Vec<Row>, Vec<RowProblem>>> {
    let mut reader = RowReader::new(section);
    if section.shape == Shape::Group {
        let prefix = section.prefix.unwrap_or_default();
        let sql = format!(
            "SELECT substr(variable_name, length(?1) + 1), variable_value FROM {schema}.global_variables \
             WHERE substr(variable_name, 1, length(?1)) = ?1 ORDER BY variable_name"
        );
        let mut statement = connection.prepare(&sql)?;
        let mut found = statement.query([prefix])?;
        while let Some(row) = found.next()? {
            let name: String = row.get(0)?;
            reader.variable(&name, cell(row.get_ref(1)?));
        }
    } else {
        let mut statement = connection.prepare(&select(schema, section))?;
        let count = statement.column_count();
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let cells: Vec<SqlCell<'_>> =
                (0..count).map(|at| row.get_ref(at).map(cell)).collect::<Result<_>>()?;
            reader.row(&cells);
        }
    }
    Ok(reader.finish())
}

/// All rows of a table, in the order of their keys.
fn select(schema: &str, section: &Section) -> String {
    let columns: Vec<&str> = section.fields().map(|field| field.name).collect();
    let key = section.unique.first().map_or_else(|| "rowid".to_owned(), |key| key.join(", "));
    format!("SELECT {} FROM {schema}.{} ORDER BY {key}", columns.join(", "), section.table_name())
}

fn cell(value: ValueRef<'_>) -> SqlCell<'_> {
    match value {
        ValueRef::Null => SqlCell::Null,
        ValueRef::Integer(number) => SqlCell::Int(number),
        ValueRef::Real(number) => SqlCell::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => SqlCell::Bytes(bytes),
    }
}

/// A checked value as SQLite keeps it in a column.
pub(super) fn value(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Integer(i64::from(*value)),
        Scalar::Int(value) => Value::Integer(*value),
        Scalar::Text(text) => Value::Text(text.clone()),
    }
}

/// Appends rows to a table, which has no row with their keys, or replaces those that it has.
pub(crate) fn insert<'a>(
    connection: &Connection,
    schema: &str,
    table: &str,
    rows: impl IntoIterator<Item = &'a Row>,
) -> Result<usize> {
    let mut rows = rows.into_iter().peekable();
    let Some(first) = rows.peek() else { return Ok(0) };
    let marks = vec!["?"; first.cells().len()].join(", ");
    let mut statement =
        connection.prepare(&format!("INSERT OR REPLACE INTO {schema}.{table} VALUES ({marks})"))?;
    rows.try_fold(0, |count, row| {
        statement.execute(params_from_iter(row.cells().iter().map(value)))?;
        Ok(count + 1)
    })
}

/// Runs `work` in a transaction: all of it or, with an error, nothing.
pub(crate) fn transaction<T, E: From<rusqlite::Error>>(
    connection: &Connection,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    connection.execute_batch("BEGIN")?;
    let outcome = work().and_then(|done| {
        connection.execute_batch("COMMIT")?;
        Ok(done)
    });
    if outcome.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    outcome
}

/// Replaces the rows of a table.
pub(super) fn refill(
    connection: &mut Connection,
    schema: &str,
    table: &str,
    rows: impl IntoIterator<Item = Vec<Value>>,
) -> Result<()> {
    transaction(connection, || {
        connection.execute(&format!("DELETE FROM {schema}.{table}"), [])?;
        let mut rows = rows.into_iter().peekable();
        let Some(first) = rows.peek() else { return Ok(()) };
        let marks = vec!["?"; first.len()].join(", ");
        let mut statement =
            connection.prepare(&format!("INSERT OR REPLACE INTO {schema}.{table} VALUES ({marks})"))?;
        rows.try_for_each(|row| statement.execute(params_from_iter(row)).map(drop))
    })
}
