//! Reads that are sent with the question whether their reader has the writes: nothing is answered
//! before both are there, and nothing of a dropped reply reaches the client.

use config::{CausalReads, Config, QueryRule, Server};
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::io::AsyncWriteExt as _;
use tokio::join;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::packet::{self, SessionState, StateChange};

use super::kill::log_in_with_id;
use super::own_gtids::let_in_to_mysql;
use super::support::{
    Client, Database, Servers, database, log_in, messages, ms, options, pair_of_servers, play, rule, settle,
    stage,
};

pub(super) const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const TRACKS: &str = "SET SESSION session_track_gtids = OWN_GTID";
pub(super) const READ: &str = "SELECT a FROM t";
const WRITE: &str = "INSERT INTO t VALUES (1)";

/// A session that has written, with its connections to the writer and to the reader.
pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) servers: Servers,
    pub(super) client: Client,
    id: u32,
    pub(super) writer: Database,
    pub(super) reader: Database,
}

fn config() -> Config {
    let mut config = pair_of_servers();
    config.servers.retain(|server| server.hostgroup_id == 0);
    config.servers.push(Server { hostgroup_id: 1, ..database("reader") });
    config.pointsman.causal_reads = CausalReads::User;
    config
}

impl Scene {
    pub(super) async fn begin() -> Self {
        Self::begin_with(config()).await
    }

    async fn begin_with(config: Config) -> Self {
        let (stage, mut servers) = stage(config);
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        client.send_query(READ).await;
        let mut reader = accept(&mut servers).await;
        reader.expect_query(READ).await;
        reader.ok().await;
        client.expect_ok().await;
        client.send_query(WRITE).await;
        let mut writer = accept(&mut servers).await;
        acknowledge(&mut client, &mut writer, 1).await;
        Self { stage, servers, client, id, writer, reader }
    }

    /// The client sends the read, and the reader has it with the question before it answers either.
    async fn ask(&mut self) {
        self.client.send_query(READ).await;
        expect_question(&mut self.reader, 1).await;
        self.reader.expect_query(READ).await;
    }

    /// The reader is asked again, and waits in vain.
    async fn reader_waits_in_vain(&mut self) {
        expect_wait(&mut self.reader, 1).await;
        self.reader.rows(&["now", "then"], &[&[Some("0"), Some("0")]]).await;
    }

    fn counted(&self) -> [u64; 4] {
        ["Causal_reads", "Causal_reads_had", "Causal_reads_waited", "Causal_reads_to_writer"]
            .map(|name| self.stage.global(name))
    }
}

/// The next connection to a server, which tells transactions.
pub(super) async fn accept(servers: &mut Servers) -> Database {
    let mut server = ScriptedServer::new(servers.dialled().await.1);
    let_in_to_mysql(&mut server).await;
    server.expect_query(TRACKS).await;
    server.ok().await;
    server
}

/// The client writes the transaction of this number.
pub(super) async fn write(client: &mut Client, writer: &mut Database, number: u64) {
    client.send_query(WRITE).await;
    acknowledge(client, writer, number).await;
}

async fn acknowledge(client: &mut Client, writer: &mut Database, number: u64) {
    writer.expect_query(WRITE).await;
    let gtid = format!("{UUID}:{number}");
    let state = SessionState::encode(&[StateChange::Gtids(gtid.as_bytes())]);
    let status = writer.status | StatusFlags::SESSION_STATE_CHANGED;
    let ok = packet::Ok { session_state: Some(SessionState::new(&state)), ..packet::Ok::plain(status) };
    writer.send_packet(&ok).await;
    client.expect_ok().await;
}

/// The writer has the write, and does the read, in the place of a reader that lacks it.
async fn writer_does_it(client: &mut Client, writer: &mut Database) {
    writer.expect_query(&format!("SELECT GTID_SUBTRACT('{UUID}:1', @@global.gtid_executed)")).await;
    writer.rows(&["lacked"], &[&[Some("")]]).await;
    writer.expect_query(READ).await;
    writer.rows(&["a"], &[&[Some("new")]]).await;
    client.expect_rows(&[&[Some("new")]]).await;
}

pub(super) async fn expect_question(reader: &mut Database, number: u64) {
    reader.expect_query(&format!("SELECT GTID_SUBSET('{UUID}:1-{number}', @@global.gtid_executed)")).await;
}

/// A question with which the reader waits.
pub(super) async fn expect_wait(reader: &mut Database, number: u64) {
    let list = format!("{UUID}:1-{number}");
    reader
        .expect_query(&format!(
            "SELECT GTID_SUBSET('{list}', @@global.gtid_executed), \
             WAIT_FOR_EXECUTED_GTID_SET('{list}', 0.050000) = 0"
        ))
        .await;
}

/// Answers the question. The reply to the read follows.
pub(super) async fn say(server: &mut Database, word: &str) {
    server.rows(&["now"], &[&[Some(word)]]).await;
    server.packets().expect_seq(1);
}

