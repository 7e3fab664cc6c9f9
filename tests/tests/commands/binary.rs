//! Prepared statements: preparing, executing, long data, cursors, resetting, closing; MariaDB's
//! bulk execution and its "statement prepared last".

use e2e::{Backend, Frame, Twin, on_each_server, run};
use testkit::client::CAPABILITIES;
use wire::Capabilities;
use wire::command::Kind;

use super::{
    COLLATION, DB, capabilities, command, create_procedures, execute, execute_with, fetch, long_data,
    of_statement, prepare, proxy, text,
};

on_each_server! {
    every_answer_to_a_prepared_statement_is_the_servers,
    every_answer_is_the_servers_when_commands_come_ahead,
}

/// `MYSQL_TYPE_*`.
const LONG: u8 = 3;
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;
const BLOB: u8 = 252;
/// `CURSOR_TYPE_READ_ONLY`, `_FOR_UPDATE` and `_SCROLLABLE`.
const CURSOR: u8 = 1;
const FOR_UPDATE: u8 = 2;
const SCROLLABLE: u8 = 4;
/// Id of a statement that was not prepared.
const UNPREPARED: u32 = 4711;

/// The statements 1, with rows, and 2, with a parameter.
fn preparations() -> [Vec<u8>; 2] {
    [prepare("SELECT seq, REPEAT('x', seq % 300) FROM test.seq_1_to_2000"), prepare("SELECT ?, 1")]
}

/// Commands about these statements.
#[rustfmt::skip]
fn script() -> Vec<Vec<u8>> {
    let query = |sql: &str| command(Kind::Query, sql.as_bytes());
    vec![
        execute(1, 0), execute(1, 0),
        // Parameters of different types, NULL, without types the second time, and one too few.
        execute_with(2, 0, LONG, &7_i32.to_le_bytes()),
        execute_with(2, 0, VAR_STRING, &text(b"text")),
        [execute(2, 0), vec![0, 0], text(b"again")].concat(),
        [execute(2, 0), vec![1, 1, LONG, 0]].concat(),
        execute(2, 0),
        // Long data, in parts and none; a reset throws them away.
        long_data(2, 0, b"long "), long_data(2, 0, b"text"), execute_with(2, 0, BLOB, &[]),
        long_data(2, 0, b"lost"), of_statement(Kind::StmtReset, 2), execute_with(2, 0, VAR_STRING, &text(b"kept")),
        long_data(2, 0, &vec![b'l'; 70_000]), execute_with(2, 0, BLOB, &[]),
        // Wrong: a parameter that is not there (the error comes with the next command), a statement
        // that is not there.
        long_data(2, 9, b"nowhere"), execute_with(2, 0, LONG, &7_i32.to_le_bytes()), of_statement(Kind::StmtReset, 2),
        long_data(UNPREPARED, 0, b"nothing"),
        execute(UNPREPARED, 0), fetch(UNPREPARED, 1), of_statement(Kind::StmtReset, UNPREPARED), of_statement(Kind::StmtClose, UNPREPARED),
        // Errors of preparing.
        prepare("SELEC"), prepare(""), prepare("SELECT 1; SELECT 2"), prepare("SELECT * FROM nowhere"),
        // Cursors: opened, read in parts, past the end, twice, and closed by a reset.
        execute(1, CURSOR), fetch(1, 3), query("SELECT 'between'"), fetch(1, 1), fetch(1, 1990), fetch(1, 100), fetch(1, 1),
        execute(1, CURSOR), fetch(1, 0), fetch(1, u32::MAX),
        execute(1, CURSOR), fetch(1, 1), execute(1, CURSOR), fetch(1, 2), of_statement(Kind::StmtReset, 1), fetch(1, 1),
        execute(1, FOR_UPDATE), execute(1, SCROLLABLE), execute(1, CURSOR | FOR_UPDATE),
        execute_with(2, CURSOR, LONGLONG, &9_i64.to_le_bytes()), fetch(2, 5),
        // Closing is not answered.
        of_statement(Kind::StmtClose, 1), execute(1, 0), fetch(1, 1), of_statement(Kind::StmtClose, 2),
        // What is no select; a procedure with results and OUT parameters; an error while running.
        query("CREATE TEMPORARY TABLE prepared (a INT PRIMARY KEY, b TEXT)"),
        query("PREPARE named FROM 'SELECT 1'"), query("EXECUTE named"),
        // Garbage: too short, no body.
        command(Kind::StmtExecute, &[]), command(Kind::StmtExecute, &[1, 0]),
        command(Kind::StmtFetch, &[1, 0, 0, 0]), command(Kind::StmtReset, &[1]),
        query("SELECT 'the end'"),
    ]
}

/// Statements that are prepared and run one after the other, each closed before the next.
const PREPARED: [&str; 15] = [
    "SELECT 1, NULL, '', 2.5, CAST(1 AS SIGNED), x'fe', x'ff', NOW() IS NULL",
    "SELECT * FROM test.seq_1_to_5 WHERE seq > 9",
    "INSERT INTO prepared VALUES (1, 'a'), (2, NULL)",
    "INSERT INTO prepared VALUES (1, 'a')",
    "INSERT IGNORE INTO prepared VALUES (1, 'a'), (3, '')",
    "SELECT * FROM prepared",
    "UPDATE prepared SET b = 'x' WHERE a < 3",
    "DELETE FROM prepared WHERE a = 3",
    "SET @x = 1",
    "DO 0",
    "SHOW VARIABLES LIKE 'sql_mode'",
    "CALL test.binary_more(@o)",
    "CALL test.binary_fails()",
    "SELECT (SELECT 1 UNION SELECT 2)",
    "CREATE TEMPORARY TABLE other (a INT)",
];

