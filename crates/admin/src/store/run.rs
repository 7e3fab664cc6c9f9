//! Running SQL that an admin wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use config::Turns;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode, Statement};

use super::limits;
use crate::answer::{AdminError, Answer, Cell};
use crate::tables::Schema;

/// Runs the first statement of `sql` with all rights, or without that of changing anything.
pub(super) fn as_admin(
    connection: &mut Connection,
    sql: &str,
    read_only: bool,
    stop: &Arc<AtomicBool>,
) -> Answer {
    if read_only && let Err(error) = connection.pragma_update(None, "query_only", true) {
        return told(&error).into();
    }
    let answer = guarded(connection, sql, judge_admin, stop);
    if read_only {
        let _ = connection.pragma_update(None, "query_only", false);
    }
    answer
}

/// Runs the first statement of `sql` on a connection that may read only.
pub(super) fn as_stats(connection: &mut Connection, sql: &str, stop: &Arc<AtomicBool>) -> Answer {
    guarded(connection, sql, judge_stats, stop)
}

/// What SQLite asks every [`limits::PERIOD_OPS`] operations: whether to stop, which is never so,
/// but it takes a [rest](Turns) when it is time for one.
pub(super) fn give_way() -> impl FnMut() -> bool + Send + 'static {
    let mut turns = Turns::default();
    move || {
        turns.step();
        false
    }
}

/// Runs the first statement of `sql` within the limits of time and of what `judge` allows, while
/// `stop` is not set. A transaction that it leaves open is committed: `BEGIN` means nothing here,
/// as in ProxySQL.
fn guarded(
    connection: &mut Connection,
    sql: &str,
    judge: for<'a> fn(AuthContext<'a>) -> Authorization,
    stop: &Arc<AtomicBool>,
) -> Answer {
    let deadline = Instant::now() + limits::STATEMENT_TIME_MAX;
    let watched = connection
        .authorizer(Some(judge))
        .and_then(|()| {
            let mut rest = give_way();
            let stop = Arc::clone(stop);
            let is_over = move || rest() || stop.load(Ordering::Relaxed) || Instant::now() > deadline;
            connection.progress_handler(limits::PERIOD_OPS, Some(is_over))
        })
        .map_err(|error| told(&error));
    let answer = watched.and_then(|()| execute(connection, sql));
    let unwatched = connection
        .authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
        .and_then(|()| connection.progress_handler(limits::PERIOD_OPS, Some(give_way())));
    if !connection.is_autocommit() && connection.execute_batch("COMMIT").is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    let late = Instant::now() > deadline;
    match answer {
        Err(error) if late && error.message.ends_with("interrupted") => {
            let seconds = limits::STATEMENT_TIME_MAX.as_secs();
            AdminError::new(format!("interrupted: the statement took longer than {seconds} s")).into()
        }
        Err(error) => error.into(),
        Ok(answer) => unwatched.map_or_else(|error| told(&error).into(), |()| answer),
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<Answer, AdminError> {
    let mut batch = Batch::new(connection, sql);
    let Some(mut statement) = batch.next().map_err(|error| told(&error))? else {
        return Ok(Answer::done());
    };
    if statement.column_count() > 0 {
        return rows(&mut statement);
    }
    let before = connection.total_changes();
    statement.raw_execute().map_err(|error| told(&error))?;
    Ok(Answer::Ok { affected: connection.total_changes() - before, info: String::new() })
}

/// The result set of a statement.
fn rows(statement: &mut Statement<'_>) -> Result<Answer, AdminError> {
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut bytes = 0_usize;
    let mut results = statement.raw_query();
    while let Some(row) = results.next().map_err(|error| told(&error))? {
        let mut cells = Vec::with_capacity(columns.len());
        for index in 0..columns.len() {
            let cell = cell(row.get_ref(index).map_err(|error| told(&error))?);
            bytes += size_of::<Cell>() + cell.as_ref().map_or(0, Vec::len);
            cells.push(cell);
        }
        if bytes > limits::RESULT_MAX_BYTES {
            let max = limits::RESULT_MAX_BYTES;
            return Err(AdminError::new(format!("the result has more than {max} bytes; use LIMIT")));
        }
        rows.push(cells);
    }
    Ok(Answer::Rows { columns, rows })
}

/// A value as text.
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(real(number).into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// A number with 15 significant digits and a point, as SQLite turns it into text.
fn real(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    format!("{rounded:?}")
}

/// SQLite's error in the words that an admin's client gets.
pub(super) fn told(error: &rusqlite::Error) -> AdminError {
    use rusqlite::Error::{SqlInputError, SqliteFailure};
    match error {
        SqliteFailure(code, _)
            if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
        {
            AdminError { code: 1205, state: *b"HY000", ..AdminError::new("database is locked") }
        }
        SqliteFailure(_, Some(message)) => AdminError::new(message),
        SqlInputError { msg, .. } => AdminError::new(msg),
        other => AdminError::new(other.to_string()),
    }
}

/// What an admin's SQL may not do: break the tables that commands work on, or change how this
/// connection works.
fn judge_admin(context: AuthContext<'_>) -> Authorization {
    let ours = |table: &str| is_ours(context.database_name, table);
    let forbidden = match context.action {
        AuthAction::Pragma { pragma_name, pragma_value } => !harmless(pragma_name, pragma_value),
        AuthAction::Detach { database_name } => {
            Schema::ALL.iter().any(|schema| schema.name().eq_ignore_ascii_case(database_name))
        }
        AuthAction::DropTable { table_name }
        | AuthAction::DropVtable { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::CreateTempTrigger { table_name, .. }
        | AuthAction::CreateIndex { table_name, .. } => ours(table_name),
        // They would show nothing, and other programs could not read a database with them.
        AuthAction::CreateVtable { module_name, .. } => module_name.eq_ignore_ascii_case(memtable::MODULE),
        AuthAction::AlterTable { database_name, table_name } => is_ours(Some(database_name), table_name),
        _ => false,
    };
    if forbidden { Authorization::Deny } else { Authorization::Allow }
}

/// What an account that reads statistics may not even try. That it writes nothing is up to SQLite's
/// `query_only`.
fn judge_stats(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Pragma { .. } | AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }
}

/// Whether commands need this table as it is.
fn is_ours(schema: Option<&str>, table: &str) -> bool {
    let of = |known: &Schema| schema.is_none_or(|name| name.eq_ignore_ascii_case(known.name()));
    Schema::ALL
        .iter()
        .filter(|known| of(known))
        .any(|known| known.tables().iter().any(|(name, _)| name.eq_ignore_ascii_case(table)))
}

/// Whether a PRAGMA only tells something.
fn harmless(name: &str, value: Option<&str>) -> bool {
    const WITH_ARGUMENT: &[&str] = &[
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "integrity_check",
        "quick_check",
        "table_info",
        "table_list",
        "table_xinfo",
    ];
    let name = name.to_ascii_lowercase();
    value.is_none() || WITH_ARGUMENT.contains(&name.as_str())
}
