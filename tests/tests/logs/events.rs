//! What stands in the query log.

use std::time::SystemTime;

use e2e::run;
use testkit::client::{Client, Value};
use testkit::mariadb::USER;
use wire::command::Kind;
use wire::frame::put_message;

use super::{DB, all_as_json, files, flush, lines, setup, value};

#[test]
fn every_statement_has_a_line_with_what_became_of_it() {
    run(async {
        let setup = all_as_json();
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let id: u32 = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap().parse().unwrap();
        client.query("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)").await.unwrap();
        client.query("INSERT INTO t (v) VALUES (1), (2)").await.unwrap();
        client.query("SELECT v AS \"a\tname\" FROM t").await.unwrap();
        client.query("SELECT v FROM t WHERE id > 5").await.unwrap();
        client.query("SELECT nothing").await.unwrap_err();
        flush(&proxy).await;
        let lines = lines(&folder, "q.00000001");
        assert_eq!(lines.len(), 6, "{lines:#?}");
        let server = format!("127.0.0.1:{}", DB.server.port());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        for line in &lines {
            let is = |name: &str, expected: &str| assert_eq!(value(line, name), Some(expected), "{line}");
            is("event", "COM_QUERY");
            is("username", USER);
            is("schemaname", "test");
            is("hostgroup_id", "0");
            is("server", &server);
            is("thread_id", &id.to_string());
            assert!(value(line, "client").unwrap().starts_with("127.0.0.1:"));
            let number = |name: &str| value(line, name).unwrap().parse::<u128>().unwrap();
            let (start, end) = (number("starttime_timestamp_us"), number("endtime_timestamp_us"));
            assert_eq!(end - start, number("duration_us"));
            assert!(end <= now && now - end < 600_000_000, "{line}");
        }
        let rows = |line: usize| {
            ["rows_sent", "rows_affected", "last_insert_id", "errno"].map(|name| value(&lines[line], name))
        };
        assert_eq!(rows(0), [Some("1"), None, None, None]);
        assert_eq!(rows(2), [None, Some("2"), Some("1"), None]);
        assert_eq!(rows(3), [Some("2"), None, None, None]);
        assert_eq!(rows(4), [Some("0"), None, None, None]);
        assert_eq!(rows(5), [None, None, None, Some("1054")]);
        assert!(lines[3].contains(r#""query":"SELECT v AS \"a\tname\" FROM t""#), "{}", lines[3]);
    });
}

#[test]
fn long_texts_are_cut_and_say_so() {
    run(async {
        let setup = all_as_json().pointsman_variable("log_text_max", 300);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let long = format!("SELECT '{}'", "x".repeat(200_000));
        for sql in [&long[..], "SELECT 1", &format!("SELECT '{}'", "y".repeat(280))] {
            client.query(sql).await.unwrap();
        }
        flush(&proxy).await;
        let lines = lines(&folder, "q.00000001");
        assert_eq!(value(&lines[0], "query"), Some(&long[..300]));
        assert_eq!(value(&lines[0], "query_bytes"), Some(&*long.len().to_string()));
        assert_eq!([value(&lines[1], "query"), value(&lines[1], "query_bytes")], [Some("SELECT 1"), None]);
        assert_eq!(value(&lines[2], "query").unwrap().len(), 289);
    });
}

#[test]
fn a_sample_is_exactly_its_share() {
    run(async {
        let setup = all_as_json().pointsman_variable("eventslog_sample", 10);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for n in 0..200 {
            client.query(&format!("DO {n}")).await.unwrap();
        }
        flush(&proxy).await;
        assert_eq!(lines(&folder, "q.00000001").len(), 20);
    });
}

#[test]
fn nothing_is_logged_by_default_and_a_load_changes_that() {
    run(async {
        let setup = setup();
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("DO 1").await.unwrap();
        let mut admin = super::admin(&proxy).await;
        admin.query("PROXYSQL FLUSH LOGS").await.unwrap();
        for sql in [
            "SET mysql-eventslog_filename = 'log/q'",
            "SET mysql-eventslog_format = 2",
            "SET mysql-eventslog_default_log = 1",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ] {
            admin.query(sql).await.unwrap();
        }
        client.query("DO 2").await.unwrap();
        for sql in ["SET mysql-eventslog_default_log = 0", "LOAD MYSQL VARIABLES TO RUNTIME"] {
            admin.query(sql).await.unwrap();
        }
        client.query("DO 3").await.unwrap();
        flush(&proxy).await;
        assert!(files(&folder, "q").is_empty());
        let folder = folder.join("log");
        let lines = lines(&folder, "q.00000001");
        assert_eq!(lines.iter().map(|line| value(line, "query").unwrap()).collect::<Vec<_>>(), ["DO 2"]);
    });
}

#[test]
fn a_rule_says_what_is_logged() {
    run(async {
        let rule = |id: u32, pattern: &str, log: u8| {
            format!("rule_id = {id}\nactive = true\nmatch_pattern = '{pattern}'\nlog = {log}")
        };
        let setup = setup()
            .variable("eventslog_filename", "\"q\"")
            .variable("eventslog_format", 2)
            .pointsman_variable("slow_log_filename", "\"slow\"")
            .pointsman_variable("eventslog_sample", 1_000_000)
            .row("mysql_query_rules", &rule(1, "wanted", 1))
            .row("mysql_query_rules", &rule(2, "secret", 0))
            .row("mysql_query_rules", &format!("{}\nerror_msg = 'no'", rule(3, "refused", 1)));
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for sql in ["DO 'wanted'", "DO 'other'", "DO 'secret'", "DO 'wanted secret'", "DO 'wanted too'"] {
            client.query(sql).await.unwrap();
        }
        client.query("DO 'refused'").await.unwrap_err();
        let statement = client.prepare("SELECT 'wanted', ?").await.unwrap();
        client.execute(&statement, &[Value::Int(7)]).await.unwrap();
        flush(&proxy).await;
        let lines = lines(&folder, "q.00000001");
        let events: Vec<_> =
            lines.iter().map(|line| [value(line, "event").unwrap(), value(line, "query").unwrap()]).collect();
        assert_eq!(
            events,
            [
                ["COM_QUERY", "DO 'wanted'"],
                ["COM_QUERY", "DO 'wanted too'"],
                ["COM_QUERY", "DO 'refused'"],
                ["COM_STMT_PREPARE", "SELECT 'wanted', ?"],
                ["COM_STMT_EXECUTE", "SELECT 'wanted', ?"],
            ]
        );
        let refused = ["hostgroup_id", "errno", "server"].map(|name| value(&lines[2], name));
        assert_eq!(refused, [Some("-1"), Some("1148"), None]);
        assert_eq!(value(&lines[3], "client_stmt_id"), value(&lines[4], "client_stmt_id"));
        assert_eq!(value(&lines[3], "digest"), value(&lines[4], "digest"));
        // The hash of `DO ?`.
        assert_eq!(value(&lines[0], "digest"), value(&lines[1], "digest"));
        assert_ne!(value(&lines[0], "digest"), Some("0x0000000000000000"));
        assert_eq!(value(&lines[2], "digest"), value(&lines[0], "digest"), "no server has got it");
        let slow = super::lines(&folder, "slow.00000001");
        assert_eq!(slow.iter().filter(|line| line.starts_with("# Query_time: ")).count(), 5, "{slow:#?}");
    });
}

#[test]
fn statements_that_come_together_have_a_line_each() {
    run(async {
        let setup = all_as_json();
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let prepared = client.prepare("SELECT 4").await.unwrap();
        let execute = [&prepared.id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
        let mut commands = Vec::new();
        for n in 1..4 {
            put_message(&mut commands, 0, format!("\x03SELECT {n}").as_bytes());
        }
        put_message(&mut commands, 0, &[&[Kind::StmtExecute as u8], &execute[..]].concat());
        client.packets().write_bytes(&commands).await.unwrap();
        for _ in 0..4 {
            client.packets().expect_seq(1);
            // The last one has a row in the binary form, of which nothing is looked at.
            client.read_result().await.unwrap();
        }
        flush(&proxy).await;
        let lines = lines(&folder, "q.00000001");
        let texts: Vec<_> = lines.iter().map(|line| value(line, "query").unwrap()).collect();
        assert_eq!(texts, ["SELECT 4", "SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4"]);
        assert_eq!(value(&lines[4], "client_stmt_id"), Some(&*prepared.id.to_string()));
        assert_eq!(value(&lines[4], "rows_sent"), Some("1"));
    });
}
