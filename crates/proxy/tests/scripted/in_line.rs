//! Statements that wait for the connection of another session: it is handed to the one who waits longest, and what has to be done
//! besides is done then.

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{comes, two};
use super::support::{begin, log_in, ms, play, prepare, prepare_ok, run, settle};

/// The payload of an execution of a statement without parameters.
const fn execution(id: u8) -> [u8; 9] {
    [id, 0, 0, 0, 0, 1, 0, 0, 0]
}

#[test]
fn who_waits_has_no_task_of_its_own() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        let alive = || Handle::current().metrics().num_alive_tasks();
        let mut more = Vec::new();
        for _ in 0..8 {
            more.push(log_in(&stage).await);
        }
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        settle().await;
        let before = alive();
        two.send_query("SELECT 2").await;
        for client in &mut more {
            client.send_query("SELECT 3").await;
        }
        settle().await;
        assert_eq!(stage.usage(0).waiting, 9);
        assert_eq!(alive(), before + 1, "one task looks for all of them");
        server.ok().await;
        one.expect_ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        drop(more);
        sleep(ms(20)).await;
        assert_eq!((stage.usage(0).waiting, stage.sessions()), (0, 2));
        assert!(alive() <= before, "it ends with the last one");
    });
}

#[test]
fn what_was_prepared_elsewhere_is_prepared_when_the_turn_comes() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        prepare(&mut one, &mut server, b"DO 1", 1).await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &[1, 0, 0, 0]).await;
        server.expect_query("SELECT 2").await;
        one.send_command(Kind::StmtExecute, &execution(1)).await;
        settle().await;
        assert_eq!(stage.usage(0).waiting, 1);
        server.ok().await;
        two.expect_ok().await;
        server.expect_command(Kind::StmtPrepare, b"DO 1").await;
        server.send_packet(&prepare_ok(2)).await;
        server.expect_command(Kind::StmtExecute, &execution(2)).await;
        server.ok().await;
        one.expect_ok().await;
        assert_eq!(stage.global("Server_Connections_created"), 1);
    });
}

#[test]
fn what_is_killed_in_line_is_not_sent() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        let mut three = log_in(&stage).await;
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        two.send_query("SELECT 2").await;
        settle().await;
        let rows = stage.processes();
        let waiting =
            rows.iter().find(|row| row.statement.as_deref() == Some(b"SELECT 2")).expect("it is shown");
        assert_eq!((waiting.command, &waiting.server), ("Connect", &None));
        three.send_query(&format!("KILL QUERY {}", waiting.id)).await;
        three.expect_ok().await;
        two.expect_err(1317).await;
        assert_eq!(stage.usage(0).waiting, 0);
        server.ok().await;
        one.expect_ok().await;
        run(&mut two, &mut server, "SELECT 3").await;
    });
}

#[test]
fn c24_who_waits_for_a_connection_of_others_does_so_no_longer_than_it_may() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        begin(&mut one, &mut server).await;
        let begun = Instant::now();
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        assert_eq!(begun.elapsed().as_millis() / 10, 10, "connect_timeout_server_max");
        assert_eq!(stage.usage(0).waiting, 0);
        server.status = StatusFlags::AUTOCOMMIT;
        run(&mut one, &mut server, "COMMIT").await;
        run(&mut two, &mut server, "SELECT 3").await;
    });
}

#[test]
fn turns_are_taken_in_the_order_of_coming() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        for _ in 0..3 {
            two.send_query("SELECT 2").await;
            settle().await;
            server.ok().await;
            one.expect_ok().await;
            // It comes again at once, and is the last one by now.
            one.send_query("SELECT 1").await;
            settle().await;
            server.expect_query("SELECT 2").await;
            server.ok().await;
            two.expect_ok().await;
            server.expect_query("SELECT 1").await;
        }
        server.ok().await;
        one.expect_ok().await;
    });
}
