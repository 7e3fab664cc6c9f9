//! What is counted, against what was sent.

use std::net::SocketAddr;
use std::time::Duration;

use config::QueryRule;
use proxy::stage::Stage;
use tokio::time::sleep;
use wire::command::Kind;

use super::shared;
use super::support::{
    CAPACITY, Client, Database, begin, commit, config, connect, first_query, log_in, messages, options,
    options_for, play, rule, run, session, settle, stage, stage_with,
};

/// Values of `stats_mysql_global`.
fn globals<const N: usize>(stage: &Stage, names: [&str; N]) -> [u64; N] {
    names.map(|name| stage.global(name))
}

async fn refused(client: &mut Client, server: &mut Database, sql: &str, code: u16) {
    client.send_query(sql).await;
    server.expect_query(sql).await;
    server.err(code, "42000", "No").await;
    client.expect_err(code).await;
}

#[test]
fn expressions_of_rules_that_are_given_up_are_counted() {
    play(async || {
        let mut config = config();
        config.query_rules =
            vec![QueryRule { error_msg: Some("no".to_owned()), ..rule(1, "(a+)+b$") }].into();
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        assert_eq!(stage.global("Query_rules_given_up"), 0);
        run(&mut client, &mut server, &format!("SELECT '{}cb'", "a".repeat(200))).await;
        assert_eq!(stage.global("Query_rules_given_up"), 1);
        client.send_query("SELECT aab").await;
        client.expect_err(1148).await;
        assert_eq!(stage.global("Query_rules_given_up"), 1);
    });
}

#[test]
fn statements_are_counted_by_class() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        for sql in [
            "SELECT 1",
            "select 2",
            "INSERT INTO t VALUES (1)",
            "BEGIN",
            "COMMIT",
            "USE shop",
            "SET NAMES utf8",
        ] {
            run(&mut client, &mut server, sql).await;
        }
        refused(&mut client, &mut server, "SELECT nothing", 1054).await;
        let counts = ["SELECT", "INSERT", "BEGIN", "COMMIT", "USE", "SET", "UNKNOWN", "UPDATE"]
            .map(|class| stage.command(class).count);
        assert_eq!(counts, [3, 1, 1, 1, 1, 1, 1, 0], "the first query was a DO");
        let names =
            ["Questions", "Com_commit", "Com_frontend_use_db", "Com_frontend_set_names", "Slow_queries"];
        assert_eq!(globals(&stage, names), [9, 1, 1, 1, 0]);
        assert_eq!(stage.servers(false)[0].queries, 9);
        assert_eq!(stage.processes()[0].schema.as_deref(), Some("shop"));
    });
}

#[test]
fn times_are_those_from_the_statement_to_the_end_of_its_answer() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        for ms in [0, 3, 700, 1000, 2000] {
            client.send_query("SELECT 1").await;
            server.expect_query("SELECT 1").await;
            server.columns(&["1"]).await;
            sleep(Duration::from_millis(ms)).await;
            server.row(&[Some("1")]).await;
            server.end_of_rows().await;
            client.expect_result().await;
        }
        let select = stage.command("SELECT");
        assert_eq!((select.count, select.total_us), (5, 3_703_000));
        assert_eq!(select.buckets, [1, 0, 0, 1, 0, 0, 0, 0, 2, 1, 0, 0]);
        assert_eq!(stage.global("Slow_queries"), 1, "longer than a second");
        assert_eq!(stage.global("Backend_query_time_nsec"), 3_703_000_000);
    });
}

#[test]
fn a_wait_for_a_connection_is_counted_by_hostgroup() {
    play(async || {
        let (stage, _servers, mut first, mut second, mut server) = shared::two().await;
        begin(&mut first, &mut server).await;
        second.send_query("DO 2").await;
        sleep(Duration::from_millis(30)).await;
        let census = stage.census();
        assert_eq!(census.states.iter().collect::<Vec<_>>(), [(&"Connect", &1), (&"Sleep", &1)]);
        assert_eq!(census.pins.iter().collect::<Vec<_>>(), [(&"transaction", &1)]);
        commit(&mut first, &mut server).await;
        server.expect_query("DO 2").await;
        server.ok().await;
        second.expect_ok().await;
        settle().await;
        let [times] = stage.hostgroup_times().try_into().unwrap();
        assert_eq!((times.waits.count, times.waits.total_us), (1, 30_000), "the first found it free");
        assert_eq!((times.hostgroup, times.statements.count), (0, 5));
    });
}

