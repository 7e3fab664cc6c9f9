//! Statements and commands reach the server and their answers the client, as if there were no proxy.

use std::sync::LazyLock;

use e2e::tools::{mariadb, mariadb_through};
use e2e::{Backend, Proxy, Setup, run, wait_for};
use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::mariadb::{PASSWORD, USER};
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, StatusFlags};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

fn proxy() -> Proxy {
    Setup::before(&DB.sandbox, &DB.server).start()
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&proxy.options()).await.unwrap()
}

async fn value(client: &mut Client, sql: &str) -> Option<String> {
    client.query(sql).await.unwrap().first()
}

#[test]
fn the_command_line_client_works_over_tcp() {
    let proxy = proxy();
    let output = mariadb_through(&DB.sandbox, &proxy, &["--execute=SELECT CURRENT_USER(), DATABASE(), 'ä'"]);
    assert_eq!(output.expect_success(), "app@%\ttest\tä\n");
}

#[test]
fn the_command_line_client_works_over_a_unix_socket() {
    let proxy = proxy();
    let socket = format!("--socket={}", proxy.socket().display());
    let (user, password) = (format!("--user={USER}"), format!("--password={PASSWORD}"));
    let output = mariadb(&DB.sandbox, &[&socket, &user, &password, "--execute=SELECT 1; SELECT 2"]);
    assert_eq!(output.expect_success(), "1\n2\n");
}

#[test]
fn a_server_can_be_a_unix_socket() {
    let row = format!("hostname = \"{}\"\nport = 0", DB.server.socket().display());
    let proxy = Setup::new(&DB.sandbox).row("mysql_servers", &row).user(USER, PASSWORD, "").start();
    let output = mariadb_through(&DB.sandbox, &proxy, &["--execute=SELECT 1"]);
    assert_eq!(output.expect_success(), "1\n");
}

#[test]
fn a_layer_4_listener_copies_bytes() {
    let proxy = Setup::before(&DB.sandbox, &DB.server).layer4().start();
    run(async {
        let options = Options::tcp(proxy.layer4(), USER, PASSWORD);
        let mut client = Client::connect(&options).await.unwrap();
        // It is the server itself that greets.
        assert!(client.server().version.contains("MariaDB"), "{:?}", client.server());
        let id = value(&mut client, "SELECT CONNECTION_ID()").await.unwrap();
        assert_eq!(id, client.server().connection_id.to_string());
        let long = value(&mut client, "SELECT REPEAT('x', 20000000)").await.unwrap();
        assert_eq!(long.len(), 20_000_000);
        client.quit().await.unwrap();
    });
}

/// Statements of all kinds; everything that they leave behind belongs to the connection.
const STATEMENTS: [&str; 21] = [
    "CREATE TEMPORARY TABLE same (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) CHARACTER SET latin1)",
    "SELECT 1, NULL, '', 2.50, x'00ff', CURRENT_USER(), DATABASE(), @@autocommit, @@sql_mode",
    "INSERT INTO same (name) VALUES ('a'), ('\u{e4}'), (NULL)",
    "SELECT * FROM same ORDER BY id",
    "UPDATE same SET name = 'a' WHERE name = 'a'",
    "SELECT * FROM same WHERE id < 0",
    "SELECT 1/0; SHOW WARNINGS",
    "BEGIN; DELETE FROM same; SELECT ROW_COUNT(); ROLLBACK; SELECT COUNT(*) FROM same",
    "SET NAMES latin1; SELECT name FROM same; SET NAMES utf8mb4",
    "SET autocommit = 0",
    "SELECT COUNT(*) FROM same",
    "SET autocommit = 1",
    "USE mysql; USE test",
    "INSERT INTO same VALUES (NULL, 'z'); SELECT LAST_INSERT_ID(), FOUND_ROWS()",
    "SELECT @@character_set_client, @@collation_connection, @@collation_server",
    "SELECT nonsense FROM nowhere",
    "SELEC",
    "",
    "-- nothing",
    "SELECT seq, REPEAT('x', seq % 300) FROM seq_1_to_2000",
    "SELECT 1; SELECT nonsense; SELECT 2",
];

