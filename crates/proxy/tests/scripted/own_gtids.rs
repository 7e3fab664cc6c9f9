//! The transactions that a session has committed, as servers tell them (`session_track_gtids`):
//! `gtid_from_hostgroup` of rules, and what clients see of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use config::{Config, QueryRule, Server, TrackGtids};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, Options};
use testkit::script::{NONCE, ScriptedServer};
use tokio::time::{Duration, sleep};
use wire::packet::{self, SessionState, StateChange};
use wire::{Capabilities, Codec as _, StatusFlags};

use super::support::{
    CAPACITY, Client, database, log_in, log_in_as, ms, options, pair_of_servers, play, rule, stage_with,
};

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const ASK: &str = "SET SESSION session_track_gtids = OWN_GTID";
const OFF: &str = "SET SESSION session_track_gtids = OFF";

/// Servers that number their writes and tell who has asked, and a reader of what another one has
/// executed.
#[derive(Default)]
struct World {
    said: RefCell<Vec<(String, String)>>,
    written: Cell<u64>,
    /// What the reader says next.
    lines: RefCell<Vec<String>>,
    /// Servers do not have the variable.
    lacks_it: Cell<bool>,
}

impl World {
    fn of(config: Config) -> (Rc<Self>, Stage) {
        let world = Rc::new(Self::default());
        let (stage, servers) = stage_with(config, CAPACITY, |_| false);
        let served = Rc::clone(&world);
        servers.converse(move |name, end| converse(Rc::clone(&served), name, end));
        stage.watch();
        (world, stage)
    }

    /// The reader says that it has all that there was before the first write, and the proxy has
    /// heard it.
    async fn is_new(&self) {
        self.says(format!("ST={UUID}:1")).await;
    }

    /// The same of the write with this number.
    async fn has(&self, number: u64) {
        self.says(format!("I1={}:{}", UUID.replace('-', ""), number + 1)).await;
    }

    async fn says(&self, line: String) {
        self.lines.borrow_mut().push(line + "\n");
        sleep(ms(100)).await;
    }

    /// Where the last statement ran.
    fn last(&self) -> String {
        self.said.borrow().last().expect("a statement").0.clone()
    }

    /// What servers were told since this was asked last.
    fn said(&self) -> Vec<String> {
        self.said.take().into_iter().map(|(_, text)| text).collect()
    }
}

/// Greets as MySQL, and lets the client in.
pub(super) async fn let_in_to_mysql(server: &mut ScriptedServer<End>) {
    server.patience(Duration::from_hours(1));
    let greeting = packet::Greeting {
        server_version: b"8.4.0",
        connection_id: 7,
        nonce: NONCE,
        capabilities: CAPABILITIES | Capabilities::QUERY_ATTRIBUTES,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: b"mysql_native_password",
    };
    server.greet_with(&greeting).await;
    let login = server.read_login().await;
    server.let_in(&login).await;
}

async fn converse(world: Rc<World>, name: String, end: End) {
    let mut server = ScriptedServer::new(end);
    if name.ends_with(":3310") {
        server.patience(Duration::from_hours(1));
        loop {
            let lines = world.lines.take().concat();
            if !lines.is_empty() {
                server.send_bytes(lines.as_bytes()).await;
            }
            sleep(ms(10)).await;
        }
    }
    let_in_to_mysql(&mut server).await;
    let mut tells = false;
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        world.said.borrow_mut().push((name.clone(), text.clone()));
        if text.contains("session_track_gtids") && world.lacks_it.get() {
            server.err(1193, "HY000", "Unknown system variable").await;
            continue;
        }
        let is_write = text.starts_with("INSERT");
        world.written.set(world.written.get() + u64::from(is_write));
        let gtid = format!("{UUID}:{}", world.written.get() + 1);
        let is_asked = tells && server.capabilities().contains(Capabilities::SESSION_TRACK);
        if is_write && is_asked {
            answer(&mut server, &[StateChange::Gtids(gtid.as_bytes())]).await;
        } else if text.starts_with("USE") && is_asked {
            answer(&mut server, &[StateChange::Schema(b"shop"), StateChange::Gtids(gtid.as_bytes())]).await;
        } else {
            server.ok().await;
        }
        match text.rsplit_once("session_track_gtids = ") {
            Some((_, "OFF")) => tells = false,
            Some(_) => tells = true,
            None if command == [0x1f] => tells = false,
            None => {}
        }
    }
}

