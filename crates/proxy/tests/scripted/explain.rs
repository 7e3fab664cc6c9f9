//! `EXPLAIN ROUTE` and the trace, as clients see them.

use std::time::Duration;

use config::{Config, QueryRule, UserAttributes};
use proptest::collection::vec;
use testkit::client::{CAPABILITIES, QueryResult};
use tokio::time::sleep;
use wire::StatusFlags;

use super::support::{
    CLASSIC, Client, expect_alive, first_query, log_in, log_in_as, messages, options, pair_of_servers,
    pieces, play, play_all, reset, run, session, session_in, stage,
};

/// The second and third cell of the first row with this step.
fn step(result: &QueryResult, name: &str) -> Option<(String, String)> {
    let rows = result.text().expect("cells are texts");
    let mut row = rows
        .into_iter()
        .map(|row| row.into_iter().flatten())
        .find_map(|mut row| (row.next().expect("a step") == name).then_some(row))?;
    Some((row.next().expect("a result"), row.next().expect("a detail")))
}

/// The same, where there is such a row.
fn shown(result: &QueryResult, name: &str) -> [String; 2] {
    let row = step(result, name).unwrap_or_else(|| panic!("no `{name}` in {:?}", result.text()));
    row.into()
}

async fn ask(client: &mut Client, sql: &str) -> QueryResult {
    client.query(sql).await.expect("it is explained")
}

#[test]
fn no_server_is_needed_for_an_explanation() {
    for capabilities in [CAPABILITIES, CLASSIC] {
        play(async || {
            let (stage, mut servers) = stage(pair_of_servers());
            let mut client = log_in_as(&stage, &options().capabilities(capabilities)).await;
            let told = ask(&mut client, "EXPLAIN ROUTE SELECT a FROM t").await;
            assert_eq!(shown(&told, "split"), ["reader", "a plain read outside a transaction"]);
            let told = ask(&mut client, "EXPLAIN ROUTE SELECT a FROM t FOR UPDATE").await;
            assert_eq!(shown(&told, "destination"), ["hostgroup 0", "split: it locks"]);
            let json = ask(&mut client, "explain format=json route DELETE FROM t").await;
            let json = json.first().expect("there is a cell");
            assert!(json.starts_with("{\"destination\":\"hostgroup 0\""), "{json}");
            client.send_query("EXPLAIN ROUTE -- nothing").await;
            client.expect_err(1065).await;
            assert!(servers.settled().await.is_none(), "no server was asked");
            let mut server = first_query(&mut client, &mut servers).await;
            run(&mut client, &mut server, "DO 1").await;
        });
    }
}

#[test]
fn a_rule_sees_the_statement_without_the_blanks_in_front_of_it() {
    play(async || {
        let rule = QueryRule {
            rule_id: 1,
            active: true,
            match_pattern: Some("^SELECT".into()),
            destination_hostgroup: Some(1),
            apply: true,
            ..QueryRule::default()
        };
        let (stage, mut servers) = stage(Config { query_rules: vec![rule].into(), ..pair_of_servers() });
        let mut client = log_in(&stage).await;
        for sql in ["EXPLAIN ROUTE SELECT 1", "EXPLAIN ROUTE\n  SELECT 1", "explain route\tselect 1"] {
            let told = ask(&mut client, sql).await;
            assert_eq!(shown(&told, "destination"), ["hostgroup 1", "rule 1"], "{sql}");
        }
        assert!(servers.settled().await.is_none(), "no server was asked");
    });
}

#[test]
fn the_session_is_explained_as_it_is() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(pair_of_servers()).await;
        server.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut server, "BEGIN").await;
        let told = ask(&mut client, "EXPLAIN ROUTE SELECT a FROM t").await;
        assert_eq!(shown(&told, "destination"), ["hostgroup 0", "a transaction is open there"]);
        assert!(told.status.contains(StatusFlags::IN_TRANSACTION), "the status is that of the session");
        server.status -= StatusFlags::IN_TRANSACTION | StatusFlags::AUTOCOMMIT;
        run(&mut client, &mut server, "SET autocommit = 0").await;
        let told = ask(&mut client, "EXPLAIN ROUTE SELECT a FROM t").await;
        assert_eq!(shown(&told, "split"), ["writer", "autocommit is off: it would begin a transaction"]);
        run(&mut client, &mut server, "USE other").await;
        let told = ask(&mut client, "EXPLAIN ROUTE DO 1").await;
        assert!(step(&told, "session").expect("there is one").1.starts_with("schema other, "));
    });
}