#[test]
fn c32_answers_are_those_of_the_server_whatever_the_client_can_do() {
    let proxy = proxy();
    let optional = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    let sets = [
        CAPABILITIES,
        CAPABILITIES - Capabilities::DEPRECATE_EOF,
        CAPABILITIES - Capabilities::SESSION_TRACK,
        CAPABILITIES - optional,
        CAPABILITIES - Capabilities::MULTI_STATEMENTS,
        CAPABILITIES | Capabilities::FOUND_ROWS | Capabilities::IGNORE_SPACE,
    ];
    run(async {
        for capabilities in sets {
            let connect = async |options: Options| {
                let options = options.schema("test").capabilities(capabilities).collation(33);
                Client::connect(&options).await.unwrap()
            };
            let mut direct = connect(Options::tcp(DB.server.address(), USER, PASSWORD)).await;
            let mut ours = connect(proxy.options()).await;
            for sql in STATEMENTS {
                let expected = direct.query_all(sql).await.map_err(|error| error.to_string());
                let got = ours.query_all(sql).await.map_err(|error| error.to_string());
                assert_eq!(got, expected, "{sql:?} with {capabilities:?}");
                assert_eq!(ours.status(), direct.status(), "{sql:?} with {capabilities:?}");
            }
        }
    });
}

#[test]
fn c18_results_of_several_statements_keep_their_order() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let sql = "SELECT 1; DO 0; SELECT 2, 3; SELECT ';'; CREATE TEMPORARY TABLE several (a INT); SELECT 4";
        let results = client.query_all(sql).await.unwrap();
        let firsts: Vec<_> = results.iter().map(testkit::client::QueryResult::first).collect();
        assert_eq!(
            firsts,
            [Some("1"), None, Some("2"), Some(";"), None, Some("4")].map(|v| v.map(String::from))
        );
        // The error of the second ends the answer: nothing of the third may follow.
        assert_eq!(client.query_all("SELECT 1; SELEC; SELECT 3").await.unwrap_err().code(), Some(1064));
        assert_eq!(value(&mut client, "SELECT 'next'").await.as_deref(), Some("next"));
        let many = (0..500).map(|i| format!("SELECT {i}")).collect::<Vec<_>>().join(";");
        assert_eq!(client.query_all(&many).await.unwrap().len(), 500);
    });
}

#[test]
fn procedures_return_all_their_results() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let two = "CREATE PROCEDURE two(OUT o INT) BEGIN SELECT 1; SELECT 2 UNION SELECT 3; SET o = 7; END";
        let fails =
            "CREATE PROCEDURE fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END";
        for procedure in [two, fails] {
            client.query(procedure).await.unwrap();
        }
        let results = client.query_all("CALL two(@o)").await.unwrap();
        assert_eq!(results.iter().map(|result| result.rows.len()).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(value(&mut client, "SELECT @o").await.as_deref(), Some("7"));
        let error = client.query_all("CALL fails()").await.unwrap_err();
        assert_eq!(error.to_string(), "server error 1644 (45000): no");
        let statement = client.prepare("CALL two(?)").await.unwrap();
        client.execute(&statement, &[Value::Null]).await.unwrap();
        // Rows of the second SELECT, the OUT parameter, and the end.
        for rows in [2, 1, 0] {
            assert!(client.status().contains(StatusFlags::MORE_RESULTS));
            assert_eq!(client.read_result().await.unwrap().rows.len(), rows);
        }
        assert!(!client.status().contains(StatusFlags::MORE_RESULTS));
        assert_eq!(value(&mut client, "SELECT 1").await.as_deref(), Some("1"));
    });
}

#[test]
fn an_error_leaves_the_session_as_it_was() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("CREATE TEMPORARY TABLE kept (a INT PRIMARY KEY)").await.unwrap();
        client.query("INSERT INTO kept VALUES (1)").await.unwrap();
        for (sql, code) in
            [("INSERT INTO kept VALUES (1)", 1062), ("SELEC", 1064), ("SELECT * FROM gone", 1146)]
        {
            assert_eq!(client.query(sql).await.unwrap_err().code(), Some(code));
            assert_eq!(value(&mut client, "SELECT a FROM kept").await.as_deref(), Some("1"));
        }
    });
}

#[test]
fn the_schema_can_be_changed_in_both_ways() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        // The first command of a session, before it has a backend.
        client.init_db("mysql").await.unwrap();
        assert_eq!(value(&mut client, "SELECT DATABASE()").await.as_deref(), Some("mysql"));
        client.query("USE test").await.unwrap();
        assert_eq!(value(&mut client, "SELECT DATABASE()").await.as_deref(), Some("test"));
        assert_eq!(client.init_db("missing").await.unwrap_err().code(), Some(1049));
        assert_eq!(value(&mut client, "SELECT DATABASE()").await.as_deref(), Some("test"));
    });
}