/// Answers OK and tells these changes, in two pieces: the cut is in the middle of the packet.
async fn answer(server: &mut ScriptedServer<End>, changes: &[StateChange<'_>]) {
    let state = SessionState::encode(changes);
    let ok = packet::Ok {
        affected_rows: 1,
        info: b"done",
        session_state: Some(SessionState::new(&state)),
        ..packet::Ok::plain(server.status | StatusFlags::SESSION_STATE_CHANGED)
    };
    let payload = ok.encode(server.capabilities());
    let len = u8::try_from(payload.len()).expect("a short packet");
    let packet = [&[len, 0, 0, 1][..], &payload].concat();
    let (first, second) = packet.split_at(9);
    server.send_bytes(first).await;
    sleep(ms(5)).await;
    server.send_bytes(second).await;
}

/// A pair, whose reader has a reader of its GTIDs, and whose reads must see what their session has
/// written.
fn pair() -> Config {
    let mut config = pair_of_servers();
    config.servers.retain(|server| server.hostgroup_id == 0);
    config.servers.push(Server { hostgroup_id: 1, gtid_port: 3310, ..database("reader") });
    config.query_rules.push(QueryRule { gtid_from_hostgroup: Some(0), ..rule(1, "^SELECT") });
    config.variables.default_session_track_gtids = TrackGtids::OwnGtid;
    config
}

/// The same where servers tell only clients that ask.
fn for_clients() -> Config {
    let mut config = pair();
    config.variables.default_session_track_gtids = TrackGtids::Off;
    config
}

/// The payload of the packet that a statement is answered with.
async fn payload(client: &mut Client, sql: &str) -> Vec<u8> {
    client.send_query(sql).await;
    client.read().await
}

async fn say(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_ok().await;
}

fn without_tracking() -> Options {
    options().capabilities(CAPABILITIES - Capabilities::SESSION_TRACK)
}

#[test]
fn c12_a_read_sees_what_its_session_has_written() {
    for options in [options(), without_tracking()] {
        play(async || {
            let (world, stage) = World::of(pair());
            let (mut client, mut other) =
                (log_in_as(&stage, &options).await, log_in_as(&stage, &options).await);
            world.is_new().await;
            say(&mut client, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "reader:3306", "it has written nothing");
            say(&mut client, "INSERT INTO t VALUES (1)").await;
            say(&mut client, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "db:3306", "the reader lacks it");
            say(&mut other, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "reader:3306", "others do not have to see it");
            world.has(1).await;
            say(&mut client, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "reader:3306");
            say(&mut client, "INSERT INTO t VALUES (1)").await;
            say(&mut client, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "db:3306", "the last one counts");
            assert_eq!(stage.global("GTID_session_collected"), 2);
            assert_eq!(stage.global("GTID_consistent_queries"), 3);
        });
    }
}

#[test]
fn a_client_that_has_not_asked_is_told_nothing() {
    for (options, told) in [
        (options(), &b"\0\x01\0\x02\x40\0\0\x04done\x07\x01\x05\x04shop"[..]),
        (without_tracking(), b"\0\x01\0\x02\0\0\0\x04done"),
    ] {
        play(async || {
            let (_world, stage) = World::of(pair());
            let mut client = log_in_as(&stage, &options).await;
            let written = payload(&mut client, "INSERT INTO t VALUES (1)").await;
            assert_eq!(written, b"\0\x01\0\x02\0\0\0\x04done");
            assert_eq!(payload(&mut client, "USE shop").await, told, "the rest is told to who can hear it");
        });
    }
}

#[test]
fn a_client_that_has_asked_is_told() {
    for config in [pair(), for_clients()] {
        play(async || {
            let (world, stage) = World::of(config.clone());
            let mut client = log_in(&stage).await;
            let is_told = async |client: &mut Client| {
                let told = payload(client, "INSERT INTO t VALUES (1)").await;
                let told = packet::Ok::decode(&told, CAPABILITIES).expect("an OK packet");
                told.session_state.is_some()
            };
            assert!(!is_told(&mut client).await);
            say(&mut client, "SET session_track_gtids = 'OWN_GTID'").await;
            assert!(is_told(&mut client).await);
            say(&mut client, "SELECT 1 FROM t").await;
            assert_eq!(world.last(), "db:3306", "the rule goes by it as well");
            say(&mut client, "SET session_track_gtids = ALL_GTIDS").await;
            world.said();
            assert!(is_told(&mut client).await);
            assert_eq!(world.said(), [ASK, "INSERT INTO t VALUES (1)"], "only its own");
            say(&mut client, "SET session_track_gtids = OFF").await;
            assert!(!is_told(&mut client).await);
        });
    }
}

#[test]
fn clients_may_be_denied_it() {
    play(async || {
        let mut config = for_clients();
        config.variables.client_session_track_gtid = false;
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        say(&mut client, ASK).await;
        let told = payload(&mut client, "INSERT INTO t VALUES (1)").await;
        assert_eq!(told.get(3..5), Some(&b"\x02\0"[..]), "nothing has changed: {told:?}");
        assert_eq!(world.said(), [ASK, OFF, "INSERT INTO t VALUES (1)"]);
    });
}

#[test]
fn no_server_is_asked_for_gtids_that_no_session_tracks() {
    play(async || {
        let (world, stage) = World::of(for_clients());
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        say(&mut client, "SELECT 1 FROM t").await;
        assert_eq!(world.said(), ["INSERT INTO t VALUES (1)", "SELECT 1 FROM t"]);
        assert_eq!(stage.global("GTID_session_collected"), 0);
    });
}

#[test]
fn a_server_that_cannot_tell_is_used_all_the_same() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.lacks_it.set(true);
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        say(&mut client, "INSERT INTO t VALUES (2)").await;
        assert_eq!(world.said(), [ASK, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"]);
    });
}