#[test]
fn hints_of_a_user_without_them_do_not_count() {
    for hints in [true, false] {
        play(async || {
            let mut config = pair_of_servers();
            config.users[0].attributes = UserAttributes { hints, ..UserAttributes::default() };
            let (stage, mut servers) = stage(config);
            let mut client = log_in(&stage).await;
            let hinted = "/* hostgroup=1 */ DELETE FROM t";
            let told = ask(&mut client, &format!("EXPLAIN ROUTE {hinted}")).await;
            client.send_query(hinted).await;
            let (to, end) = servers.dialled().await;
            let expected = if hints {
                assert_eq!(shown(&told, "hints"), ["taken", "destination_hostgroup=1"]);
                "reader:3306"
            } else {
                assert_eq!(shown(&told, "hints"), ["ignored", "switched off for the user"]);
                "db:3306"
            };
            assert_eq!(to, expected);
            drop(end);
        });
    }
}

#[test]
fn without_a_reader_the_writer_is_named() {
    play(async || {
        let mut config = pair_of_servers();
        config.servers.truncate(1);
        let (stage, _servers) = stage(config);
        let mut client = log_in(&stage).await;
        let told = ask(&mut client, "EXPLAIN ROUTE SELECT a FROM t").await;
        assert_eq!(shown(&told, "server"), ["none", "the hostgroup has no servers"]);
        assert_eq!(shown(&told, "instead"), ["hostgroup 0", "none of these can be taken"]);
        assert_eq!(step(&told, "server db:3306").expect("it is listed").0, "candidate");
    });
}

#[test]
fn what_a_rule_answers_is_explained() {
    play(async || {
        let mut config = pair_of_servers();
        config.query_rules.push(QueryRule {
            rule_id: 3,
            active: true,
            match_digest: Some("^DROP".to_owned()),
            error_msg: Some("not today".to_owned()),
            attributes: "{\"max_qps\": 7}".to_owned(),
            apply: true,
            ..QueryRule::default()
        });
        let (stage, _servers) = stage(config);
        let mut client = log_in(&stage).await;
        let told = ask(&mut client, "EXPLAIN ROUTE DROP TABLE t").await;
        let says = shown(&told, "rule 3");
        assert_eq!(says, ["match", "error_msg=not today, max_qps=7, apply"]);
        assert_eq!(shown(&told, "destination"), ["error 1148", "not today"]);
        run_refused(&mut client, "DROP TABLE t", 1148).await;
        run_refused(&mut client, "SHOW POINTSMAN TRACE", 1235).await;
        client.send_query("SET pointsman_trace = 1").await;
        client.expect_ok().await;
        assert!(ask(&mut client, "SHOW POINTSMAN TRACE").await.rows.is_empty());
        run_refused(&mut client, "DROP TABLE t", 1148).await;
        let trace = ask(&mut client, "SHOW POINTSMAN TRACE").await;
        assert_eq!(shown(&trace, "destination"), ["error 1148", "not today"]);
        assert_eq!(step(&trace, "sent to"), None);
    });
}

async fn run_refused(client: &mut Client, sql: &str, code: u16) {
    client.send_query(sql).await;
    client.expect_err(code).await;
}