#[test]
fn prepared_statements_work() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT ?, ?, ?, CONCAT('a', ?)").await.unwrap();
        assert_eq!((statement.params, statement.columns.len()), (4, 4));
        client.send_long_data(&statement, 1, b"long ").await.unwrap();
        client.send_long_data(&statement, 1, b"text").await.unwrap();
        let params = [Value::Int(-7), Value::Sent, Value::Null, Value::from("b")];
        let row = b"\0\x10\xf9\xff\xff\xff\xff\xff\xff\xff\x09long text\x02ab";
        assert_eq!(client.execute(&statement, &params).await.unwrap().rows, [row.to_vec()]);
        client.send_command(Kind::StmtReset, &statement.id.to_le_bytes()).await.unwrap();
        client.read_result().await.unwrap();
        // Closing is not answered; what follows is.
        client.close(statement.clone()).await.unwrap();
        assert_eq!(client.execute(&statement, &params).await.unwrap_err().code(), Some(1243));
        assert_eq!(client.prepare("SELEC").await.unwrap_err().code(), Some(1064));
        assert_eq!(value(&mut client, "SELECT 'next'").await.as_deref(), Some("next"));
    });
}

#[test]
fn cursors_return_their_rows_in_parts() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT seq FROM seq_1_to_5").await.unwrap();
        let opened = client.open_cursor(&statement, &[]).await.unwrap();
        assert!(opened.rows.is_empty() && opened.status.contains(StatusFlags::CURSOR_EXISTS));
        assert_eq!(client.fetch(&statement, 3).await.unwrap().rows.len(), 3);
        // Another statement in between does not disturb it.
        assert_eq!(value(&mut client, "SELECT 1").await.as_deref(), Some("1"));
        let last = client.fetch(&statement, 3).await.unwrap();
        assert_eq!(last.rows.len(), 2);
        assert!(last.status.contains(StatusFlags::LAST_ROW_SENT));
        client.close(statement).await.unwrap();
    });
}

#[test]
fn c17_messages_of_any_size_pass_in_both_directions() {
    const HEADROOM: usize = "\x03SELECT LENGTH(''), ''".len();
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT LENGTH(?), MD5(?)").await.unwrap();
        for len in
            [1, (1 << 14), (1 << 16) - 1, (1 << 24) - 2, (1 << 24) - 1, 1 << 24, (1 << 25) - 2, 1 << 25]
        {
            // The command's payload has exactly this length.
            let text = "x".repeat(len.max(HEADROOM) - HEADROOM);
            let sql = format!("SELECT LENGTH('{text}'), ''");
            let answered = value(&mut client, &sql).await.unwrap();
            assert_eq!(answered, text.len().to_string());
            // The row's payload has exactly this length: the length of a cell takes 1, 3, 4 or 9 bytes.
            let prefix = if len < 251 {
                1
            } else if len < 1 << 16 {
                3
            } else if len < (1 << 24) + 4 {
                4
            } else {
                9
            };
            let sql = format!("SELECT REPEAT('y', {})", len - prefix);
            let rows = client.query(&sql).await.unwrap().rows;
            assert_eq!((rows.len(), rows[0].len()), (1, len));
            assert!(rows[0].ends_with(b"y") || len == prefix);
            let sent = "z".repeat(len);
            client.send_long_data(&statement, 0, sent.as_bytes()).await.unwrap();
            let row =
                client.execute(&statement, &[Value::Sent, Value::from("z")]).await.unwrap().rows.remove(0);
            assert!(
                row[2..].starts_with(&u32::try_from(len).unwrap().to_le_bytes()),
                "{len}: {:?}",
                &row[..10]
            );
        }
    });
}

#[test]
fn a_client_without_a_statement_needs_no_server() {
    let proxy = Setup::new(&DB.sandbox).user(USER, PASSWORD, "").start();
    run(async {
        let mut client = Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD)).await.unwrap();
        for _ in 0..3 {
            client.ping().await.unwrap();
            client.reset_connection().await.unwrap();
        }
        // Nobody answers these.
        client.send_command(Kind::StmtClose, &[1, 0, 0, 0]).await.unwrap();
        client.send_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, 7]).await.unwrap();
        client.ping().await.unwrap();
        client.quit().await.unwrap();
    });
}

