//! `EXPLAIN ROUTE` and the trace, with MariaDB's command-line client, on both ports.

use e2e::tools;
use testkit::mariadb::USER;

use super::{READER, WRITER, ask, ask_admin, split};

/// The second and third cell of the first row with this step.
fn step<'a>(rows: &'a str, name: &str) -> (&'a str, &'a str) {
    let cells = |line: &'a str| {
        let mut cells = line.split('\t');
        Some((cells.next()?, cells.next()?, cells.next()?))
    };
    let found = rows.lines().filter_map(cells).find(|(step, ..)| *step == name);
    let (_, result, detail) = found.unwrap_or_else(|| panic!("no `{name}` in:\n{rows}"));
    (result, detail)
}

#[test]
fn a_session_asks_where_its_statement_would_go() {
    let proxy = split().start();
    let rows = ask(&proxy, "EXPLAIN ROUTE SELECT user FROM mysql.user").expect_success();
    assert_eq!(step(&rows, "split"), ("writer", "it is about the server"));
    let rows = ask(&proxy, "EXPLAIN ROUTE SELECT 1").expect_success();
    assert_eq!(step(&rows, "shape").0, "read");
    assert_eq!(step(&rows, "split"), ("reader", "a plain read outside a transaction"));
    assert_eq!(step(&rows, "destination").0, "hostgroup 1");
    let reader = format!("server 127.0.0.1:{}", READER.server.port());
    assert_eq!(step(&rows, &reader).0, "candidate");
    let in_transaction = ask(&proxy, "BEGIN; EXPLAIN ROUTE SELECT 1; ROLLBACK").expect_success();
    assert_eq!(step(&in_transaction, "split"), ("not asked", "a transaction is open"));
    assert!(
        step(&in_transaction, "session").1.ends_with("in a transaction on hostgroup 0, last on hostgroup 0")
    );
    let json = ask(&proxy, "EXPLAIN FORMAT=JSON ROUTE /* hostgroup=0 */ SELECT 'a\"b'").expect_success();
    assert!(json.starts_with("{\"destination\":\"hostgroup 0\",\"reason\":\"hint of the client\""), "{json}");
    let nothing = ask(&proxy, "EXPLAIN ROUTE /* nothing */ ");
    assert!(nothing.stderr.contains("ERROR 1065 (42000)"), "{}", nothing.stderr);
    // Servers explain what they can.
    assert!(ask(&proxy, "EXPLAIN SELECT 1").expect_success().contains("SIMPLE"));
}

#[test]
fn what_was_explained_is_what_happens() {
    let proxy = split().start();
    for sql in ["SELECT @@port", "SELECT @@port + 0 FROM DUAL FOR UPDATE"] {
        // A variable of the server, so that it goes to the writer; and the client knows better.
        for hint in ["", "/* hostgroup=1 */ ", "/* access_mode=read_only */ "] {
            let rows = ask(&proxy, &format!("EXPLAIN ROUTE {hint}{sql}")).expect_success();
            let port = match step(&rows, "destination").0 {
                "hostgroup 0" => WRITER.server.port(),
                "hostgroup 1" => READER.server.port(),
                other => panic!("{other}"),
            };
            let answer = ask(&proxy, &format!("{hint}{sql}")).expect_success();
            assert_eq!(answer.trim(), port.to_string(), "{hint}{sql}\n{rows}");
        }
    }
}

#[test]
fn the_trace_is_that_of_the_last_statement() {
    let proxy = split().start();
    let refused = ask(&proxy, "SHOW POINTSMAN TRACE");
    assert!(refused.stderr.contains("ERROR 1235 (42000)"), "{}", refused.stderr);
    let rows = ask(
        &proxy,
        "SET NAMES latin1; SET pointsman_trace = 1; DO SLEEP(0.02); SELECT SLEEP(0.05); SHOW POINTSMAN TRACE",
    );
    let rows = rows.expect_success();
    let micros = |name: &str| -> u64 { step(&rows, name).0.strip_suffix(" us").unwrap().parse().unwrap() };
    assert_eq!(step(&rows, "digest").1, "SELECT SLEEP(?)");
    assert_eq!(step(&rows, "split").0, "reader");
    let reader = format!("127.0.0.1:{}", READER.server.port());
    assert_eq!(step(&rows, "sent to"), (reader.as_str(), "hostgroup 1"));
    assert!(micros("connect") > 0 && micros("sync") > 0, "{rows}");
    assert!(micros("server") >= 50_000, "{rows}");
    let _ = (micros("queue"), micros("relay"));
    let json = ask(&proxy, "SET pointsman_trace = ON; SELECT 1; SHOW POINTSMAN TRACE JSON").expect_success();
    assert!(json.contains("\"times_us\":{") && json.contains(&format!("\"sent_to\":\"{reader}\"")), "{json}");
    // It can be switched off, and servers never hear of it.
    let off = ask(&proxy, "SET pointsman_trace = 1; SET pointsman_trace = 0; SHOW POINTSMAN TRACE");
    assert!(off.stderr.contains("ERROR 1235"), "{}", off.stderr);
}

