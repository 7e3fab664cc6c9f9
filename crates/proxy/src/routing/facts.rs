//! From what a statement's text says to what decides where it may go. What is in doubt counts
//! against a reader.

use route::{Effects, Facts, Kind};
use sql::Shape;
use sql::shape::{Effects as Found, Kind as Statement, Table};

/// Schemas whose tables are about the server that is asked.
const ABOUT_THE_SERVER: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// What is found in a text, and what that means here.
const EFFECTS: [(Found, Effects); 21] = [
    (Found::WRITES, Effects::WRITES),
    (Found::LOCKS_ROWS, Effects::LOCKS),
    // They last until they are let go, whatever becomes of transactions.
    (Found::TABLE_LOCKS, Effects::LOCKS.with(Effects::SESSION)),
    (Found::SETS_USER_VARIABLES, Effects::USER_VARIABLES.with(Effects::SETS_USER_VARIABLES)),
    (Found::READS_USER_VARIABLES, Effects::USER_VARIABLES),
    (Found::READS_SYSTEM_VARIABLES, Effects::SERVER),
    // Among it is the number of the server's connection, which clients send to KILL.
    (Found::READS_SESSION, Effects::SERVER),
    (Found::NAMED_LOCKS, Effects::USER_LOCKS),
    (Found::SEQUENCE, Effects::SEQUENCE),
    (Found::SETS_LAST_INSERT_ID, Effects::LAST_INSERT_ID.with(Effects::SETS_LAST_INSERT_ID)),
    (Found::READS_LAST_INSERT_ID, Effects::LAST_INSERT_ID),
    (Found::READS_LAST, Effects::LAST_RESULT),
    (Found::COUNTS_ROWS, Effects::FOUND_ROWS),
    (Found::FILE, Effects::INTO),
    (Found::TEMPORARY_TABLE, Effects::TEMPORARY_TABLE),
    (Found::COMMITS, Effects::IMPLICIT_COMMIT),
    (Found::TRANSACTION, Effects::SESSION),
    (Found::SESSION, Effects::SESSION),
    (Found::PREPARED, Effects::SESSION),
    (Found::SAVEPOINT, Effects::SAVEPOINT),
    (Found::WAITS_FOR_POSITION, Effects::WAITS_FOR_POSITION),
];

/// What keeps no statement from a reader.
const HARMLESS: Found = Found::VOLATILE.union(Found::WAITS);

/// What matters of `shape` for where the statement may go.
pub(crate) fn facts(shape: &Shape) -> Facts {
    let kind = kind(shape.kind);
    let mut found = shape.effects;
    match shape.kind {
        // Its kind says so.
        Statement::Begin { .. } | Statement::Commit | Statement::Rollback => {
            found.remove(Found::TRANSACTION | Found::COMMITS);
        }
        // What they leave behind ends with the transaction, of which servers tell.
        Statement::Savepoint | Statement::Xa => found.remove(Found::TRANSACTION),
        _ => {}
    }
    let mut effects = of_kind(shape.kind);
    let mut left = found - HARMLESS;
    for (of_text, meant) in EFFECTS {
        if found.intersects(of_text) {
            effects = effects.with(meant);
        }
        left.remove(of_text);
    }
    if !left.is_empty() {
        // Of a SELECT all is understood but what the functions do.
        let only_functions = kind == Kind::Read && !found.contains(Found::WRITES);
        effects = effects.with(if only_functions { Effects::FUNCTION } else { Effects::UNKNOWN });
    }
    if shape.reads.iter().any(is_about_the_statement_before) {
        effects = effects.with(Effects::LAST_RESULT);
    } else if shape.reads.iter().any(is_about_the_server) {
        effects = effects.with(Effects::SERVER);
    }
    let tables = !(shape.reads.is_empty() && shape.writes.is_empty()) || found.contains(Found::UNKNOWN);
    Facts { kind, effects, tables }
}

