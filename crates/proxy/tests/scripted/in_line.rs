//! Statements that wait for the connection of another session: it is handed to the one who was
//! served longest ago, and what has to be done besides is done then.

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{comes, config, let_in, two, two_of};
use super::support::{begin, log_in, ms, options, play, prepare, prepare_ok, run, settle};

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

/// Of three clients with one connection the second has waited for 90 ms, and the first waits when
/// its next statement comes, `pause` after it was served. Whose statement is the next one?
async fn next_after(turn_ms: u64, pause: u64) -> String {
    let mut config = config();
    config.variables.connect_timeout_server_max = ms(1_000);
    config.pointsman.connection_turn = ms(turn_ms);
    let (stage, _servers, mut one, mut two, mut server) = two_of(config, &options(), &options()).await;
    let mut three = log_in(&stage).await;
    one.send_query("SELECT 1").await;
    server.expect_query("SELECT 1").await;
    two.send_query("SELECT 2").await;
    sleep(ms(90)).await;
    three.send_query("SELECT 3").await;
    settle().await;
    server.ok().await;
    one.expect_ok().await;
    comes(&mut two, &mut server, "SELECT 2").await;
    one.send_query("SELECT 'one'").await;
    let_in(&mut server).await;
    server.expect_query("SELECT 3").await;
    sleep(ms(pause)).await;
    two.send_query("SELECT 'two'").await;
    settle().await;
    server.ok().await;
    three.expect_ok().await;
    let next = server.read_command().await;
    server.ok().await;
    String::from_utf8_lossy(next.get(1..).unwrap_or_default()).into_owned()
}

#[test]
fn who_has_waited_long_has_a_turn() {
    play(async || {
        assert_eq!(next_after(100, 5).await, "SELECT 'two'", "90 ms have brought 10");
        assert_eq!(next_after(100, 15).await, "SELECT 'one'", "it is over");
        assert_eq!(next_after(5, 2).await, "SELECT 'two'");
        assert_eq!(next_after(5, 8).await, "SELECT 'one'", "no turn is longer");
        assert_eq!(next_after(0, 0).await, "SELECT 'one'", "there are none");
    });
}

/// Of two clients that wait, the second was served longer ago. Whose statement comes first?
async fn first_of_both(turn_ms: u64) -> String {
    let mut config = config();
    config.pointsman.connection_turn = ms(turn_ms);
    let (stage, _servers, mut light, mut heavy, mut server) = two_of(config, &options(), &options()).await;
    let mut other = log_in(&stage).await;
    other.send_query("SELECT 1").await;
    let_in(&mut server).await;
    server.expect_query("SELECT 1").await;
    heavy.send_query("SELECT 2").await;
    sleep(ms(5)).await;
    server.ok().await;
    other.expect_ok().await;
    comes(&mut heavy, &mut server, "SELECT 2").await;
    other.send_query("SELECT 1").await;
    server.expect_query("SELECT 1").await;
    heavy.send_query("SELECT 'heavy'").await;
    settle().await;
    light.send_query("SELECT 'light'").await;
    settle().await;
    server.ok().await;
    other.expect_ok().await;
    let first = server.read_command().await;
    server.ok().await;
    server.read_command().await;
    server.ok().await;
    heavy.expect_ok().await;
    light.expect_ok().await;
    String::from_utf8_lossy(first.get(1..).unwrap_or_default()).into_owned()
}

#[test]
fn who_was_served_longest_ago_comes_first() {
    play(async || {
        assert_eq!(first_of_both(10).await, "SELECT 'light'");
        assert_eq!(
            first_of_both(0).await,
            "SELECT 'heavy'",
            "without turns all are served in the order of coming"
        );
    });
}
