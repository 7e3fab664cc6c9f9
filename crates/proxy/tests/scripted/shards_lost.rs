//! Transactions over shards of which one part ends: the other parts are rolled back, and the client
//! hears of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use config::{Config, QueryRule, ShardTransactions};
use proxy::memory::End;
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::shards::{define, layout};
use super::support::{
    Client, Database, config as usual, database, lets_in, log_in_as, options, play, rule, secs, stage,
};

/// What a server does in place of its answer to a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fault {
    /// It closes the connection.
    Closes,
    /// It has rolled back the transaction for a deadlock.
    Deadlock,
    /// It has interrupted the statement.
    Interrupted,
    /// It has waited too long for a lock, and has rolled back the statement alone.
    Late,
    /// It has rolled back all of the transaction for that, as `innodb_rollback_on_timeout` says.
    TimedOut,
    /// What runs there ends the transaction.
    Ends,
    /// It does not answer.
    Hangs,
    /// It answers with rows, which have no end.
    Stalls,
}

/// The servers `home`, `a` and `b`: the statements that they have got, and the next fault.
#[derive(Default)]
pub(super) struct World {
    statements: RefCell<Vec<String>>,
    /// Servers, a part of a statement, and what happens there, once.
    faults: RefCell<Vec<(&'static str, &'static str, Fault)>>,
    /// The last id of the counter.
    ids: Cell<u64>,
}

impl World {
    pub(super) fn fails(&self, server: &'static str, statement: &'static str, fault: Fault) {
        self.faults.borrow_mut().push((server, statement, fault));
    }

    /// The statements of the servers since the last call, without questions of the proxy's own.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.statements.borrow_mut())
    }

    fn fault_at(&self, server: &str, text: &str) -> Option<Fault> {
        let mut all = self.faults.borrow_mut();
        let at = all.iter().position(|(name, part, _)| *name == server && text.contains(part))?;
        Some(all.remove(at).2)
    }
}

/// The table `db.t`, by `id` over the servers `a` (even ids) and `b`, beside the home.
pub(super) fn config() -> Config {
    let mut config = usual();
    "home".clone_into(&mut config.servers[0].hostname);
    config.servers.push(config::Server { hostgroup_id: 1, ..database("a") });
    config.servers.push(config::Server { hostgroup_id: 2, ..database("b") });
    config.pointsman.shard_transactions = ShardTransactions::BestEffort;
    config.shards = Some(Arc::new(layout()));
    config
}

/// What a statement that succeeds makes of the status, with this `completion_type`.
fn note_status(status: &mut StatusFlags, completion: Option<u8>, text: &str) {
    match text {
        "COMMIT" | "ROLLBACK" if completion == Some(b'1') => *status |= StatusFlags::IN_TRANSACTION,
        "COMMIT" | "ROLLBACK" => *status -= StatusFlags::IN_TRANSACTION,
        "EXECUTE begins" => *status |= StatusFlags::IN_TRANSACTION,
        text if text.ends_with(" AND NO CHAIN NO RELEASE") => *status -= StatusFlags::IN_TRANSACTION,
        "BEGIN" | "START TRANSACTION READ ONLY" | "COMMIT AND CHAIN" | "ROLLBACK AND CHAIN" => {
            *status |= StatusFlags::IN_TRANSACTION;
        }
        text if text.ends_with("autocommit = 0") => *status -= StatusFlags::AUTOCOMMIT,
        _ if !status.contains(StatusFlags::AUTOCOMMIT) => *status |= StatusFlags::IN_TRANSACTION,
        _ => {}
    }
}

/// Whether a statement ends the session, with this `completion_type`.
fn releases(completion: Option<u8>, text: &str) -> bool {
    let is_end = matches!(text, "COMMIT" | "ROLLBACK") && completion == Some(b'2');
    is_end || text.ends_with(" RELEASE") && !text.ends_with(" NO RELEASE")
}

/// A connection to a server.
async fn converse(world: Rc<World>, name: String, end: End) {
    let name = name.split(':').next().unwrap().to_owned();
    let mut server = lets_in(end).await;
    let mut completion = None;
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        let is_question = text.contains("information_schema");
        if command.first() == Some(&(Kind::Query as u8)) && !is_question {
            world.statements.borrow_mut().push(format!("{name}: {text}"));
        }
        if command == [Kind::Ping as u8] {
            if world.fault_at(&name, "COM_PING") == Some(Fault::Closes) {
                return;
            }
            server.ok().await;
            continue;
        }
        match world.fault_at(&name, &text) {
            Some(Fault::Closes) => return,
            Some(Fault::Interrupted) => {
                server.err(1317, "70100", "Query execution was interrupted").await;
                continue;
            }
            Some(Fault::Deadlock) => {
                server.status -= StatusFlags::IN_TRANSACTION;
                server.err(1213, "40001", "Deadlock found").await;
                continue;
            }
            Some(fault @ (Fault::Late | Fault::TimedOut)) => {
                if fault == Fault::TimedOut {
                    server.status -= StatusFlags::IN_TRANSACTION;
                }
                server.err(1205, "HY000", "Lock wait timeout exceeded").await;
                continue;
            }
            Some(Fault::Ends) => {
                server.status -= StatusFlags::IN_TRANSACTION;
                server.ok().await;
                continue;
            }
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Stalls) => {
                server.columns(&["id"]).await;
                server.row(&[Some("1")]).await;
                std::future::pending::<()>().await;
            }
            None => {}
        }
        if command == [Kind::ResetConnection as u8] {
            server.status = StatusFlags::AUTOCOMMIT;
        } else if releases(completion, &text) {
            return server.ok().await;
        } else {
            note_status(&mut server.status, completion, &text);
        }
        if text.contains("completion_type") {
            completion = text.bytes().last();
        }
        answer(&world, &mut server, &name, &text).await;
    }
}

