//! Reads that must see acknowledged writes: what readers are asked, and when they are not.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use config::{CausalReads, Config, ReplicationHostgroups, Server, ServerStatus};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::Instant;
use wire::StatusFlags;
use wire::command::Kind;
use wire::packet::{self, SessionState, StateChange};

use super::own_gtids::let_in_to_mysql;
use super::support::{CAPACITY, Client, database, log_in, pair_of_servers, play, stage_with};

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const TRACKS: &str = "SET SESSION session_track_gtids = OWN_GTID";
const READ: &str = "SELECT a FROM t";
const WRITE: &str = "INSERT INTO t VALUES (1)";

/// Servers that note what they are told.
#[derive(Default)]
struct World {
    said: RefCell<Vec<(String, String)>>,
    written: Cell<u64>,
    /// What the reader, and the writer, answers when it is asked for a transaction.
    has: [Cell<bool>; 2],
    /// What the writer has.
    executed: RefCell<String>,
    /// The reader does not answer.
    hangs: Cell<bool>,
}

impl World {
    fn of(causal_reads: CausalReads) -> (Rc<Self>, Stage) {
        let config = Self::config(causal_reads);
        let world = Rc::new(Self::default());
        world.has[1].set(true);
        let (stage, servers) = stage_with(config, CAPACITY, |_| false);
        let served = Rc::clone(&world);
        servers.converse(move |name, end| converse(Rc::clone(&served), name, end));
        (world, stage)
    }

    /// A pair of a writer, `db`, and a reader.
    fn config(causal_reads: CausalReads) -> Config {
        let mut config: Config = pair_of_servers();
        config.servers.retain(|server| server.hostgroup_id == 0);
        config.servers.push(Server { hostgroup_id: 1, ..database("reader") });
        config.pointsman.causal_reads = causal_reads;
        config
    }

    /// The same, and `db2` with `reader2`.
    fn of_two_pairs(causal_reads: CausalReads) -> Config {
        let mut config = Self::config(causal_reads);
        config.servers.push(Server { hostgroup_id: 2, ..database("db2") });
        config.servers.push(Server { hostgroup_id: 3, ..database("reader2") });
        let second = ReplicationHostgroups {
            writer_hostgroup: 2,
            reader_hostgroup: 3,
            ..config.replication_hostgroups[0].clone()
        };
        config.replication_hostgroups.push(second);
        config
    }

    /// What servers were told since this was asked last, but for settings.
    fn said(&self) -> Vec<String> {
        let said = self.said.take().into_iter();
        said.filter(|(_, text)| text != TRACKS).map(|(name, text)| format!("{name} {text}")).collect()
    }
}

async fn converse(world: Rc<World>, name: String, end: End) {
    let mut server = ScriptedServer::new(end);
    let_in_to_mysql(&mut server).await;
    let name = name.split(':').next().unwrap_or_default().to_owned();
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        let text = text.trim_start_matches(['\0', '\x01']).to_owned();
        world.said.borrow_mut().push((name.clone(), text.clone()));
        if name == "reader" && world.hangs.get() {
            continue;
        }
        if text.starts_with("SELECT GTID_SUBSET") {
            let has = if world.has[usize::from(name == "db")].get() { "1" } else { "0" };
            let columns = if text.contains("WAIT_FOR") { &["now", "then"][..] } else { &["now"] };
            server.rows(columns, &[&vec![Some(has); columns.len()]]).await;
        } else if text.starts_with("SELECT GTID_SUBTRACT") {
            let lacked = text.split('\'').nth(1).filter(|_| !world.has[1].get()).unwrap_or_default();
            server.rows(&["lacked"], &[&[Some(lacked)]]).await;
        } else if text == "SELECT @@global.gtid_executed" {
            let executed = world.executed.borrow().clone();
            server.rows(&["executed"], &[&[Some(executed.as_str())]]).await;
        } else if text.contains("INSERT") {
            world.written.set(world.written.get() + 1);
            acknowledge(&mut server, world.written.get()).await;
        } else {
            server.ok().await;
        }
    }
}

/// Answers OK and tells the transaction with this number.
async fn acknowledge(server: &mut ScriptedServer<End>, number: u64) {
    let gtid = format!("{UUID}:{number}");
    let state = SessionState::encode(&[StateChange::Gtids(gtid.as_bytes())]);
    let status = server.status | StatusFlags::SESSION_STATE_CHANGED;
    let ok = packet::Ok { session_state: Some(SessionState::new(&state)), ..packet::Ok::plain(status) };
    server.send_packet(&ok).await;
}