#[test]
fn pipelined_statements_are_counted_one_by_one() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let commands: [&[u8]; 4] = [b"\x03SELECT 1", b"\x19\x01\0\0\0", b"\x03UPDATE t", b"\x0e"];
        let bytes: Vec<u8> = commands.iter().flat_map(|command| messages(0, &[command])).collect();
        client.send_bytes(&bytes).await;
        server.expect_query("SELECT 1").await;
        server.ok().await;
        assert_eq!(server.read_command().await[0], Kind::StmtClose as u8);
        server.expect_query("UPDATE t").await;
        sleep(Duration::from_millis(20)).await;
        server.ok().await;
        assert_eq!(server.read_command().await, b"\x0e");
        server.ok().await;
        for _ in 0..3 {
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
        settle().await;
        let [select, update] = ["SELECT", "UPDATE"].map(|class| stage.command(class));
        assert_eq!((select.count, update.count), (1, 1));
        assert!(select.total_us < 20_000 && update.total_us >= 20_000 && update.total_us < 40_000);
        let names = ["Questions", "Com_frontend_stmt_close", "Com_backend_stmt_close"];
        assert_eq!(globals(&stage, names), [3, 1, 1]);
    });
}

#[test]
fn prepared_statements_are_counted() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtPrepare, b"DO 1").await;
        server.expect_command(Kind::StmtPrepare, b"DO 1").await;
        server.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        assert_eq!(client.read().await[0], 0);
        for _ in 0..3 {
            client.send_command(Kind::StmtExecute, b"\x01\0\0\0\0\x01\0\0\0").await;
            server.expect_command(Kind::StmtExecute, b"\x01\0\0\0\0\x01\0\0\0").await;
            server.ok().await;
            client.expect_ok().await;
        }
        let names = ["Com_frontend_stmt_prepare", "Com_backend_stmt_execute", "Questions"];
        assert_eq!(globals(&stage, names), [1, 3, 5]);
    });
}

#[test]
fn bytes_are_those_of_the_protocol() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let before = stage.servers(true);
        assert_eq!((before[0].queries, before[0].opened, before[0].most_used), (1, 1, 1));
        let names = ["Queries_frontends_bytes_recv", "Queries_frontends_bytes_sent"];
        let [received, sent] = globals(&stage, names);
        let backends = ["Queries_backends_bytes_sent", "Queries_backends_bytes_recv"];
        let [to_server, from_server] = globals(&stage, backends);
        for _ in 0..10 {
            // A header of 4, the command byte, 8 of text; an OK packet of 11.
            run(&mut client, &mut server, "SELECT 1").await;
        }
        assert_eq!(globals(&stage, names), [received + 130, sent + 110]);
        assert_eq!(globals(&stage, backends), [to_server + 130, from_server + 110]);
        let row = &stage.servers(true)[0];
        assert_eq!((row.queries, row.bytes_sent, row.bytes_received, row.opened), (10, 130, 110, 0));
        assert_eq!(globals(&stage, backends), [to_server + 130, from_server + 110], "these go on");
        let row = &stage.servers(false)[0];
        assert_eq!((row.queries, row.bytes_sent, row.used, row.most_used), (0, 0, 1, 1));
    });
}

#[test]
fn connections_are_counted() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let _server = first_query(&mut client, &mut servers).await;
        client.send_command(Kind::Quit, b"").await;
        client.expect_end().await;
        let vanished = log_in(&stage).await;
        drop(vanished);
        drop(connect(&stage));
        let mut wrong = Client::new(connect(&stage));
        wrong.log_in(&options_for("app", "wrong")).await.unwrap_err();
        drop(wrong);
        settle().await;
        let _there = log_in(&stage).await;
        let names = [
            "Client_Connections_created",
            "Client_Connections_connected",
            "Client_Connections_aborted",
            "Access_Denied_Wrong_Password",
            "Server_Connections_created",
            "Server_Connections_connected",
            "ConnPool_get_conn_success",
        ];
        assert_eq!(globals(&stage, names), [5, 1, 3, 1, 1, 0, 1]);
    });
}

#[test]
fn refusals_are_counted() {
    play(async || {
        let mut limited = config();
        limited.variables.max_connections = 2;
        limited.users[0].max_connections = 1;
        let (stage, _servers) = stage(limited);
        let _first = log_in(&stage).await;
        let mut second = Client::new(connect(&stage));
        assert_eq!(second.log_in(&options()).await.unwrap_err().code, 1226);
        assert!(stage.client(CAPACITY).is_none() || stage.client(CAPACITY).is_none());
        let names = ["Access_Denied_Max_User_Connections", "Access_Denied_Max_Connections"];
        assert_eq!(globals(&stage, names), [1, 1]);
    });
}