/// The number of a statement that was prepared.
fn id(prepared: &[Frame]) -> Option<u32> {
    let [0, id @ ..] = &prepared[0].payload[..] else { return None };
    id.first_chunk().map(|id| u32::from_le_bytes(*id))
}

const PROCEDURES: [&str; 2] = [
    "binary_more(OUT o INT) BEGIN SELECT 1, 'a'; SELECT 2 UNION SELECT 3; SET o = 7; END",
    "binary_fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END",
];

fn every_answer_to_a_prepared_statement_is_the_servers(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        create_procedures(db, "test", &PROCEDURES).await;
        for capabilities in capabilities() {
            let capabilities = capabilities - Capabilities::QUERY_ATTRIBUTES;
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            for command in preparations().into_iter().chain(script()) {
                twin.same(&command).await;
            }
            for sql in PREPARED {
                let prepared = twin.same(&prepare(sql)).await;
                let Some(id) = id(&prepared) else { continue };
                for flags in [0, CURSOR] {
                    twin.same(&execute(id, flags)).await;
                    twin.same(&fetch(id, 1)).await;
                }
                twin.same(&of_statement(Kind::StmtClose, id)).await;
            }
            let prepared = twin.same(&prepare("CALL test.binary_more(?)")).await;
            let id = id(&prepared).unwrap();
            let out = twin.same(&execute_with(id, 0, LONG, &1_i32.to_le_bytes())).await;
            assert!(out.len() > 10, "{out:?}");
        }
    });
}

fn every_answer_is_the_servers_when_commands_come_ahead(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        for capabilities in capabilities() {
            let capabilities = capabilities - Capabilities::QUERY_ATTRIBUTES;
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            for command in preparations() {
                twin.same(&command).await;
            }
            twin.same_ahead(&script()).await;
        }
    });
}

/// `COM_STMT_BULK_EXECUTE`: sets of parameters for the columns (INT, VARCHAR), with indicators.
fn bulk(id: u32, flags: u16, sets: &[(Option<i32>, &str)]) -> Vec<u8> {
    const VALUE: u8 = 0;
    const NULL: u8 = 1;
    let mut body = [&id.to_le_bytes()[..], &flags.to_le_bytes(), &[LONG, 0, VAR_STRING, 0]].concat();
    for (number, name) in sets {
        match number {
            Some(number) => {
                body.push(VALUE);
                body.extend_from_slice(&number.to_le_bytes());
            }
            None => body.push(NULL),
        }
        body.push(VALUE);
        body.extend_from_slice(&text(name.as_bytes()));
    }
    command(Kind::StmtBulkExecute, &body)
}

#[test]
fn bulk_execution_of_mariadb_is_answered_as_by_the_server() {
    const TYPES: u16 = 128;
    const UNIT_RESULTS: u16 = 64;
    let proxy = proxy(&DB);
    run(async {
        let bits = Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_BULK_UNIT_RESULTS;
        for capabilities in
            [CAPABILITIES | bits, (CAPABILITIES | bits) - Capabilities::DEPRECATE_EOF, CAPABILITIES]
        {
            let mut twin = Twin::new(&DB, &proxy, capabilities, COLLATION).await;
            twin.same_query("CREATE TEMPORARY TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9))")
                .await;
            twin.same(&prepare("INSERT INTO b VALUES (?, ?)")).await;
            for sets in [
                &[(Some(1), "a"), (None, "b"), (Some(9), "")][..],
                &[(Some(20), "x")],
                &[(Some(20), "x"), (Some(21), "y")],
            ] {
                twin.same(&bulk(1, TYPES, sets)).await;
                twin.same(&bulk(1, TYPES | UNIT_RESULTS, sets)).await;
                twin.same_query("SELECT * FROM b").await;
            }
            let many: Vec<_> = (100..20_100).map(|i| (Some(i), "many")).collect();
            twin.same(&bulk(1, TYPES, &many)).await;
            twin.same_query("SELECT COUNT(*) FROM b").await;
            twin.same(&bulk(UNPREPARED, TYPES, &[(Some(1), "a")])).await;
            twin.same(&prepare("SELECT ?, ?")).await;
            twin.same(&bulk(2, TYPES, &[(Some(1), "a")])).await;
        }
    });
}

#[test]
fn statement_minus_one_of_mariadb_is_the_one_prepared_last() {
    const LAST: u32 = u32::MAX;
    let proxy = proxy(&DB);
    run(async {
        for capabilities in capabilities() {
            let capabilities = capabilities - Capabilities::QUERY_ATTRIBUTES;
            let script = [
                prepare("SELECT 1, ?"),
                execute_with(LAST, 0, LONG, &7_i32.to_le_bytes()),
                prepare("SELECT 2"),
                execute(LAST, 0),
                execute(LAST, CURSOR),
                fetch(LAST, 1),
                execute_with(1, 0, LONG, &8_i32.to_le_bytes()),
                prepare("SELEC"),
                execute(LAST, 0),
                of_statement(Kind::StmtReset, LAST),
                of_statement(Kind::StmtClose, LAST),
                execute(LAST, 0),
            ];
            let mut twin = Twin::new(&DB, &proxy, capabilities, COLLATION).await;
            for command in &script {
                twin.same(command).await;
            }
            // The same in one write, as Connector/J for MariaDB does it: the id is not known yet.
            let mut twin = Twin::new(&DB, &proxy, capabilities, COLLATION).await;
            let named = execute_with(1, 0, LONG, &8_i32.to_le_bytes());
            let ahead: Vec<_> = script.into_iter().filter(|command| *command != named).collect();
            twin.same_ahead(&ahead).await;
        }
    });
}
