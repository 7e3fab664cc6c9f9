//! Statements that must see a transaction (`min_gtid`), and the readers of servers' binary logs
//! that say who has executed it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use config::{Config, Server, ServerStatus};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;

use super::support::{Client, database, lets_in, log_in, ms, pair_of_servers, play, watched};

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/// Servers that note what they are told, and one that has a reader.
#[derive(Default)]
struct World {
    said: RefCell<Vec<(String, String)>>,
    /// What the reader says next.
    lines: RefCell<Vec<String>>,
    /// Whether it closes its connection.
    closes: Cell<bool>,
}

impl World {
    fn of(config: Config) -> (Rc<Self>, Stage) {
        let world = Rc::new(Self::default());
        let stage = watched(config, &world, |_, _| None, converse);
        (world, stage)
    }

    /// The reader says a line, and the proxy has heard it.
    async fn say(&self, line: &str) {
        self.lines.borrow_mut().push(format!("{line}\n"));
        sleep(ms(100)).await;
    }

    /// Where the last statement ran.
    fn last(&self) -> String {
        self.said.borrow().last().expect("a statement").0.clone()
    }
}

async fn converse(world: Rc<World>, name: String, end: End) {
    if name.ends_with(":3310") {
        let mut server = ScriptedServer::new(end);
        while !world.closes.get() {
            let lines = world.lines.take().concat();
            if !lines.is_empty() {
                server.send_bytes(lines.as_bytes()).await;
            }
            sleep(ms(10)).await;
        }
        return;
    }
    let mut server = lets_in(end).await;
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        match &*text {
            "COMMIT" => server.status -= StatusFlags::IN_TRANSACTION,
            _ if text.starts_with("START TRANSACTION") => server.status |= StatusFlags::IN_TRANSACTION,
            _ => {}
        }
        world.said.borrow_mut().push((name.clone(), text));
        server.ok().await;
    }
}

/// A pair, whose reader `reader` has a reader of its GTIDs.
fn pair() -> Config {
    let mut config = pair_of_servers();
    config.servers.retain(|server| server.hostgroup_id == 0);
    config.servers.push(Server { hostgroup_id: 1, gtid_port: 3310, ..database("reader") });
    config.variables.binlog_reader_connect_retry = ms(500);
    config
}

async fn read(client: &mut Client, number: u32) {
    client.send_query(&format!("/* min_gtid={UUID}:{number} */ SELECT 1 FROM t")).await;
    client.expect_ok().await;
}

#[test]
fn a_read_goes_to_readers_that_have_caught_up_and_else_to_their_writer() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        sleep(ms(100)).await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "db:3306", "nothing is known of the reader");
        world.say(&format!("ST={UUID}:1-4")).await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "db:3306", "it lacks the transaction");
        world.say(&format!("I1={}:5", UUID.replace('-', ""))).await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "reader:3306");
        world.say("I4=6-9").await;
        read(&mut client, 9).await;
        assert_eq!(world.last(), "reader:3306");
        let rows = stage.gtids();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].executed.as_deref(), Some(&*format!("{UUID}:1-9")));
        assert_eq!(rows[0].events, 3);
        assert_eq!(stage.global("GTID_consistent_queries"), 4);
        // The writer has done those that the reader could not.
        let synced = stage.servers(false).into_iter().map(|server| (server.host, server.synced));
        assert_eq!(synced.collect::<Vec<_>>(), [("db".to_owned(), 2), ("reader".to_owned(), 2)]);
        // What a reader that is gone has said counts for nothing.
        world.closes.set(true);
        sleep(ms(100)).await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "db:3306");
        world.closes.set(false);
        world.say(&format!("ST={UUID}:1-20")).await;
        sleep(ms(1_000)).await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "reader:3306", "it is connected to again");
        // A transaction with a tag is another one, as readers of MySQL 8.3 and later tell.
        world.say(&format!("ST={UUID}:1-20:online:1-3")).await;
        for (gtid, server) in [("online:3", "reader:3306"), ("online:4", "db:3306"), ("20", "reader:3306")] {
            say(&mut client, &format!("/* min_gtid={UUID}:{gtid} */ SELECT 1 FROM t")).await;
            assert_eq!(world.last(), server, "{gtid}");
        }
        world.say("nonsense").await;
        read(&mut client, 5).await;
        assert_eq!(world.last(), "db:3306", "who says what makes no sense is not believed");
    });
}

async fn say(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    client.expect_ok().await;
}

#[test]
fn a_writer_has_what_was_written() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        world.say(&format!("ST={UUID}:1-4")).await;
        say(&mut client, "SELECT 1 FROM t").await;
        assert_eq!(world.last(), "reader:3306", "others go to the reader as ever");
        say(&mut client, &format!("/* min_gtid={UUID}:9;hostgroup=0 */ SELECT 1 FROM t")).await;
        assert_eq!(world.last(), "db:3306");
    });
}

#[test]
fn in_a_transaction_it_stays_where_that_is() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        world.say(&format!("ST={UUID}:1-4")).await;
        say(&mut client, "START TRANSACTION READ ONLY").await;
        assert_eq!(world.last(), "reader:3306");
        read(&mut client, 9).await;
        assert_eq!(world.last(), "reader:3306", "it would see nothing newer anywhere");
        say(&mut client, "COMMIT").await;
        read(&mut client, 9).await;
        assert_eq!(world.last(), "db:3306");
    });
}

