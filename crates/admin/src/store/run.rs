//! Running SQL that an admin wrote.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use config::Turns;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode, Statement};

use super::held::{Held, Lease};
use super::limits;
use crate::answer::{AdminError, Answer, Cell};
use crate::tables::Schema;

/// What bounds a statement.
struct Bounds<'a> {
    judge: for<'b> fn(AuthContext<'b>) -> Authorization,
    time: Duration,
    /// Operations of SQLite between two looks at the other bounds.
    period: i32,
    /// Set, a statement that only reads ends.
    stop: &'a Arc<AtomicBool>,
    /// Whether SQLite and the answers that are held have taken too much.
    is_too_much: Box<dyn Fn() -> bool + Send + 'static>,
}

/// Runs the first statement of `sql` with all rights, or without that of changing anything.
pub(super) fn as_admin(
    connection: &mut Connection,
    sql: &str,
    read_only: bool,
    stop: &Arc<AtomicBool>,
) -> Answer {
    let bounds = Bounds {
        judge: judge_admin,
        time: limits::STATEMENT_TIME_MAX,
        period: limits::PERIOD_OPS,
        stop,
        is_too_much: Box::new(|| false),
    };
    let mut bytes = 0_usize;
    let mut charge = |more: usize| {
        bytes += more;
        let max = limits::RESULT_MAX_BYTES;
        if bytes <= max { Ok(()) } else { Err(format!("the result has more than {max} bytes; use LIMIT")) }
    };
    if !read_only {
        return guarded(connection, sql, bounds, &mut charge);
    }
    without_writing(connection, |connection| guarded(connection, sql, bounds, &mut charge))
}

/// Runs the first statement of `sql` for an account that may read only. What its answer takes of
/// `held` is given back when the lease is dropped.
pub(super) fn as_stats(
    connection: &mut Connection,
    sql: &str,
    stop: &Arc<AtomicBool>,
    held: &Held,
) -> (Answer, Lease) {
    let mut lease = held.lease();
    let (before, of_answers) = (memtable::memory_used(), held.clone());
    let bounds = Bounds {
        judge: judge_stats,
        time: limits::STATISTICS_TIME_MAX,
        period: limits::STATISTICS_PERIOD_OPS,
        stop,
        is_too_much: Box::new(move || {
            let of_sqlite = memtable::memory_used().saturating_sub(before);
            of_answers.bytes().saturating_add(of_sqlite) > limits::STATISTICS_BYTES_MAX
        }),
    };
    let mut charge = |more: usize| {
        lease.grow(more);
        let is_fine = held.bytes() <= limits::STATISTICS_BYTES_MAX;
        if is_fine { Ok(()) } else { Err(too_much()) }
    };
    let run = |connection: &mut Connection| guarded(connection, sql, bounds, &mut charge);
    let answer = without_writing(connection, run);
    if !matches!(answer, Answer::Rows { .. }) {
        lease = held.lease();
    }
    (answer, lease)
}

/// Runs `work` while SQLite refuses every change.
fn without_writing(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> Answer) -> Answer {
    if let Err(error) = connection.pragma_update(None, "query_only", true) {
        return told(&error).into();
    }
    let answer = work(connection);
    match connection.pragma_update(None, "query_only", false) {
        Ok(()) => answer,
        Err(error) => told(&error).into(),
    }
}