async fn say(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_ok().await;
}

/// A question that is sent with the read.
fn asked_ahead(number: u64) -> String {
    format!("reader SELECT GTID_SUBSET('{UUID}:1-{number}', @@global.gtid_executed)")
}

/// A question with which the reader waits.
fn asked(number: u64) -> String {
    let list = format!("{UUID}:1-{number}");
    format!(
        "reader SELECT GTID_SUBSET('{list}', @@global.gtid_executed), \
         WAIT_FOR_EXECUTED_GTID_SET('{list}', 0.050000) = 0"
    )
}

/// What the client may ask about is there.
#[test]
fn c06_a_command_that_reads_nothing_stays_with_a_reader_that_lacks_writes() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        let (mut writer, mut reader) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut reader, READ).await;
        say(&mut writer, WRITE).await;
        world.said();
        for kind in [Kind::Ping, Kind::ResetConnection] {
            reader.send_command(kind, b"").await;
            reader.expect_ok().await;
            assert_eq!(world.said(), ["reader "], "{}", kind.name());
        }
    });
}

#[test]
fn c12_a_reader_is_asked_once_for_a_write_and_not_without_one() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        world.has[0].set(true);
        let (mut writer, mut reader) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut reader, READ).await;
        assert_eq!(world.said(), [format!("reader {READ}")], "nothing was written");
        say(&mut writer, WRITE).await;
        for expected in [vec![asked_ahead(1), format!("reader {READ}")], vec![format!("reader {READ}")]] {
            world.said.take();
            say(&mut reader, READ).await;
            assert_eq!(world.said(), expected);
        }
        say(&mut writer, WRITE).await;
        world.said.take();
        say(&mut reader, READ).await;
        assert_eq!(world.said(), [asked_ahead(2), format!("reader {READ}")]);
        let counted = |name: &str| stage.global(name);
        assert_eq!([counted("Causal_reads"), counted("Causal_reads_had")], [4, 2]);
    });
}

#[test]
fn c12_a_reader_that_lacks_a_write_does_not_get_the_read() {
    play(async || {
        let (world, stage) = World::of(CausalReads::Session);
        let (mut client, mut other) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut client, WRITE).await;
        world.said.take();
        say(&mut other, READ).await;
        assert_eq!(world.said(), [format!("reader {READ}")], "it is another session's write");
        let has = format!("db SELECT GTID_SUBTRACT('{UUID}:1', @@global.gtid_executed)");
        say(&mut client, READ).await;
        let ahead = [asked_ahead(1), format!("reader {READ}")];
        assert_eq!(world.said(), [&ahead[..], &[asked(1), has, format!("db {READ}")]].concat());
        say(&mut client, READ).await;
        assert_eq!(world.said(), [asked(1), format!("db {READ}")], "the writer was asked");
        // In a transaction there is nothing to ask.
        say(&mut client, "BEGIN").await;
        assert_eq!(world.said(), ["db BEGIN"]);
        assert_eq!(stage.global("Causal_reads_to_writer"), 2);
    });
}

/// That a reader has the writes of an application says nothing of those of the session.
#[test]
fn c12_what_is_proven_for_one_application_is_not_for_the_next_statement() {
    play(async || {
        let (world, stage) = World::of(CausalReads::Application);
        world.has[0].set(true);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        say(&mut client, "SELECT /* causal_scope=shop */ a FROM t").await;
        world.said.take();
        say(&mut client, READ).await;
        assert_eq!(world.said(), [asked_ahead(1), format!("reader {READ}")]);
    });
}

/// A session that need not see anything does not ask, nor one for which others have asked.
#[test]
fn c12_what_others_have_proven_is_enough() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        world.has[0].set(true);
        let (mut one, mut other) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut other, READ).await;
        say(&mut one, WRITE).await;
        say(&mut one, READ).await;
        world.said.take();
        say(&mut other, READ).await;
        assert_eq!(world.said(), [format!("reader {READ}")]);
    });
}

