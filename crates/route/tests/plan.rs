//! What the plan of a statement says about where it may go.

use route::{Pairs, Session, Side, StatementPlan, split};
use sql::shape::Effects;
use sql::{Modes, Shape, StatementKind};

fn of(sql: &str) -> StatementPlan {
    StatementPlan::of(&Shape::of(sql.as_bytes(), Modes::default()))
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
    let begin = StatementPlan { kind: StatementKind::Begin, ..StatementPlan::COMMAND };
    assert_eq!(of("BEGIN"), begin);
    assert_eq!(of("SAVEPOINT a").effects, Effects::SAVEPOINT);
    for sql in ["COMMIT", "ROLLBACK", "ROLLBACK TO a", "RELEASE SAVEPOINT a", "XA END 'a'"] {
        assert_eq!(of(sql).effects, Effects::empty(), "{sql}");
    }
    assert!(of("VACUUM").effects.intersects(Effects::UNKNOWN));
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
        assert!(
            effects.intersects(Effects::SESSION) && effects.intersects(Effects::LOCKS),
            "{sql}: {effects:?}"
        );
    }
    for sql in ["SELECT a FROM t FOR UPDATE", "FLUSH TABLES", "FLUSH LOCAL TABLES a, b", "FLUSH TABLE a"] {
        assert!(!of(sql).effects.intersects(Effects::SESSION), "{sql}");
    }
}
