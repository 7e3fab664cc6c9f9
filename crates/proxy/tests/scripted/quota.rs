//! Users who may have only so many connections to servers, whatever hostgroups their sessions use
//! and whatever becomes of the limit.

use config::{Config, QueryRule, Server};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::sleep;
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{config as shared, let_in};
use super::support::{
    Client, Servers, begin, database, first_query, log_in, ms, play, rule, secs, settle, stage,
};

/// Sessions share connections to two servers: one of hostgroup 0, and one of hostgroup 1, which has
/// the statements with `reader` in them. Their user may have so many of both together.
fn config(most: Option<u64>) -> Config {
    let mut config = shared();
    config.servers = vec![database("db"), Server { hostgroup_id: 1, ..database("reader") }].into();
    config.query_rules =
        vec![QueryRule { destination_hostgroup: Some(1), apply: true, ..rule(1, "reader") }].into();
    config.variables.connect_timeout_server_max = secs(2);
    config.users[0].attributes.max_backend_connections = most;
    config
}

/// Servers that accept every login, and answer each statement with OK after some milliseconds.
fn slow(servers: Servers) {
    servers.converse(|_, end| async move {
        let (mut server, _) = ScriptedServer::accept(end).await;
        while let Some(command) = server.next_command().await {
            sleep(ms(5)).await;
            let (begins, ends) = (command.ends_with(b"BEGIN"), command.ends_with(b"COMMIT"));
            let is_open = !ends && (begins || server.status.contains(StatusFlags::IN_TRANSACTION));
            server.status.set(StatusFlags::IN_TRANSACTION, is_open);
            server.ok().await;
        }
    });
}

/// A client that reads for ever.
fn reading(mut client: Client) {
    tokio::task::spawn_local(async move {
        loop {
            client.send_query("SELECT 'reader'").await;
            client.expect_ok().await;
        }
    });
}

/// Connections to the writer and to the reader.
fn open(stage: &Stage) -> (u32, u32) {
    (stage.usage(0).open, stage.usage(1).open)
}

/// Readers handed their connections to each other, and no writer ever got one.
#[test]
fn who_wants_another_hostgroup_does_not_wait_for_ever() {
    let config = config(Some(2));
    play(async || {
        let (stage, servers) = stage(config.clone());
        slow(servers);
        for _ in 0..6 {
            reading(log_in(&stage).await);
        }
        let mut writer = log_in(&stage).await;
        sleep(ms(50)).await;
        assert_eq!(open(&stage), (0, 2));
        for _ in 0..5 {
            writer.send_query("UPDATE t SET a = 1").await;
            writer.expect_ok().await;
            let (writers, readers) = open(&stage);
            assert!(writers + readers <= 2, "{writers} + {readers}");
            sleep(ms(200)).await;
        }
    });
}

/// It took one and waited with it in its hand, and others of the user, who could have gone on, got
/// none.
#[test]
fn c23_who_waits_for_a_full_server_holds_none_of_the_users_connections() {
    let mut config = config(Some(2));
    config.servers[1].max_connections = 1;
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two, mut three) =
            (log_in(&stage).await, log_in(&stage).await, log_in(&stage).await);
        let mut writer = log_in(&stage).await;
        one.send_query("SELECT 'reader'").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT 'reader'").await;
        for client in [&mut two, &mut three] {
            client.send_query("SELECT 'reader'").await;
        }
        settle().await;
        let mut server = first_query(&mut writer, &mut servers).await;
        // Nor is a connection ended for them that would not help them.
        sleep(ms(100)).await;
        writer.send_query("SELECT 2").await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        writer.expect_ok().await;
        reader.ok().await;
        one.expect_ok().await;
        for client in [&mut two, &mut three] {
            let_in(&mut reader).await;
            reader.expect_query("SELECT 'reader'").await;
            reader.ok().await;
            client.expect_ok().await;
        }
    });
}

/// A session that was handed a connection counted as waiting until its task went on: the next
/// connection that came back was closed for it.
#[test]
fn who_has_been_handed_a_connection_does_not_wait_any_more() {
    play(async || {
        let (stage, mut servers) = stage(config(Some(2)));
        let (mut one, mut two, mut three) =
            (log_in(&stage).await, log_in(&stage).await, log_in(&stage).await);
        let mut ends = Vec::new();
        for client in [&mut one, &mut two] {
            client.send_query("SELECT 1").await;
            let mut server = servers.accept().await;
            server.expect_query("SELECT 1").await;
            ends.push(server);
        }
        three.send_query("SELECT 2").await;
        sleep(ms(50)).await;
        // Both come back before who waits goes on.
        for server in &mut ends {
            server.ok().await;
        }
        one.expect_ok().await;
        two.expect_ok().await;
        let [first, second] = ends.as_mut_slice() else { panic!("two servers") };
        let_in(first).await;
        first.expect_query("SELECT 2").await;
        first.ok().await;
        three.expect_ok().await;
        settle().await;
        assert_eq!(open(&stage), (2, 0));
        // It is still there.
        one.send_query("SELECT 3").await;
        two.send_query("SELECT 3").await;
        for server in [first, second] {
            server.expect_query("SELECT 3").await;
            server.ok().await;
        }
        one.expect_ok().await;
        two.expect_ok().await;
    });
}