#[test]
fn small_commands_are_answered_by_the_server() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        client.send_command(Kind::Statistics, &[]).await.unwrap();
        let statistics = client.packets().read().await.unwrap();
        assert!(statistics.starts_with(b"Uptime: "), "{}", statistics.escape_ascii());
        client.ping().await.unwrap();

        client.query("CREATE TEMPORARY TABLE listed (first INT, second TEXT)").await.unwrap();
        client.send_command(Kind::FieldList, b"listed\0%").await.unwrap();
        let first = client.packets().read().await.unwrap();
        assert!(String::from_utf8_lossy(&first).contains("first"), "{}", first.escape_ascii());
        let second = client.packets().read().await.unwrap();
        assert!(String::from_utf8_lossy(&second).contains("second"), "{}", second.escape_ascii());
        assert_eq!(client.packets().read().await.unwrap()[0], 0xfe);

        // Switches several statements in one command off.
        client.send_command(Kind::SetOption, &[1, 0]).await.unwrap();
        assert_eq!(client.packets().read().await.unwrap()[0], 0xfe);
        assert_eq!(client.query("SELECT 1; SELECT 2").await.unwrap_err().code(), Some(1064));
        assert_eq!(value(&mut client, "SELECT 'next'").await.as_deref(), Some("next"));

        client.send_command(Kind::ProcessInfo, &[]).await.unwrap();
        assert!(!client.read_result().await.unwrap().rows.is_empty());
        client.query("SET @gone = 1").await.unwrap();
        client.reset_connection().await.unwrap();
        assert_eq!(value(&mut client, "SELECT @gone").await, None);
    });
}

#[test]
fn a_user_can_change_to_another() {
    DB.sql("CREATE USER other IDENTIFIED BY 'other-secret'; GRANT ALL ON test.* TO other");
    let proxy = Setup::before(&DB.sandbox, &DB.server)
        .user("other", "other-secret", "default_schema = 'test'")
        .start();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("SET @gone = 1").await.unwrap();
        let other = Options::tcp(proxy.tcp(), "other", "other-secret");
        client.change_user(&other).await.unwrap();
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()").await.as_deref(), Some("other@%"));
        assert_eq!(value(&mut client, "SELECT DATABASE()").await.as_deref(), Some("test"));
        assert_eq!(value(&mut client, "SELECT @gone").await, None);
        client.change_user(&proxy.options()).await.unwrap();
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()").await.as_deref(), Some("app@%"));
        let wrong = Options::tcp(proxy.tcp(), "other", "wrong");
        assert_eq!(client.change_user(&wrong).await.unwrap_err().code(), Some(1045));
    });
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let commands = |count: usize| {
            let mut bytes = Vec::new();
            for i in 0..count {
                put_message(
                    &mut bytes,
                    0,
                    format!("\x03SELECT {i}, REPEAT('x', {})", i * 7 % 5000).as_bytes(),
                );
            }
            bytes
        };
        // The first time the session has no backend yet.
        for count in [2, 2, 1000] {
            client.packets().write_bytes(&commands(count)).await.unwrap();
            for i in 0..count {
                client.packets().expect_seq(1);
                assert_eq!(client.read_result().await.unwrap().first(), Some(i.to_string()));
            }
        }
        client.ping().await.unwrap();
    });
}

#[test]
fn a_command_may_come_one_byte_at_a_time() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        for _ in 0..2 {
            let mut bytes = Vec::new();
            put_message(&mut bytes, 0, b"\x03SELECT 'slow'");
            for byte in bytes {
                client.packets().write_bytes(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            client.packets().expect_seq(1);
            assert_eq!(client.read_result().await.unwrap().first().as_deref(), Some("slow"));
        }
    });
}