#[test]
fn c12_the_question_and_the_read_go_together() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let Scene { client, reader, .. } = &mut scene;
        say(reader, "1").await;
        reader.rows(&["a"], &[&[Some("new")]]).await;
        client.expect_rows(&[&[Some("new")]]).await;
        // What is known is not asked for.
        client.send_query(READ).await;
        reader.expect_query(READ).await;
        reader.err(1146, "42S02", "No such table").await;
        client.expect_err(1146).await;
        assert_eq!(scene.counted(), [3, 1, 0, 0]);
        assert_eq!(scene.stage.global("Queries_sent_together"), 0);
    });
}

/// The reply that comes in one piece with the answer, and in the smallest ones.
#[test]
fn c12_a_reply_begins_behind_the_answer_wherever_reads_end() {
    for len in [1, 7, 100_000] {
        play(async || {
            let mut scene = Scene::begin().await;
            scene.ask().await;
            let answer = |cell: &'static [u8]| {
                messages(
                    1,
                    &[
                        b"\x01",
                        b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0",
                        cell,
                        b"\xfe\0\0\x02\0\0\0",
                    ],
                )
            };
            let bytes = [answer(b"\x011"), answer(b"\x03new")].concat();
            for piece in bytes.chunks(len) {
                scene.reader.send_bytes(piece).await;
                tokio::task::yield_now().await;
            }
            scene.client.expect_rows(&[&[Some("new")]]).await;
        });
    }
}

#[test]
fn c12_nothing_of_a_dropped_reply_reaches_the_client() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let Scene { client, reader, .. } = &mut scene;
        say(reader, "0").await;
        reader.rows(&["a"], &[&[Some("old")]]).await;
        expect_wait(reader, 1).await;
        reader.rows(&["now", "then"], &[&[Some("0"), Some("1")]]).await;
        reader.expect_query(READ).await;
        reader.rows(&["a"], &[&[Some("new")]]).await;
        client.expect_rows(&[&[Some("new")]]).await;
        assert_eq!(scene.counted(), [2, 0, 1, 0]);
    });
}

/// What it took to drop the reply is time that the reader had.
#[test]
fn c12_a_reader_is_not_waited_for_longer_than_it_may_take() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let reader = &mut scene.reader;
        say(reader, "0").await;
        sleep(ms(20)).await;
        reader.rows(&["a"], &[&[Some("old")]]).await;
        let list = format!("{UUID}:1-1");
        let waits =
            format!("SELECT GTID_SUBSET('{list}', @@global.gtid_executed), WAIT_FOR_EXECUTED_GTID_SET");
        reader.expect_query(&format!("{waits}('{list}', 0.030000) = 0")).await;
        reader.rows(&["now", "then"], &[&[Some("0"), Some("0")]]).await;
        writer_does_it(&mut scene.client, &mut scene.writer).await;
        // The reader is late: it gets the next read only if it has the write in all that time.
        scene.client.send_query(READ).await;
        expect_wait(&mut scene.reader, 1).await;
    });
}

/// A reader that takes longer for the reply than it may is not asked again.
#[test]
fn c12_no_time_is_left_behind_a_reply_that_took_it() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        sleep(ms(48)).await;
        say(&mut scene.reader, "0").await;
        sleep(ms(4)).await;
        scene.reader.rows(&["a"], &[&[Some("old")]]).await;
        writer_does_it(&mut scene.client, &mut scene.writer).await;
        assert_eq!(scene.counted(), [1, 0, 0, 1]);
    });
}

/// A reader that lacked writes is asked alone, until it has had some at once.
#[test]
fn c12_a_late_reader_does_not_run_reads_in_vain() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        say(&mut scene.reader, "0").await;
        scene.reader.rows(&["a"], &[&[Some("old")]]).await;
        scene.reader_waits_in_vain().await;
        writer_does_it(&mut scene.client, &mut scene.writer).await;
        let Scene { client, reader, .. } = &mut scene;
        client.send_query(READ).await;
        expect_wait(reader, 1).await;
        reader.rows(&["now", "then"], &[&[Some("1"), Some("1")]]).await;
        reader.expect_query(READ).await;
        reader.ok().await;
        client.expect_ok().await;
        assert_eq!(scene.counted(), [2, 1, 0, 1]);
    });
}

/// The reader does not know the function, or its user may not call it.
#[test]
fn c12_an_error_for_the_question_is_no_yes() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let reader = &mut scene.reader;
        reader.err(1193, "HY000", "Unknown system variable 'gtid_executed'").await;
        reader.packets().expect_seq(1);
        reader.rows(&["a"], &[&[Some("old")]]).await;
        expect_wait(reader, 1).await;
        reader.err(1210, "HY000", "Incorrect arguments").await;
        writer_does_it(&mut scene.client, &mut scene.writer).await;
    });
}

#[test]
fn c12_a_large_reply_is_not_read_to_be_dropped() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let Scene { mut client, mut writer, mut reader, .. } = scene;
        say(&mut reader, "0").await;
        reader.columns(&["a"]).await;
        let row = vec![b'x'; 64 << 10];
        let flood = async {
            let mut seq = 3_u8;
            while reader.stream().write_all(&messages(seq, &[&row])).await.is_ok() {
                seq = seq.wrapping_add(1);
            }
        };
        let read = async {
            writer_does_it(&mut client, &mut writer).await;
        };
        join!(flood, read);
    });
}