/// The reply of a server to a statement that succeeds.
async fn answer(world: &World, server: &mut Database, name: &str, text: &str) {
    if text.contains("information_schema") && name == "home" {
        server.rows(&["?"; 13], &[]).await;
    } else if text.contains("information_schema") {
        define(server).await;
    } else if text.starts_with("SHOW WARNINGS") {
        let late = ["Error", "1205", "Lock wait timeout exceeded"].map(Some);
        let rows: &[&[_]] = if name == "a" { &[&late] } else { &[] };
        server.rows(&["Level", "Code", "Message"], rows).await;
    } else if text.starts_with("UPDATE pointsman.sequences") {
        world.ids.set(world.ids.get() + 10);
        server.ok_with(1, world.ids.get()).await;
    } else {
        server.ok().await;
    }
}

/// A client that has written to `a` and knows the table.
pub(super) async fn scene() -> (Stage, Rc<World>, Client) {
    scene_of(config()).await
}

/// The same with this configuration.
pub(super) async fn scene_of(config: Config) -> (Stage, Rc<World>, Client) {
    let world = Rc::<World>::default();
    let (stage, servers) = stage(config);
    let served = Rc::clone(&world);
    servers.converse(move |name, end| converse(Rc::clone(&served), name, end));
    let mut client = log_in_as(&stage, &options().schema("db")).await;
    ok(&mut client, &["INSERT INTO t (id) VALUES (0)"]).await;
    world.take();
    (stage, world, client)
}

pub(super) async fn ok(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.send_query(sql).await;
        client.expect_ok().await;
    }
}

pub(super) async fn rolled_back(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_err(1213).await;
}

#[test]
fn c09_parts_at_shards_are_not_committed_when_the_home_has_lost_its_own() {
    for fault in [Fault::Closes, Fault::Deadlock] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            world.fails("home", "DO 1", fault);
            ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)"]).await;
            rolled_back(&mut client, "DO 1").await;
            ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)", "COMMIT"]).await;
            let all = world.take();
            let at_a: Vec<_> = all.iter().filter_map(|text| text.strip_prefix("a: ")).collect();
            let insert = "INSERT INTO t (id) VALUES (2)";
            assert_eq!(at_a, ["BEGIN", insert, "ROLLBACK", "BEGIN", insert, "COMMIT"]);
        });
    }
}

#[test]
fn c09_without_autocommit_parts_at_shards_do_not_outlast_a_deadlock() {
    for server in ["home", "b"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["SET autocommit = 0", "INSERT INTO t (id) VALUES (2)"]).await;
            let sql = if server == "b" { "INSERT INTO t (id) VALUES (3)" } else { "DO 1" };
            world.fails(server, sql, Fault::Deadlock);
            rolled_back(&mut client, sql).await;
            ok(&mut client, &["COMMIT"]).await;
            let all = world.take();
            assert!(all.contains(&"a: ROLLBACK".to_owned()), "{all:?}");
            assert!(!all.contains(&"a: COMMIT".to_owned()), "{all:?}");
        });
    }
}

/// The login of a new connection says that it commits by itself. Lost before it was told otherwise,
/// it says nothing of the session.
#[test]
fn c09_without_autocommit_a_connection_that_is_lost_while_it_is_set_up_commits_nothing() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET autocommit = 0"]).await;
        world.fails("home", "DO 1", Fault::Closes);
        rolled_back(&mut client, "DO 1").await;
        world.take();
        ok(&mut client, &["INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("home", "autocommit = 0", Fault::Closes);
        ok(&mut client, &["DO 2", "INSERT INTO t (id) VALUES (4), (5)"]).await;
        let all = world.take();
        assert!(!all.iter().any(|text| text.ends_with("COMMIT") || text.ends_with("ROLLBACK")), "{all:?}");
        ok(&mut client, &["COMMIT"]).await;
        let all = world.take();
        assert!(["a: COMMIT", "b: COMMIT"].iter().all(|text| all.iter().any(|one| one == text)), "{all:?}");
    });
}