#[test]
fn what_asks_about_the_statement_before_stays_where_that_was() {
    play(async || {
        let (world, stage) = World::of(pair());
        let mut client = log_in(&stage).await;
        world.say(&format!("ST={UUID}:1-4")).await;
        say(&mut client, "SELECT 1 FROM t").await;
        say(&mut client, &format!("/* min_gtid={UUID}:9 */ SHOW WARNINGS")).await;
        assert_eq!(world.last(), "reader:3306");
    });
}

#[test]
fn a_session_that_is_bound_to_a_server_waits_for_that() {
    for sql in ["CREATE TEMPORARY TABLE x (a INT)", "SET time_zone = @old"] {
        play(async || {
            let (world, stage) = World::of(pair());
            let mut client = log_in(&stage).await;
            world.say(&format!("ST={UUID}:1-4")).await;
            say(&mut client, &format!("/* hostgroup=1 */ {sql}")).await;
            client.send_query(&format!("/* min_gtid={UUID}:5;hostgroup=1 */ SELECT 1 FROM x")).await;
            sleep(ms(200)).await;
            assert!(!world.said.borrow().iter().any(|(_, text)| text.contains("min_gtid")), "{sql}");
            world.say("I1=3e11fa4771ca11e19e33c80aa9429562:5").await;
            client.expect_ok().await;
            assert_eq!(world.last(), "reader:3306", "{sql}");
        });
    }
}

#[test]
fn servers_that_are_not_chosen_are_not_asked_but_for_one_that_the_session_has() {
    play(async || {
        let mut config = pair();
        let old = Server { hostgroup_id: 1, ..database("old") };
        config.servers.retain(|server| server.hostgroup_id == 0);
        config.servers.push(old);
        let (world, stage) = World::of(config.clone());
        let (mut with_old, mut other) = (log_in(&stage).await, log_in(&stage).await);
        say(&mut with_old, "SELECT 1 FROM t").await;
        assert_eq!(world.last(), "old:3306");
        for server in config.servers.iter_mut().filter(|server| server.hostgroup_id == 1) {
            server.status = ServerStatus::OfflineSoft;
        }
        config.servers.push(Server { hostgroup_id: 1, gtid_port: 3310, ..database("reader") });
        stage.apply(config).expect("it can be applied");
        world.say(&format!("ST={UUID}:1-4")).await;
        sleep(ms(1_000)).await;
        read(&mut other, 4).await;
        assert_eq!(world.last(), "reader:3306", "no session gets the other one any more");
        read(&mut with_old, 4).await;
        assert_eq!(world.last(), "reader:3306", "nothing is known of the server that it had");
        read(&mut with_old, 5).await;
        assert_eq!(world.last(), "db:3306");
    });
}

#[test]
fn servers_that_lack_it_are_skipped() {
    for is_pair in [true, false] {
        play(async || {
            let mut config = pair();
            if !is_pair {
                config.replication_hostgroups.clear();
                config.variables.read_write_split = false;
            }
            for late in ["late1", "late2", "late3"] {
                config.servers.push(Server { hostgroup_id: 1, weight: 1_000, ..database(late) });
            }
            let (world, stage) = World::of(config);
            world.say(&format!("ST={UUID}:1-4")).await;
            for had_another in [false, true] {
                let mut client = log_in(&stage).await;
                if had_another {
                    while !world.last().starts_with("late") {
                        client = log_in(&stage).await;
                        say(&mut client, "/* hostgroup=1 */ SELECT 1 FROM t").await;
                    }
                }
                say(&mut client, &format!("/* hostgroup=1;min_gtid={UUID}:4 */ SELECT 1 FROM t")).await;
                assert_eq!(world.last(), "reader:3306", "pair: {is_pair}, another one before: {had_another}");
                say(&mut client, "/* hostgroup=1 */ SELECT 1 FROM t").await;
                assert_eq!(world.last(), "reader:3306", "it has that one now");
            }
        });
    }
}

#[test]
fn a_hostgroup_without_servers_has_not_caught_up() {
    play(async || {
        let mut config = pair();
        config.servers.retain(|server| server.hostgroup_id == 0);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        say(&mut client, &format!("/* min_gtid={UUID}:4;hostgroup=1 */ SELECT 1 FROM t")).await;
        assert_eq!(world.last(), "db:3306");
    });
}

#[test]
fn without_a_writer_it_waits_and_is_refused_in_the_end() {
    play(async || {
        let mut config = pair();
        config.replication_hostgroups.clear();
        config.variables.read_write_split = false;
        config.variables.connect_timeout_server_max = ms(2_000);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        world.say(&format!("ST={UUID}:1-4")).await;
        let begun = Instant::now();
        let sql = format!("/* hostgroup=1;min_gtid={UUID}:5 */ SELECT 1 FROM t");
        let refused = client.query(&sql).await.unwrap_err().to_string();
        assert!(refused.contains("9001") && refused.contains(&format!("{UUID}:5")), "{refused}");
        assert_eq!(begun.elapsed().as_secs(), 2);
        client.send_query(&sql).await;
        sleep(ms(500)).await;
        world.say("I1=3e11fa4771ca11e19e33c80aa9429562:5").await;
        client.expect_ok().await;
        assert_eq!(world.last(), "reader:3306");
    });
}
