//! Commands that are no statements, and the order of answers.

use e2e::{Backend, Setup, on_each_server, run};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use wire::command::Kind;
use wire::frame::put_message;

use super::{connect, proxy, value};

on_each_server! {
    the_schema_can_be_changed_in_both_ways,
    a_client_without_a_statement_needs_no_server,
    small_commands_are_answered_by_the_server,
    pipelined_commands_are_answered_in_order,
    a_command_may_come_one_byte_at_a_time,
}

fn the_schema_can_be_changed_in_both_ways(db: &Backend) {
    let proxy = proxy(db);
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

fn a_client_without_a_statement_needs_no_server(db: &Backend) {
    let proxy = Setup::new(&db.sandbox).user(USER, PASSWORD, "").start();
    run(async {
        let mut client = Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD)).await.unwrap();
        for _ in 0..3 {
            client.ping().await.unwrap();
        }
        // Servers do not answer these.
        client.send_command(Kind::StmtClose, &[1, 0, 0, 0]).await.unwrap();
        client.send_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, 7]).await.unwrap();
        client.ping().await.unwrap();
        client.quit().await.unwrap();
    });
}

fn small_commands_are_answered_by_the_server(db: &Backend) {
    let proxy = proxy(db);
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
        match client.read_result().await {
            Ok(processes) => assert!(!processes.rows.is_empty()),
            // MySQL 9 has it no more.
            Err(error) => assert!(db.is_mysql() && error.code() == Some(1047), "{error}"),
        }
        client.query("SET @gone = 1").await.unwrap();
        client.reset_connection().await.unwrap();
        assert_eq!(value(&mut client, "SELECT @gone").await, None);
    });
}

fn pipelined_commands_are_answered_in_order(db: &Backend) {
    let proxy = proxy(db);
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

fn a_command_may_come_one_byte_at_a_time(db: &Backend) {
    let proxy = proxy(db);
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