/// A reader whose read takes long is not waited for.
#[test]
fn c12_a_slow_reply_is_killed_in_time() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        say(&mut scene.reader, "0").await;
        let begun = Instant::now();
        writer_does_it(&mut scene.client, &mut scene.writer).await;
        assert_eq!(begun.elapsed().as_millis() / 10, 5, "the clock is the test's");
        let mut side = ScriptedServer::accept(scene.servers.dialled().await.1).await.0;
        side.expect_query("KILL CONNECTION 7").await;
    });
}

#[test]
fn c12_a_lost_connection_is_replaced() {
    for answers in [false, true] {
        play(async || {
            let mut scene = Scene::begin().await;
            scene.ask().await;
            if answers {
                say(&mut scene.reader, "1").await;
                settle().await;
            }
            let Scene { mut servers, mut client, mut reader, .. } = scene;
            reader.shut_down().await;
            let mut reader = accept(&mut servers).await;
            // A connection of a later time proves for itself.
            expect_question(&mut reader, 1).await;
            reader.expect_query(READ).await;
            say(&mut reader, "1").await;
            reader.rows(&["a"], &[&[Some("new")]]).await;
            client.expect_rows(&[&[Some("new")]]).await;
        });
    }
}

#[test]
fn c12_a_kill_hits_the_read_behind_the_answer() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        say(&mut scene.reader, "1").await;
        let mut killer = log_in(&scene.stage).await;
        killer.send_query(&format!("KILL QUERY {}", scene.id)).await;
        let mut side = ScriptedServer::accept(scene.servers.dialled().await.1).await.0;
        side.expect_query("KILL QUERY 7").await;
        side.ok().await;
        killer.expect_ok().await;
        scene.reader.err(1317, "70100", "Query execution was interrupted").await;
        scene.client.expect_err(1317).await;
    });
}

#[test]
fn c12_a_session_that_is_killed_before_the_answer_gets_no_reply() {
    play(async || {
        let mut scene = Scene::begin().await;
        scene.ask().await;
        let mut killer = log_in(&scene.stage).await;
        killer.send_query(&format!("KILL {}", scene.id)).await;
        killer.expect_ok().await;
        scene.client.expect_end().await;
        scene.reader.expect_gone().await;
    });
}

/// Whatever the reader says, and whenever the KILL comes before it: the client gets no rows.
#[test]
fn c12_a_kill_query_before_the_answer_ends_the_read() {
    for word in ["0", "1"] {
        play(async || {
            let mut scene = Scene::begin().await;
            scene.ask().await;
            let mut killer = log_in(&scene.stage).await;
            killer.send_query(&format!("KILL QUERY {}", scene.id)).await;
            settle().await;
            say(&mut scene.reader, word).await;
            if word == "0" {
                scene.reader.rows(&["a"], &[&[Some("old")]]).await;
            } else {
                let mut side = ScriptedServer::accept(scene.servers.dialled().await.1).await.0;
                side.expect_query("KILL CONNECTION 7").await;
                side.ok().await;
                scene.reader.expect_gone().await;
            }
            scene.client.expect_err(1317).await;
            killer.expect_ok().await;
        });
    }
}

/// With the connection the session would lose what a rule has it keep.
#[test]
fn c12_a_session_with_something_to_lose_asks_alone() {
    play(async || {
        let mut config = config();
        config.variables.multiplexing = true;
        config.query_rules = vec![QueryRule { multiplex: Some(0), ..rule(1, READ) }].into();
        let Scene { mut client, mut reader, .. } = Scene::begin_with(config).await;
        client.send_query(READ).await;
        expect_wait(&mut reader, 1).await;
        reader.rows(&["now", "then"], &[&[Some("1"), Some("1")]]).await;
        reader.expect_query(READ).await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn c12_without_a_wait_no_read_goes_before_its_answer() {
    play(async || {
        let mut config = config();
        config.pointsman.causal_wait = ms(0);
        let Scene { mut client, mut writer, mut reader, .. } = Scene::begin_with(config).await;
        client.send_query(READ).await;
        expect_question(&mut reader, 1).await;
        reader.rows(&["now"], &[&[Some("0")]]).await;
        writer_does_it(&mut client, &mut writer).await;
        // No read is there to be dropped.
        client.send_query(READ).await;
        expect_question(&mut reader, 1).await;
    });
}

/// What follows the read in the same write of the client waits, and so does the read.
#[test]
fn c12_a_read_with_another_command_behind_it_is_not_sent_ahead() {
    play(async || {
        let Scene { mut client, mut reader, .. } = Scene::begin().await;
        let read = [b"\x03", READ.as_bytes()].concat();
        client.send_bytes(&[messages(0, &[&read]), messages(0, &[&read])].concat()).await;
        expect_wait(&mut reader, 1).await;
        reader.rows(&["now", "then"], &[&[Some("1"), Some("1")]]).await;
        for _ in 0..2 {
            reader.expect_query(READ).await;
            reader.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
    });
}
