//! `COM_QUERY`: everything that an answer can be.

use e2e::{Backend, Twin, on_each_server, run};

use super::{COLLATION, capabilities, create_procedures, proxy};

on_each_server! {
    every_answer_to_a_statement_is_the_servers,
    every_answer_is_the_servers_when_statements_come_ahead,
    c17_packets_at_the_limit_of_their_length_arrive_as_they_were_cut,
}

/// What the statements below need, in a schema of this name.
fn create(db: &Backend, schema: &str) {
    db.sql(&format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE wide ({});
         INSERT INTO wide () VALUES ();
         CREATE VIEW v AS SELECT c1, c2 AS alias FROM wide;",
        (0..200).map(|i| format!("c{i} INT DEFAULT {i}")).collect::<Vec<_>>().join(", ")
    ));
}

/// Procedures for them.
const PROCEDURES: [&str; 6] = [
    "nothing() DO 1",
    "one() SELECT 1, NULL, ''",
    "more(OUT o INT, INOUT io TEXT) BEGIN SELECT 1; SELECT 2 UNION SELECT 3; SET o = 7, io = CONCAT(io, '!'); END",
    "warns() BEGIN SELECT 1; SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'mind', MYSQL_ERRNO = 1642; END",
    "fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END",
    "neither() BEGIN SELECT * FROM t WHERE id < 0; UPDATE t SET name = name WHERE id < 0; END",
];

/// Statements of all kinds. What they change belongs to the session, for two sessions run each of
/// them.
const STATEMENTS: &[&str] = &[
    "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL DEFAULT 'x', UNIQUE (name))",
    // Results with and without rows, NULL, empty, wide, long.
    "SELECT 1",
    "SELECT 1, NULL, '', 2.50, 1e100, x'00ff', DATE'2024-02-29', TIME'-838:59:59', CURRENT_USER(), DATABASE()",
    "SELECT * FROM t",
    "SELECT * FROM t WHERE 1 = 0",
    "SELECT NULL, NULL, NULL",
    "SELECT '' AS ''",
    "SELECT * FROM wide",
    "SELECT * FROM wide a, wide b, wide c",
    "SELECT REPEAT('x', 250), REPEAT('x', 251), REPEAT('x', 252), REPEAT('x', 65535), REPEAT('x', 65536)",
    "SELECT seq, REPEAT('x', seq % 300) FROM test.seq_1_to_2000",
    "SELECT CHAR(254), CHAR(255), CHAR(251), CHAR(0)",
    "SELECT CAST(CHAR(254) AS BINARY), x'FE', x'FEFFFFFFFFFFFFFF', x'FF', x'FB', x'00'",
    "SELECT /* a comment; with a semicolon */ 1 -- and another",
    "SHOW TABLES",
    "SHOW CREATE TABLE wide",
    "DESCRIBE t",
    "EXPLAIN SELECT 1",
    "SELECT * FROM v",
    // Changes, with what an OK packet can say.
    "INSERT INTO t (name) VALUES ('a'), ('b'), ('c')",
    "SELECT LAST_INSERT_ID(), ROW_COUNT()",
    "INSERT IGNORE INTO t (name) VALUES ('a'), ('d')",
    "SHOW WARNINGS",
    "INSERT INTO t (id, name) VALUES (1, 'z') ON DUPLICATE KEY UPDATE name = 'zz'",
    "REPLACE INTO t (id, name) VALUES (1, 'y')",
    "UPDATE t SET name = 'y' WHERE name = 'y'",
    "UPDATE t SET name = CONCAT(name, '+')",
    "INSERT INTO t (id) VALUES (4000000)",
    "INSERT INTO t SELECT seq + 300, CONCAT('s', seq) FROM test.seq_1_to_2000",
    "DELETE FROM t WHERE id > 300",
    "SELECT COUNT(*) FROM t",
    "SELECT SQL_CALC_FOUND_ROWS id FROM t ORDER BY id LIMIT 1",
    "SELECT FOUND_ROWS()",
    "TRUNCATE TABLE t",
    "INSERT INTO t () VALUES ()",
    "CREATE TEMPORARY TABLE mine (a TINYINT, b DATE)",
    "CREATE TEMPORARY TABLE IF NOT EXISTS mine (a INT)",
    "INSERT INTO mine (a) VALUES (127)",
    "ALTER TABLE mine ADD c TEXT",
    "SELECT * FROM mine",
    "DROP TABLE IF EXISTS mine, never",
    "SHOW WARNINGS",
    // Errors, before and in the middle of a result.
    "SELEC",
    "",
    ";",
    "-- nothing",
    "SELECT nonsense FROM t",
    "SELECT * FROM nowhere",
    "INSERT INTO t (id, name) VALUES (1, 'twice')",
    "INSERT INTO t (name) VALUES (NULL)",
    "SELECT (SELECT id FROM t)",
    "SELECT IF(seq = 1500, (SELECT 1 UNION SELECT 2), seq) FROM test.seq_1_to_2000",
    "SELECT EXTRACTVALUE('<a/>', REPEAT('/', 3))",
    "KILL 999999999",
    "SHOW ERRORS",
    "GET DIAGNOSTICS @n = NUMBER",
    "SELECT @n",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'ä', MYSQL_ERRNO = 5000",
    // Several statements in one command.
    "SELECT 1; SELECT 2; DO 0; SELECT * FROM t WHERE id < 0",
    "SELECT 1/0; SHOW WARNINGS",
    "SELECT 1; SELECT nonsense; SELECT 2",
    "DO 0; SET @x = 1; SELECT @x; DO 0",
    "BEGIN; DELETE FROM t; SELECT ROW_COUNT(); ROLLBACK; SELECT COUNT(*) FROM t",
    // Procedures.
    "CALL nothing()",
    "CALL one()",
    "SET @io = 'in'; CALL more(@o, @io); SELECT @o, @io",
    "CALL warns()",
    "SHOW WARNINGS",
    "CALL fails()",
    "CALL neither()",
    "CALL one(); CALL one(); CALL fails(); CALL one()",
    "CALL nowhere()",
    // Status and session state.
    "SET autocommit = 0",
    "SELECT 1",
    "COMMIT AND CHAIN",
    "SET autocommit = 1",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "SET NAMES latin1",
    "SELECT 'ä', @@character_set_client, @@collation_connection",
    "SET NAMES utf8mb4, sql_mode = 'NO_BACKSLASH_ESCAPES', time_zone = '+01:00'",
    "SELECT '\\'",
    "SET sql_mode = DEFAULT",
    "PREPARE p FROM 'SELECT ?'; EXECUTE p USING @io; DEALLOCATE PREPARE p",
];