/// The clock stands still but for what the script waits.
#[test]
fn the_times_of_a_trace_are_those_that_pass() {
    play(async || {
        let (stage, mut servers) = stage(pair_of_servers());
        let mut client = log_in(&stage).await;
        let mut writer = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut writer, "SET NAMES latin1").await;
        client.send_query("SET pointsman_trace = 1").await;
        client.expect_ok().await;
        client.send_query("SELECT a FROM t").await;
        let (_, end) = servers.dialled().await;
        sleep(Duration::from_millis(3)).await;
        let mut reader = super::support::Database::accept(end).await.0;
        reader.expect_query("SET NAMES latin1").await;
        sleep(Duration::from_millis(5)).await;
        reader.ok().await;
        reader.expect_query("SELECT a FROM t").await;
        sleep(Duration::from_millis(7)).await;
        reader.columns(&["a"]).await;
        sleep(Duration::from_millis(11)).await;
        reader.end_of_rows().await;
        client.expect_rows(&[]).await;
        let trace = ask(&mut client, "SHOW POINTSMAN TRACE").await;
        assert_eq!(step(&trace, "split").expect("it is explained").0, "reader");
        assert_eq!(shown(&trace, "sent to"), ["reader:3306", "hostgroup 1"]);
        let times = ["queue", "connect", "sync", "server", "relay"]
            .map(|name| step(&trace, name).map(|(took, _)| took).unwrap_or_default());
        assert_eq!(times, ["0 us", "3000 us", "5000 us", "7000 us", "11000 us"]);
        let json = ask(&mut client, "SHOW POINTSMAN TRACE JSON").await;
        let json = json.first().expect("there is a cell");
        let end = "\"sent_to\":\"reader:3306\",\"times_us\":{\"queue\":0,\"connect\":3000,\"sync\":5000,\"server\":7000,\
                   \"relay\":11000}}";
        assert!(json.ends_with(end), "{json}");
        // The next one has its connection.
        client.send_query("SELECT b FROM t").await;
        reader.expect_query("SELECT b FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
        let trace = ask(&mut client, "SHOW POINTSMAN TRACE").await;
        assert_eq!(step(&trace, "digest").expect("it is explained").1, "SELECT b FROM t");
        assert!(step(&trace, "connect").is_none() && step(&trace, "sync").is_none(), "{trace:?}");
        // A session that is reset keeps none.
        reset(&mut client, &mut reader).await;
        run_refused(&mut client, "SHOW POINTSMAN TRACE", 1235).await;
    });
}

#[test]
fn with_a_trace_commands_go_one_after_the_other() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let commands =
            ["SET pointsman_trace = 1", "DO 1", "EXPLAIN ROUTE DO 2", "DO 3", "SHOW POINTSMAN TRACE"];
        let bytes = commands.map(|sql| messages(0, &[&[b"\x03", sql.as_bytes()].concat()])).concat();
        client.send_bytes(&bytes).await;
        for sql in ["DO 1", "DO 3"] {
            server.expect_query(sql).await;
            server.ok().await;
        }
        let mut told = Vec::new();
        for _ in commands {
            client.packets().expect_seq(1);
            told.push(client.expect_result().await);
        }
        assert_eq!(step(&told[2], "digest").expect("it is explained").1, "DO ?");
        assert_eq!(shown(&told[4], "sent to"), ["db:3306", "hostgroup 0"]);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_question_may_come_in_pieces() {
    let long = format!("EXPLAIN ROUTE SELECT '{}'", "x".repeat(3_000));
    let inputs = (0..3_usize, vec(0..60_usize, 0..6));
    play_all(pair_of_servers(), inputs, async |stage, _, (which, cuts)| {
        let mut client = log_in(stage).await;
        let sql = ["EXPLAIN ROUTE SELECT 1", "  explain/**/format = JSON\troute\nSELECT 1", &long][which];
        let bytes = messages(0, &[&[b"\x03", sql.as_bytes()].concat()]);
        for piece in pieces(&bytes, &cuts) {
            client.send_bytes(piece).await;
            super::support::settle().await;
        }
        client.packets().expect_seq(1);
        let told = client.expect_result().await;
        assert!(!told.rows.is_empty(), "{sql}");
    });
}

#[test]
fn a_session_that_is_bound_to_its_connection_is_told_so() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let reasons = async |client: &mut Client| -> Vec<String> {
            let rows = ask(client, "EXPLAIN ROUTE SELECT 1").await.text().expect("cells are texts");
            let cells = rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>());
            cells.filter(|cells| cells[0].starts_with("server ")).map(|cells| cells[2].clone()).collect()
        };
        run(&mut client, &mut server, "SELECT GET_LOCK('a', 1)").await;
        let bound = "the session's connection, to which it is bound: named_lock";
        assert_eq!(reasons(&mut client).await, [bound]);
        run(&mut client, &mut server, "DO RELEASE_LOCK('a')").await;
        let free = reasons(&mut client).await;
        assert!(free.len() == 1 && free[0] != bound, "the lock is let go: {free:?}");
    });
}