#[test]
fn a_reset_session_is_asked_about_again_and_has_written_what_it_has() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        world.is_new().await;
        say(&mut client, ASK).await;
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        client.send_command(wire::command::Kind::ResetConnection, b"").await;
        client.expect_ok().await;
        say(&mut client, "SELECT 1 FROM t").await;
        assert_eq!(world.last(), "db:3306");
        world.said();
        let told = payload(&mut client, "INSERT INTO t VALUES (1)").await;
        assert_eq!(told, b"\0\x01\0\x02\0\0\0\x04done", "it has not asked since");
        assert_eq!(stage.global("GTID_session_collected"), 2);
    });
}

#[test]
fn who_shares_a_connection_finds_it_asked() {
    play(async || {
        let mut config = pair();
        config.variables.multiplexing = true;
        let (world, stage) = World::of(config);
        let (mut client, mut other) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        say(&mut other, "INSERT INTO t VALUES (1)").await;
        world.said();
        for _ in 0..3 {
            say(&mut client, "INSERT INTO t VALUES (1)").await;
            say(&mut other, "INSERT INTO t VALUES (1)").await;
        }
        assert_eq!(world.said(), ["INSERT INTO t VALUES (1)"; 6]);
        assert_eq!(stage.global("GTID_session_collected"), 8);
    });
}

#[test]
fn an_explanation_says_what_has_to_be_seen() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        world.is_new().await;
        let explained = async |client: &mut Client| {
            let told = client.query("EXPLAIN ROUTE SELECT 1 FROM t").await.expect("it is explained");
            let rows = told.text().expect("cells are texts").into_iter();
            let of = |step: &str| ["must see", "server", "instead"].iter().any(|one| step.starts_with(one));
            let rows = rows.map(|row| row.into_iter().flatten().take(2).collect::<Vec<_>>());
            rows.filter(|row| of(&row[0])).map(|row| row.join(": ")).collect::<Vec<_>>()
        };
        assert_eq!(explained(&mut client).await, ["server reader:3306: candidate"]);
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        let must_see = format!("must see: {UUID}:2");
        assert_eq!(
            explained(&mut client).await,
            [
                &must_see,
                "server reader:3306: passed over",
                "instead: hostgroup 0",
                "server db:3306: candidate"
            ]
        );
        world.has(1).await;
        assert_eq!(explained(&mut client).await, [&must_see, "server reader:3306: candidate"]);
    });
}

#[test]
fn no_server_is_asked_for_gtids_in_fast_forward() {
    play(async || {
        let mut config = pair();
        config.users.iter_mut().for_each(|user| user.fast_forward = true);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT INTO t VALUES (1)").await;
        assert_eq!(world.said(), ["INSERT INTO t VALUES (1)"]);
    });
}