#[test]
fn servers_that_cannot_be_reached_are_counted() {
    play(async || {
        let mut retrying = config();
        retrying.variables.connect_retries_on_failure = 2;
        let (stage, _servers) = stage_with(retrying, CAPACITY, |_| true);
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        client.expect_err(9001).await;
        let names =
            ["Server_Connections_aborted", "ConnPool_get_conn_failure", "max_connect_timeouts", "Questions"];
        assert_eq!(globals(&stage, names), [3, 1, 1, 1]);
        assert_eq!(stage.servers(false)[0].failed, 3);
        assert_eq!(stage.global("generated_error_packets"), 1);
    });
}

#[test]
fn errors_of_servers_are_listed() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        for (sql, code) in [("SELECT a", 1054), ("SELECT b", 1054), ("INSERT x", 1062)] {
            refused(&mut client, &mut server, sql, code).await;
        }
        // An error behind rows counts as well.
        client.send_query("SELECT much").await;
        server.expect_query("SELECT much").await;
        server.columns(&["much"]).await;
        server.row(&[Some("1")]).await;
        server.err(1317, "70100", "Interrupted").await;
        assert_eq!(client.read_result().await.unwrap_err().code, 1317);
        let rows: Vec<_> = stage
            .errors(true)
            .into_iter()
            .map(|row| (row.hostgroup, row.host, row.port, row.user, row.code, row.count, row.message))
            .collect();
        let row = |code, count, message: &str| {
            (0, "db".to_owned(), 3306, "app".to_owned(), code, count, message.to_owned())
        };
        assert_eq!(rows, [row(1054, 2, "No"), row(1062, 1, "No"), row(1317, 1, "Interrupted")]);
        assert!(stage.errors(false).is_empty());
    });
}

#[test]
fn sessions_are_listed_with_what_they_do() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let from = SocketAddr::from(([10, 1, 2, 3], 4567));
        let end = stage.client_from(from, SocketAddr::from(([10, 0, 0, 1], 6033)), CAPACITY).unwrap();
        settle().await;
        let rows = stage.processes();
        assert_eq!((rows.len(), rows[0].command, rows[0].user.as_str()), (1, "Connecting client", ""));
        let mut client = Client::connect(end, &options()).await;
        settle().await;
        assert_eq!((stage.processes()[0].command, &*stage.processes()[0].user), ("Sleep", "app"));
        client.send_query("SELECT 'a'").await;
        let end = servers.dialled().await.1;
        sleep(Duration::from_millis(70)).await;
        let row = &stage.processes()[0];
        assert_eq!((row.command, row.statement.as_deref()), ("Connect", Some(&b"SELECT 'a'"[..])));
        assert_eq!((row.time.as_millis() >= 70, &row.server), (true, &None));
        let mut server = Database::accept(end).await.0;
        server.expect_query("SELECT 'a'").await;
        sleep(Duration::from_millis(30)).await;
        let row = &stage.processes()[0];
        assert_eq!((row.command, row.statement.as_deref()), ("Query", Some(&b"SELECT 'a'"[..])));
        assert_eq!(row.client, Some((from.ip(), 4567)));
        assert_eq!(row.server, Some(("db".to_owned(), 3306)));
        assert_eq!(stage.global("Client_Connections_non_idle"), 1);
        server.ok().await;
        client.expect_ok().await;
        settle().await;
        let row = &stage.processes()[0];
        assert_eq!((row.command, &row.statement), ("Sleep", &None));
        assert_eq!(stage.global("Client_Connections_non_idle"), 0);
        drop(client);
        settle().await;
        assert!(stage.processes().is_empty());
    });
}

#[test]
fn long_statements_are_shown_in_part() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let sql = format!("SELECT '{}'", "x".repeat(3000));
        client.send_query(&sql).await;
        server.expect_query(&sql).await;
        assert_eq!(stage.processes()[0].statement.as_deref(), sql.as_bytes().get(..1024));
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn transactions_are_counted() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        settle().await;
        assert_eq!(stage.global("Active_Transactions"), 1);
        server.status = wire::StatusFlags::AUTOCOMMIT;
        run(&mut client, &mut server, "COMMIT").await;
        settle().await;
        assert_eq!(stage.global("Active_Transactions"), 0);
    });
}