const fn kind(kind: Statement) -> Kind {
    match kind {
        Statement::Select => Kind::Read,
        Statement::Begin { read_only } => Kind::Begin { read_only },
        Statement::Commit => Kind::Commit,
        Statement::Rollback => Kind::Rollback,
        _ => Kind::Other,
    }
}

/// What every statement of this kind does, whatever was found in its text.
const fn of_kind(kind: Statement) -> Effects {
    match kind {
        Statement::Insert
        | Statement::Replace
        | Statement::Update
        | Statement::Delete
        | Statement::Load
        | Statement::Define => Effects::WRITES,
        Statement::Call | Statement::Unknown => Effects::WRITES.with(Effects::UNKNOWN),
        Statement::Handler | Statement::Lock => Effects::LOCKS.with(Effects::SESSION),
        Statement::Set | Statement::Use | Statement::Prepared => Effects::SESSION,
        Statement::Show | Statement::Kill | Statement::Admin => Effects::SERVER,
        Statement::Diagnostics => Effects::LAST_RESULT,
        Statement::Empty
        | Statement::Select
        | Statement::Do
        | Statement::Explain
        | Statement::Begin { .. }
        | Statement::Commit
        | Statement::Rollback
        | Statement::Savepoint
        | Statement::Xa
        | Statement::Several => Effects::NONE,
    }
}

/// Whether it is one of the tables of `information_schema` that tell what the server has done for
/// the session last.
fn is_about_the_statement_before(table: &Table) -> bool {
    ["optimizer_trace", "profiling"].iter().any(|name| name.eq_ignore_ascii_case(&table.name))
}