#[test]
fn a_file_of_the_command_line_client_is_loaded() {
    DB.sql("CREATE TABLE test.loaded (id INT PRIMARY KEY, name TEXT)");
    let proxy = proxy();
    let file = DB.sandbox.path().join("rows.txt");
    let rows = (0..50_000).map(|i| format!("{i}\tname {i}")).collect::<Vec<_>>().join("\n");
    std::fs::write(&file, rows).unwrap();
    let load = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded; SELECT COUNT(*), SUM(id) FROM loaded",
        file.display()
    );
    let execute = format!("--execute={load}");
    let refused = mariadb_through(&DB.sandbox, &proxy, &["--local-infile=0", &execute]);
    assert!(refused.code == Some(1) && refused.stderr.contains("ERROR 4166"), "{refused:?}");
    let output = mariadb_through(&DB.sandbox, &proxy, &["--local-infile=1", &execute]);
    assert_eq!(output.expect_success(), "50000\t1249975000\n");
    let missing = load.replace("rows.txt", "missing.txt");
    let output = mariadb_through(&DB.sandbox, &proxy, &["--local-infile=1", &format!("--execute={missing}")]);
    assert!(output.code == Some(1) && output.stderr.contains("missing.txt"), "{output:?}");
}

#[test]
fn c19_the_file_is_the_clients_and_never_the_proxys() {
    let proxy = proxy();
    let file = DB.sandbox.path().join("proxys.txt");
    std::fs::write(&file, "the proxy could read this\n").unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t", file.display());
    run(async {
        let mut client = connect(&proxy).await;
        client.query("CREATE TEMPORARY TABLE t (line TEXT)").await.unwrap();
        client.load_local(&sql, b"from the client\nby packets\n", 3).await.unwrap();
        assert_eq!(
            value(&mut client, "SELECT GROUP_CONCAT(line) FROM t").await.as_deref(),
            Some("from the client,by packets")
        );
        // A client that does not want to gives an empty file.
        client.load_local(&sql, b"", 1).await.unwrap();
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await.as_deref(), Some("2"));
        // Without the capability the server may not even ask.
        let options = proxy.options().capabilities(CAPABILITIES - Capabilities::LOCAL_FILES);
        let mut client = Client::connect(&options).await.unwrap();
        client.query("CREATE TEMPORARY TABLE t (line TEXT)").await.unwrap();
        assert_eq!(client.query(&sql).await.unwrap_err().code(), Some(4166));
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await.as_deref(), Some("0"));
    });
}

#[test]
fn c09_a_client_that_leaves_in_a_transaction_has_changed_nothing() {
    DB.sql("CREATE TABLE test.left_behind (a INT); CREATE USER leaver IDENTIFIED BY 'pw'; GRANT ALL ON test.* TO leaver");
    let proxy = Setup::new(&DB.sandbox).server(&DB.server, "").user("leaver", "pw", "").start();
    run(async {
        for polite in [true, false] {
            let options = Options::tcp(proxy.tcp(), "leaver", "pw").schema("test");
            let mut client = Client::connect(&options).await.unwrap();
            client.query("BEGIN").await.unwrap();
            client.query("INSERT INTO left_behind VALUES (1)").await.unwrap();
            assert_eq!(value(&mut client, "SELECT COUNT(*) FROM left_behind").await.as_deref(), Some("1"));
            if polite {
                client.quit().await.unwrap();
            } else {
                drop(client);
            }
            wait_for("the end of the backend", || DB.connections_of("leaver") == 0);
            assert_eq!(DB.sql("SELECT COUNT(*) FROM test.left_behind"), "0\n");
        }
    });
}

#[test]
fn c03_the_id_of_the_greeting_is_nobody_elses() {
    let proxy = proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let id = client.server().connection_id;
        let error = client.query(&format!("KILL {id}")).await.unwrap_err();
        assert_eq!(error.code(), Some(1094), "{error}");
        let other = connect(&proxy).await;
        assert_ne!(other.server().connection_id, id);
        assert_ne!(other.server().nonce, client.server().nonce);
    });
}

#[test]
fn users_and_servers_of_several_hostgroups_keep_apart() {
    DB.sql("CREATE USER zero IDENTIFIED BY 'pw'; CREATE USER seven IDENTIFIED BY 'pw'");
    let proxy = Setup::new(&DB.sandbox)
        .server(&DB.server, "hostgroup_id = 7")
        .user("seven", "pw", "default_hostgroup = 7")
        .user("zero", "pw", "")
        .start();
    run(async {
        let connect = async |user| Client::connect(&Options::tcp(proxy.tcp(), user, "pw")).await.unwrap();
        assert_eq!(
            value(&mut connect("seven").await, "SELECT USER()").await.as_deref(),
            Some("seven@127.0.0.1")
        );
        let error = connect("zero").await.query("SELECT 1").await.unwrap_err().to_string();
        assert!(error.contains("9001") && error.contains("hostgroup 0"), "{error}");
    });
}