fn too_much() -> String {
    let max = limits::STATISTICS_BYTES_MAX >> 20;
    format!("out of memory: statements of statistics accounts may take {max} MiB together; use LIMIT")
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

/// Runs the first statement of `sql` within `bounds`; `charge` hears the bytes of each row. A
/// transaction that it leaves open is committed: `BEGIN` means nothing here, as in ProxySQL.
fn guarded(
    connection: &mut Connection,
    sql: &str,
    bounds: Bounds<'_>,
    charge: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Answer {
    let Bounds { judge, time, period, stop, is_too_much } = bounds;
    let deadline = Instant::now() + time;
    let (reads, took_too_much) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let watched = connection
        .authorizer(Some(judge))
        .and_then(|()| {
            let mut rest = give_way();
            let (stop, reads) = (Arc::clone(stop), Arc::clone(&reads));
            let took_too_much = Arc::clone(&took_too_much);
            let is_over = move || {
                let is_left = || stop.load(Ordering::Relaxed) && reads.load(Ordering::Relaxed);
                let is_large = is_too_much();
                took_too_much.store(is_large, Ordering::Relaxed);
                rest() || is_large || is_left() || Instant::now() > deadline
            };
            connection.progress_handler(period, Some(is_over))
        })
        .map_err(|error| told(&error));
    let answer = watched.and_then(|()| execute(connection, sql, &reads, charge));
    let unwatched = connection
        .authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
        .and_then(|()| connection.progress_handler(limits::PERIOD_OPS, Some(give_way())));
    if !connection.is_autocommit() && connection.execute_batch("COMMIT").is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    let late = Instant::now() > deadline;
    match answer {
        Err(error) if !error.message.ends_with("interrupted") => error.into(),
        Err(_) if took_too_much.load(Ordering::Relaxed) => AdminError::new(too_much()).into(),
        Err(_) if late => {
            let seconds = time.as_secs();
            AdminError::new(format!("interrupted: the statement took longer than {seconds} s")).into()
        }
        Err(error) => error.into(),
        Ok(answer) => unwatched.map_or_else(|error| told(&error).into(), |()| answer),
    }
}

/// Executes a statement, and says in `reads` whether it only reads, as SQLite judges it: a client
/// that leaves stops such a statement.
fn execute(
    connection: &Connection,
    sql: &str,
    reads: &AtomicBool,
    charge: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Answer, AdminError> {
    let mut batch = Batch::new(connection, sql);
    let Some(mut statement) = batch.next().map_err(|error| told(&error))? else {
        return Ok(Answer::done());
    };
    reads.store(statement.readonly(), Ordering::Relaxed);
    if statement.column_count() > 0 {
        return rows(&mut statement, charge);
    }
    let before = connection.total_changes();
    statement.raw_execute().map_err(|error| told(&error))?;
    Ok(Answer::Ok { affected: connection.total_changes() - before, info: String::new() })
}

/// The result set of a statement.
fn rows(
    statement: &mut Statement<'_>,
    charge: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Answer, AdminError> {
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut results = statement.raw_query();
    while let Some(row) = results.next().map_err(|error| told(&error))? {
        let mut cells = Vec::with_capacity(columns.len());
        let mut bytes = size_of::<Vec<Cell>>();
        for index in 0..columns.len() {
            let cell = cell(row.get_ref(index).map_err(|error| told(&error))?);
            let len = cell.as_ref().map_or(0, |text| text.len().next_multiple_of(ALLOCATED));
            bytes += size_of::<Cell>() + len;
            cells.push(cell);
        }
        charge(bytes).map_err(AdminError::new)?;
        rows.push(cells);
    }
    Ok(Answer::Rows { columns, rows })
}

/// What the allocator rounds bytes up to, mostly.
const ALLOCATED: usize = 16;

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
        AuthAction::Attach { filename } => !may_attach(filename),
        // Such as ATTACH of an expression.
        AuthAction::Unknown { .. } => true,
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

/// What an account that reads statistics may do: read, and no columns with literals of statements.
/// Changes of rows are refused by SQLite's `query_only`, in the words that programs know.
fn judge_stats(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Read { table_name, column_name } if hides(table_name, column_name) => {
            Authorization::Ignore
        }
        AuthAction::Select
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive
        // They mean nothing, and drivers send them.
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// Whether a column has texts of statements as clients sent them, or of errors that quote them: it
/// is NULL for accounts that may not see literals. Other tables are filled without literals.
fn hides(table: &str, column: &str) -> bool {
    let is = |name: &str| table.eq_ignore_ascii_case(name);
    let of_events = is("stats_mysql_query_events") || is("history_mysql_query_events");
    of_events && ["query", "error"].iter().any(|name| column.eq_ignore_ascii_case(name))
}

/// Whether a file may be opened as one more database. A new one would be readable by other users of
/// the machine, and may become a copy of passwords: one that is to be written is made first, with
/// the permissions that it shall have.
fn may_attach(file: &str) -> bool {
    matches!(file, "" | ":memory:") || !file.starts_with("file:") && Path::new(file).is_file()
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