fn is_about_the_server(table: &Table) -> bool {
    let schema = table.schema.as_deref();
    schema.is_some_and(|schema| ABOUT_THE_SERVER.iter().any(|name| name.eq_ignore_ascii_case(schema)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use route::{Pairs, Session, Side, split};
    use sql::Modes;

    fn of(sql: &str) -> Facts {
        facts(&Shape::of(sql.as_bytes(), Modes::default()))
    }

    /// Whether a session that is in the middle of nothing sends it to readers.
    fn goes_to_readers(sql: &str) -> bool {
        let pairs = Pairs::default().with(0, 1);
        split(of(sql), &Session::default(), None, 0, &pairs).side == Side::Reader
    }

    #[test]
    fn only_plain_reads_go_to_readers() {
        for sql in [
            "SELECT 1",
            "select a from t where b > now() and sleep(0) = 0",
            "SELECT MASTER_GTID_WAIT('0-1-1', 1)",
            "(SELECT 1) UNION (SELECT 2)",
            "WITH c AS (SELECT 1) SELECT * FROM c",
            "TABLE t",
            "START TRANSACTION READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        ] {
            assert!(goes_to_readers(sql), "{sql}: {:?}", of(sql));
        }
        for sql in [
            "",
            "SELECT 1; SELECT 2",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "SELECT a INTO @b FROM t",
            "SELECT @a",
            "SELECT @a := 1",
            "SELECT @@hostname",
            "SELECT CONNECTION_ID()",
            "SELECT GET_LOCK('a', 1)",
            "SELECT NEXTVAL(s)",
            "SELECT NEXT VALUE FOR s",
            "SELECT LAST_INSERT_ID()",
            "SELECT LAST_INSERT_ID(1)",
            "SELECT FOUND_ROWS()",
            "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
            "SELECT a FROM t INTO OUTFILE '/x'",
            "SELECT f(1)",
            "SELECT * FROM performance_schema.threads",
            "SELECT * FROM `INFORMATION_SCHEMA`.PROCESSLIST",
            "SELECT 1 /*! FOR UPDATE */",
            "BEGIN",
            "START TRANSACTION",
            "COMMIT",
            "SAVEPOINT a",
            "XA BEGIN 'a'",
            "SHOW TABLES",
            "EXPLAIN SELECT 1",
            "ANALYZE SELECT 1",
            "SET @a = 1",
            "SET autocommit = 0",
            "USE a",
            "DO SLEEP(1)",
            "CALL p()",
            "HANDLER t OPEN",
            "LOCK TABLES t READ",
            "INSERT INTO t VALUES (1)",
            "WITH c AS (SELECT 1) UPDATE t SET a = 1",
            "CREATE TEMPORARY TABLE t (a INT)",
            "PREPARE s FROM 'SELECT 1'",
            "EXECUTE s",
            "KILL 5",
            "FLUSH TABLES",
            "GET DIAGNOSTICS @a = NUMBER",
            "RESIGNAL",
            "VACUUM",
            "\0\u{1}",
        ] {
            assert!(!goes_to_readers(sql), "{sql}: {:?}", of(sql));
        }
    }

    #[test]
    fn what_a_statement_asks_about_the_one_before_stays_where_that_ran() {
        let session = Session { last_hostgroup: Some(1), ..Session::default() };
        let pairs = Pairs::default().with(0, 1);
        for (sql, hostgroup) in [
            ("SELECT FOUND_ROWS()", 1),
            ("SHOW WARNINGS", 1),
            ("SELECT @@warning_count", 1),
            ("GET DIAGNOSTICS @a = NUMBER", 1),
            ("RESIGNAL", 1),
            ("SELECT LAST_INSERT_ID()", 0),
            ("SELECT @@identity", 0),
        ] {
            assert_eq!(split(of(sql), &session, None, 0, &pairs).hostgroup, hostgroup, "{sql}");
        }
    }

    #[test]
    fn effects_have_their_names() {
        assert_eq!(of("SELECT f(1) FROM t").effects, Effects::FUNCTION);
        assert_eq!(of("INSERT INTO t VALUES (1)").effects, Effects::WRITES);
        assert_eq!(
            of("BEGIN"),
            Facts { kind: Kind::Begin { read_only: false }, effects: Effects::NONE, tables: false }
        );
        assert_eq!(of("SAVEPOINT a").effects, Effects::SAVEPOINT);
        for sql in ["COMMIT", "ROLLBACK", "ROLLBACK TO a", "RELEASE SAVEPOINT a", "XA END 'a'"] {
            assert_eq!(of(sql).effects, Effects::NONE, "{sql}");
        }
        assert!(of("VACUUM").effects.any_of(Effects::UNKNOWN));
        assert!(of("VACUUM").tables);
        assert!(of("SELECT 1 FROM t").tables && !of("SELECT 1").tables);
    }

    #[test]
    fn locks_of_tables_stay_in_the_session() {
        for sql in [
            "LOCK TABLES t READ",
            "SELECT 1; LOCK TABLES t READ",
            "FLUSH TABLES WITH READ LOCK",
            "FLUSH TABLES t FOR EXPORT",
            "DO 1; FLUSH TABLES WITH READ LOCK",
        ] {
            let effects = of(sql).effects;
            assert!(effects.any_of(Effects::SESSION) && effects.any_of(Effects::LOCKS), "{sql}: {effects:?}");
        }
        for sql in ["SELECT a FROM t FOR UPDATE", "FLUSH TABLES", "FLUSH LOCAL TABLES a, b", "FLUSH TABLE a"]
        {
            assert!(!of(sql).effects.any_of(Effects::SESSION), "{sql}");
        }
    }

    /// A flag that nobody thought about counts as unknown.
    #[test]
    fn every_effect_that_is_not_harmless_keeps_from_readers() {
        let shape = Shape::of(b"SELECT 1", Modes::default());
        for flag in Found::all().iter().filter(|flag| !HARMLESS.contains(*flag)) {
            let found = facts(&Shape { effects: flag, ..shape.clone() });
            assert!(!found.effects.is_empty(), "{flag:?}");
        }
    }
}