#[test]
fn admins_ask_for_sessions_that_do_not_exist() {
    let proxy = split().start();
    for user in ["admin", "stats"] {
        let sql = "POINTSMAN EXPLAIN ROUTE SCHEMA shop CLIENT 10.0.0.7 SELECT a FROM t";
        let rows = ask_admin(&proxy, user, sql).expect_success();
        assert_eq!(step(&rows, "session").0, format!("user {USER}"));
        assert!(step(&rows, "session").1.starts_with("schema shop, from 10.0.0.7 at "), "{rows}");
        assert_eq!(step(&rows, "split").0, "reader");
    }
    let json =
        ask_admin(&proxy, "stats", "POINTSMAN EXPLAIN ROUTE FORMAT=JSON DELETE FROM t").expect_success();
    assert!(json.starts_with("{\"destination\":\"hostgroup 0\""), "{json}");
    let unknown = ask_admin(&proxy, "admin", "POINTSMAN EXPLAIN ROUTE USER nobody SELECT 1");
    assert!(unknown.stderr.contains("there is no active user `nobody`"), "{}", unknown.stderr);
}

#[test]
fn a_rule_that_does_not_compile_is_refused_with_its_number() {
    let proxy = split().start();
    let sql = "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, apply) VALUES (7, 1, '^(SELECT', 1); \
               LOAD MYSQL QUERY RULES TO RUNTIME";
    let refused = ask_admin(&proxy, "admin", sql);
    let expected = "MYSQL QUERY RULES not loaded: mysql_query_rules row rule_id=7: `match_pattern`: ";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let checked = ask_admin(&proxy, "admin", "POINTSMAN CHECK CONFIG").expect_success();
    assert!(checked.contains("error\tmysql_query_rules row rule_id=7: `match_pattern`: "), "{checked}");
    let rule = "UPDATE mysql_query_rules SET match_pattern = '^SELECT'; LOAD MYSQL QUERY RULES TO RUNTIME; \
                POINTSMAN EXPLAIN ROUTE SELECT 1";
    let rows = ask_admin(&proxy, "admin", rule).expect_success();
    assert_eq!(step(&rows, "rule 7").0, "match");
    // What was explained was not counted, and what was counted stays when something else is loaded.
    let hits = "SELECT * FROM stats_mysql_query_rules; LOAD MYSQL USERS TO RUNTIME; SELECT * FROM stats_mysql_query_rules";
    assert_eq!(ask_admin(&proxy, "admin", hits).expect_success(), "7\t0\n7\t0\n");
    ask(&proxy, "SELECT 1; DO 1; SELECT 1").expect_success();
    assert_eq!(ask_admin(&proxy, "admin", hits).expect_success(), "7\t2\n7\t2\n");
}

#[test]
fn a_file_with_such_a_rule_is_refused() {
    let file = WRITER.sandbox.path().join("bad-rule.toml");
    let toml = "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[mysql_query_rules]]\nrule_id = 7\nactive = true\n\
                match_pattern = \"^(SELECT\"\n";
    std::fs::write(&file, toml).unwrap();
    for command in ["check", "serve"] {
        let output = tools::pointsman(&WRITER.sandbox, [command, "--config", &file.display().to_string()]);
        assert_eq!(output.code, Some(1), "{output:#?}");
        let said = "mysql_query_rules row rule_id=7: `match_pattern`: ";
        assert!(output.stderr.contains(said), "{}", output.stderr);
    }
}
