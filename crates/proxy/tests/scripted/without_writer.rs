//! Sessions with the read/write split while the writer's hostgroup has no usable server.

use std::rc::Rc;

use proxy::stage::Stage;
use tokio::time::{Instant, sleep};
use wire::command::Kind;

use super::support::{Client, log_in, ms, play};
use super::world::{World, pair, say, status};

/// A pair whose writer is gone, as the monitor has seen.
async fn without_writer() -> (Rc<World>, Stage) {
    let (world, stage, _) = with_writer().await;
    lose_writer(&world, &stage).await;
    (world, stage)
}

/// The same with its writer, and a client.
async fn with_writer() -> (Rc<World>, Stage, Client) {
    let mut config = pair();
    config.variables.read_write_split = true;
    (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
    World::with_replica(config).await
}

async fn lose_writer(world: &World, stage: &Stage) {
    world.gone.borrow_mut().insert("a:3306".to_owned());
    world.freeze("a");
    while status(stage, 0, "a") != Some("SHUNNED") {
        sleep(ms(10)).await;
    }
}

fn come_back(world: &World) {
    world.gone.borrow_mut().clear();
    world.frozen.borrow_mut().clear();
}

/// The statement is answered without waiting.
async fn at_once(client: &mut Client, sql: &str) {
    let begun = Instant::now();
    say(client, sql).await;
    assert!(begun.elapsed() < ms(500), "{sql}: {:?}", begun.elapsed());
}

#[test]
fn what_needs_no_writer_does_not_wait_for_one() {
    play(async || {
        let (world, stage) = without_writer().await;
        let begun = Instant::now();
        let mut client = log_in(&stage).await;
        assert!(begun.elapsed() < ms(500), "the login takes {:?}", begun.elapsed());
        for sql in [
            "SET NAMES latin1",
            "SET autocommit = 1",
            "SET sql_mode = 'ANSI'",
            "SELECT @@max_allowed_packet",
            "SHOW VARIABLES LIKE 'x'",
            "COMMIT",
            "ROLLBACK",
            "USE other",
            "SELECT a FROM t",
        ] {
            at_once(&mut client, sql).await;
        }
        assert_eq!(world.told("SET NAMES latin1"), ["b:3306"]);
        for sql in ["BEGIN", "COMMIT", "START TRANSACTION", "ROLLBACK"] {
            at_once(&mut client, sql).await;
        }
        assert_eq!(world.told("BEGIN"), [""; 0]);
        // The writer hears of the settings when it is there.
        come_back(&world);
        say(&mut client, "INSERT 1").await;
        assert_eq!(world.told("SET NAMES latin1"), ["b:3306", "a:3306"]);
        assert_eq!(world.told("INSERT 1"), ["a:3306"]);
    });
}

#[test]
fn c14_a_command_at_the_reader_does_not_take_the_error_of_a_lost_transaction() {
    play(async || {
        let (world, stage, mut client) = with_writer().await;
        say(&mut client, "INSERT 0").await;
        say(&mut client, "BEGIN").await;
        assert_eq!(world.told("BEGIN"), ["a:3306"]);
        lose_writer(&world, &stage).await;
        client.send_command(Kind::InitDb, b"other").await;
        client.expect_ok().await;
        client.send_query("INSERT 1").await;
        client.expect_err(1213).await;
    });
}

#[test]
fn what_needs_the_writer_waits_for_it() {
    play(async || {
        for sql in [
            "INSERT 1",
            "SET GLOBAL a = 1",
            "SET @a = f(1)",
            "SHOW MASTER STATUS",
            "SELECT a FROM t FOR UPDATE",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "COMMIT AND CHAIN",
        ] {
            let (world, stage) = without_writer().await;
            let mut client = log_in(&stage).await;
            client.send_query(sql).await;
            sleep(ms(2_000)).await;
            assert_eq!(world.told(sql), [""; 0], "{sql}");
            come_back(&world);
            client.expect_ok().await;
            assert_eq!(world.told(sql), ["a:3306"], "{sql}");
        }
    });
}

#[test]
fn a_transaction_begins_at_the_writer_with_its_first_statement() {
    play(async || {
        let (world, stage) = without_writer().await;
        let mut client = log_in(&stage).await;
        at_once(&mut client, "BEGIN").await;
        client.send_query("INSERT 1").await;
        sleep(ms(1_000)).await;
        come_back(&world);
        client.expect_ok().await;
        say(&mut client, "SELECT b FROM t").await;
        say(&mut client, "COMMIT").await;
        let said = world.said.borrow();
        let writer: Vec<_> = said.iter().filter(|(to, _)| to == "a:3306").map(|(_, sql)| &**sql).collect();
        assert_eq!(writer, ["BEGIN", "INSERT 1", "SELECT b FROM t", "COMMIT"]);
    });
}