fn every_answer_to_a_statement_is_the_servers(db: &Backend) {
    create(db, "one_by_one");
    let proxy = proxy(db);
    run(async {
        create_procedures(db, "one_by_one", &PROCEDURES).await;
        for capabilities in capabilities() {
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            twin.same_query("USE one_by_one").await;
            for sql in STATEMENTS {
                twin.same_query(sql).await;
            }
        }
    });
}

fn every_answer_is_the_servers_when_statements_come_ahead(db: &Backend) {
    create(db, "ahead");
    let proxy = proxy(db);
    run(async {
        create_procedures(db, "ahead", &PROCEDURES).await;
        for capabilities in capabilities() {
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            let mut commands = vec![twin.query("USE ahead")];
            commands.extend(STATEMENTS.iter().map(|sql| twin.query(sql)));
            twin.same_ahead(&commands).await;
        }
    });
}

fn c17_packets_at_the_limit_of_their_length_arrive_as_they_were_cut(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut twin = Twin::new(db, &proxy, capabilities()[0], COLLATION).await;
        for len in [0xff_fffb, 0xff_fffc, 0xff_ffff, 0x100_0000, 0x1ff_fffa, 0x1ff_fffb] {
            let rows = twin.same_query(format!("SELECT REPEAT('y', {len}) UNION ALL SELECT 1")).await;
            assert!(rows.len() > 4, "{}", rows.len());
        }
        for len in [0xff_ffff, 0x100_0000, 0x1ff_fffe] {
            let start = twin.query("SELECT 1 -- ");
            let payload = [&start[..], &vec![b'x'; len - start.len()]].concat();
            twin.same(&payload).await;
        }
    });
}