/// Each session allowed what its own user's row had said, so that the limit was what the last one
/// of them thought.
#[test]
fn c23_a_limit_that_changes_holds_for_sessions_of_before() {
    play(async || {
        let (stage, mut servers) = stage(config(None));
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        // What was opened before there was a limit counts.
        stage.apply(config(Some(1))).unwrap();
        let mut three = log_in(&stage).await;
        for client in [&mut two, &mut three] {
            client.send_query("SELECT 1").await;
            let error = client.expect_err(9001).await;
            assert!(error.message.contains("has 1 of 1 connections"), "{}", error.message);
        }
        stage.apply(config(Some(2))).unwrap();
        two.send_query("SELECT 'reader'").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT 'reader'").await;
        three.send_query("SELECT 1").await;
        let error = three.expect_err(9001).await;
        assert!(error.message.contains("has 2 of 2 connections"), "{}", error.message);
        // Who waits is told at once that there is no limit any more.
        three.send_query("SELECT 1").await;
        settle().await;
        stage.apply(config(None)).unwrap();
        let mut third = servers.accept().await;
        third.expect_query("SELECT 1").await;
        third.ok().await;
        three.expect_ok().await;
    });
}

/// They were kept for the next copy for ten seconds.
#[test]
fn connections_for_copies_make_room_for_sessions_of_the_user() {
    let mut config = config(Some(2));
    config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "copied") }].into();
    config.variables.connect_timeout_server_max = ms(500);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        one.send_query("SELECT 'copied'").await;
        let mut copy = servers.accept().await;
        for server in [&mut server, &mut copy] {
            server.expect_query("SELECT 'copied'").await;
            server.ok().await;
        }
        one.expect_ok().await;
        settle().await;
        assert_eq!(open(&stage), (1, 1));
        first_query(&mut two, &mut servers).await;
        copy.expect_command(Kind::Quit, b"").await;
    });
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A client says this.
    Say(&'static str),
    /// It leaves, and another one comes.
    Leave,
    /// There is another limit.
    Limit(Option<u64>),
    /// No client does anything for so many milliseconds.
    Rest(u64),
}

/// Clients in the random test.
const CLIENTS: usize = 5;

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        4 => Just(Step::Say("SELECT 'reader'")),
        4 => Just(Step::Say("UPDATE t SET a = 1")),
        2 => Just(Step::Say("BEGIN")),
        3 => Just(Step::Say("COMMIT")),
        1 => Just(Step::Leave),
        1 => option::of(1..4_u64).prop_map(Step::Limit),
        2 => (1..7_000_u64).prop_map(Step::Rest),
    ];
    vec((0..CLIENTS, step), 1..40)
}

/// A client that may wait for an answer.
struct Asking {
    client: Client,
    asks: bool,
}

impl Asking {
    async fn log_in(stage: &Stage) -> Self {
        Self { client: log_in(stage).await, asks: false }
    }

    /// The answer to its last statement: OK, or that it got no connection in time.
    async fn hear(&mut self) -> Option<u16> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        let answer = self.client.read().await;
        (answer[0] == 0xff).then(|| u16::from_le_bytes([answer[1], answer[2]]))
    }

    async fn say(&mut self, sql: &str) {
        assert!(matches!(self.hear().await, None | Some(9001)));
        self.client.send_query(sql).await;
        self.asks = true;
    }
}

/// C23: whatever clients do, and whatever limit they have meanwhile, what is counted is what is
/// there.
#[test]
fn c23_connections_of_a_user_are_exact_after_each_step() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..100 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        play(async || {
            let (stage, servers) = stage(config(None));
            slow(servers);
            let mut clients = Vec::new();
            for _ in 0..CLIENTS {
                clients.push(Asking::log_in(&stage).await);
            }
            let (mut before, mut limit) = (0, None);
            for (who, step) in &steps {
                match *step {
                    Step::Say(sql) => clients[*who].say(sql).await,
                    Step::Leave => clients[*who] = Asking::log_in(&stage).await,
                    Step::Limit(other) => {
                        limit = other;
                        stage.apply(config(limit)).unwrap();
                    }
                    Step::Rest(time) => sleep(ms(time)).await,
                }
                settle().await;
                let (writers, readers) = open(&stage);
                let (all, resting) = (writers + readers, stage.usage(0).resting + stage.usage(1).resting);
                assert_eq!(resting as usize, stage.free_connections().len(), "{steps:?}");
                let most = limit.map_or(u32::MAX, |limit| before.max(u32::try_from(limit).unwrap()));
                assert!(all <= most, "{all} of {limit:?}: {steps:?}");
                before = all;
            }
            drop(clients);
            settle().await;
            expect_counted(&stage).await;
        });
    }
}

/// As many connections are counted as there are: the user may have one now, and is told how many he
/// has.
async fn expect_counted(stage: &Stage) {
    stage.apply(config(Some(1))).unwrap();
    // Those of before are of no use to others.
    sleep(secs(7)).await;
    assert_eq!(open(stage), (0, 0));
    let (mut one, mut two) = (Asking::log_in(stage).await, Asking::log_in(stage).await);
    one.say("BEGIN").await;
    assert_eq!(one.hear().await, None);
    two.say("SELECT 'reader'").await;
    let error = two.client.expect_err(9001).await;
    let (writers, readers) = open(stage);
    let expected = format!("user 'app' has {} of 1 connections", writers + readers);
    assert!(error.message.contains(&expected), "{}: {expected}", error.message);
    assert_eq!((writers, readers), (1, 0));
}