/// So it is with an idle one that has not heard of the setting, where no other can be had.
#[test]
fn c09_without_autocommit_an_idle_connection_that_is_lost_while_it_is_set_up_commits_nothing() {
    play(async || {
        let mut config = config();
        config.variables.multiplexing = true;
        config.servers.push(config::Server { hostgroup_id: 3, ..database("c") });
        let away = QueryRule { destination_hostgroup: Some(3), apply: true, ..rule(1, "DO 9") };
        config.query_rules = vec![away].into();
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["DO 9", "SET autocommit = 0"]).await;
        for _ in 0..50 {
            world.fails("c", "autocommit = 0", Fault::Closes);
        }
        client.send_query("DO 9").await;
        client.expect_err(9008).await;
        world.take();
        ok(&mut client, &["INSERT INTO t (id) VALUES (4), (5)"]).await;
        let all = world.take();
        assert!(!all.iter().any(|text| text.ends_with("COMMIT")), "{all:?}");
    });
}

/// A command without a statement runs at home, and leaves warnings as they are.
#[test]
fn c06_warnings_of_shards_can_be_asked_for_behind_a_ping() {
    for rows in ["(2)", "(2), (3)"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            world.fails("a", "VALUES (2)", Fault::Late);
            client.send_query(&format!("INSERT INTO t (id) VALUES {rows}")).await;
            client.expect_err(1205).await;
            client.send_command(Kind::Ping, b"").await;
            client.expect_ok().await;
            client.send_query("SHOW WARNINGS").await;
            let late = ["Error", "1205", "Lock wait timeout exceeded"].map(Some);
            client.expect_rows(&[&late]).await;
            world.take();
            client.send_query("SELECT ROW_COUNT()").await;
            client.read().await;
            let all = world.take();
            assert!(all.iter().all(|text| text.starts_with("home: ")) && !all.is_empty(), "{all:?}");
        });
    }
}

/// A command without a reply leaves even the number of rows as it is.
#[test]
fn c06_rows_that_a_shard_has_changed_can_be_asked_for_behind_a_close() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["INSERT INTO t (id) VALUES (2)"]).await;
        client.send_command(Kind::StmtClose, &[7, 0, 0, 0]).await;
        world.take();
        client.send_query("SELECT ROW_COUNT()").await;
        client.expect_ok().await;
        assert_eq!(world.take(), ["a: SELECT ROW_COUNT()"]);
    });
}

#[test]
fn c09_a_shard_that_cannot_begin_ends_the_transaction_everywhere() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "SAVEPOINT s", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("b", "SAVEPOINT s", Fault::Closes);
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (3)").await;
        let all = world.take();
        assert!(all.contains(&"a: ROLLBACK".to_owned()), "{all:?}");
        ok(&mut client, &["BEGIN"]).await;
        assert!(!world.take().contains(&"a: COMMIT".to_owned()));
    });
}

#[test]
fn c14_a_transaction_that_is_lost_at_a_question_about_the_table_is_told() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (3)"]).await;
        // What is known of the table has to be asked again.
        tokio::time::sleep(secs(61)).await;
        world.fails("a", "information_schema", Fault::Closes);
        world.take();
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        let all = world.take();
        assert!(all.contains(&"b: ROLLBACK".to_owned()), "{all:?}");
        assert!(!all.iter().any(|text| text.contains("VALUES (4)")), "{all:?}");
        ok(&mut client, &["COMMIT"]).await;
        let all = world.take();
        assert!(!all.iter().any(|text| text.ends_with(": COMMIT") && !text.starts_with("home")), "{all:?}");
    });
}

/// The home has only read: what shards have committed lasts, and the client hears so.
#[test]
fn c10_a_home_that_has_only_read_does_not_take_back_a_commit() {
    for last in ["COMMIT", "BEGIN"] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", "SELECT 1", "INSERT INTO t (id) VALUES (2)"]).await;
            world.fails("home", "COMMIT", Fault::Closes);
            ok(&mut client, &[last, "INSERT INTO t (id) VALUES (4)"]).await;
            let all = world.take();
            let at_a: Vec<_> = all.iter().filter_map(|text| text.strip_prefix("a: ")).collect();
            let (first, second) = ("INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (4)");
            let expected = match last {
                "COMMIT" => vec!["BEGIN", first, "COMMIT", second],
                _ => vec!["BEGIN", first, "COMMIT", "BEGIN", second],
            };
            assert_eq!(at_a, expected, "{last}");
        });
    }
}

#[test]
fn c14_a_shard_that_sets_no_savepoint_ends_the_transaction_and_says_so() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["BEGIN", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("a", "SAVEPOINT s", Fault::Interrupted);
        client.send_query("SAVEPOINT s").await;
        client.expect_err(1317).await;
        rolled_back(&mut client, "INSERT INTO t (id) VALUES (4)").await;
        assert!(world.take().contains(&"a: ROLLBACK".to_owned()));
    });
}

/// The home has nothing to commit: its error is not that of what shards have committed.
#[test]
fn c10_a_commit_of_shards_is_told_whatever_the_home_says() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["SET autocommit = 0", "INSERT INTO t (id) VALUES (2)"]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        ok(&mut client, &["COMMIT"]).await;
        assert!(world.take().contains(&"a: COMMIT".to_owned()));
    });
}