/// What one reader has proven says nothing of the reader that the session goes to next.
#[test]
fn c12_another_reader_is_asked_anew() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        world.has[0].set(true);
        stage.apply(World::of_two_pairs(CausalReads::User)).expect("it can be applied");
        let mut client = log_in(&stage).await;
        say(&mut client, "/* hostgroup=2 */ INSERT INTO t VALUES (1)").await;
        say(&mut client, WRITE).await;
        say(&mut client, READ).await;
        assert_eq!(world.said().last(), Some(&format!("reader {READ}")));
        let read = format!("/* hostgroup=3 */ {READ}");
        say(&mut client, &read).await;
        let asked = asked(1).replacen("reader", "reader2", 1);
        assert_eq!(world.said(), [asked, format!("reader2 {read}")]);
    });
}

/// The new primary has never got the write.
#[test]
fn c12_a_write_that_the_writer_lacks_is_dropped() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        world.has[1].set(false);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        say(&mut client, READ).await;
        assert_eq!(stage.global("Causal_transactions_lost"), 1);
        world.said.take();
        say(&mut client, READ).await;
        assert_eq!(world.said(), [format!("reader {READ}")]);
    });
}

/// What the new primary has of the old one's is waited for.
#[test]
fn c12_a_lost_write_does_not_hide_those_before_it() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        say(&mut client, WRITE).await;
        world.has[1].set(false);
        world.executed.replace(format!("{UUID}:1"));
        say(&mut client, READ).await;
        assert_eq!(stage.global("Causal_transactions_lost"), 1);
        world.has[1].set(true);
        world.said.take();
        say(&mut client, READ).await;
        let has = format!("db SELECT GTID_SUBTRACT('{UUID}:1', @@global.gtid_executed)");
        assert_eq!(world.said(), [asked(1), has, format!("db {READ}")]);
    });
}

/// The primary that is down may have the write.
#[test]
fn c12_a_write_is_not_lost_while_another_writer_may_have_it() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        let mut config = World::config(CausalReads::User);
        config.servers.push(Server { status: ServerStatus::Shunned, ..database("down") });
        stage.apply(config).expect("it can be applied");
        world.has[1].set(false);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        say(&mut client, READ).await;
        for _ in 0..2 {
            world.said.take();
            say(&mut client, READ).await;
            assert_eq!(world.said(), [asked(1), format!("db {READ}")]);
        }
        assert_eq!(stage.global("Causal_transactions_lost"), 0);
    });
}

/// What the reader lacks is not lost, and it may be the schema.
#[test]
fn c12_a_schema_is_not_entered_at_a_reader_that_lacks_writes_while_the_writer_is_down() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        let (mut client, mut other) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut client, WRITE).await;
        let mut down = World::config(CausalReads::User);
        down.servers[0].status = ServerStatus::Shunned;
        stage.apply(down).expect("it can be applied");
        world.said.take();
        other.send_command(Kind::InitDb, b"made").await;
        other.expect_err(9001).await;
        assert_eq!(world.said(), [asked(1)]);
        world.has[0].set(true);
        other.send_command(Kind::InitDb, b"made").await;
        other.expect_ok().await;
        assert_eq!(world.said(), [asked(1), "reader made".to_owned()]);
        assert_eq!(stage.global("Causal_transactions_lost"), 0);
    });
}

#[test]
fn c12_a_reader_that_hangs_is_left_to_itself() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        world.hangs.set(true);
        let begun = Instant::now();
        say(&mut client, READ).await;
        assert_eq!(world.said().last(), Some(&format!("db {READ}")));
        assert_eq!(begun.elapsed().as_secs(), 1, "the clock is the test's");
        assert_eq!(stage.global("Causal_reads_to_writer"), 1);
    });
}

#[test]
fn explain_route_names_the_writes() {
    play(async || {
        let (world, stage) = World::of(CausalReads::User);
        world.has[0].set(true);
        let mut client = log_in(&stage).await;
        say(&mut client, WRITE).await;
        for known in ["it is asked for the writes first", "it has the writes"] {
            let rows = client.query(&format!("EXPLAIN ROUTE {READ}")).await.expect("rows").rows;
            let text = rows.iter().map(|row| String::from_utf8_lossy(row)).collect::<Vec<_>>().join("\n");
            assert!(text.contains(&format!("{UUID}:1")) && text.contains("writes of the user"), "{text}");
            assert!(text.contains(known), "{text}");
            say(&mut client, READ).await;
        }
    });
}
