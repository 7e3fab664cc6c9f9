//! A primary and a replica change places.

use std::time::Instant;

use e2e::{Backend, Proxy, run};
use testkit::client::{Client, ClientError, Options, Value};
use testkit::server::{PASSWORD, USER};
use tokio::sync::watch;

use super::{admin, backend, client, join_all, next, setup, value, wait_for_value};

/// Two servers of which the second is read-only, and a proxy that looks every 100 ms.
fn scene() -> (Backend, Backend, Proxy) {
    let (primary, replica) = (backend(), backend());
    replica.sql("SET GLOBAL read_only = ON");
    let proxy = setup(&primary)
        .server(&primary.server, "comment = 'primary'")
        .server(&replica.server, "hostgroup_id = 1\ncomment = 'replica'")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("monitor_read_only_interval", 100)
        .variable("monitor_read_only_timeout", 100)
        .variable("monitor_writer_is_also_reader", false)
        .start();
    (primary, replica, proxy)
}

const WRITERS: &str = "SELECT group_concat(comment) FROM runtime_mysql_servers WHERE hostgroup_id = 0";

#[test]
fn c13_writes_follow_the_server_that_takes_them() {
    let (primary, replica, proxy) = scene();
    run(async {
        let (mut admin, mut client) = (admin(&proxy).await, client(&proxy).await);
        wait_for_value(&mut admin, "SELECT COUNT(*) > 1 FROM monitor.mysql_server_read_only_log", "1").await;
        assert_eq!(value(&mut admin, WRITERS).await, "primary");
        client.query("INSERT INTO t (a) VALUES ('first')").await.unwrap();

        primary.sql("SET GLOBAL read_only = ON");
        wait_for_value(&mut admin, WRITERS, "").await;
        // It waits for a writer.
        let write = async { client.query("INSERT INTO t (a) VALUES ('second')").await.unwrap() };
        let promote = async { replica.sql("SET GLOBAL read_only = OFF") };
        tokio::join!(write, promote);
        assert_eq!(value(&mut admin, WRITERS).await, "replica");
        assert_eq!(
            (primary.sql("SELECT a FROM test.t"), replica.sql("SELECT a FROM test.t")),
            ("first\n".into(), "second\n".into())
        );

        let events = "SELECT group_concat(event || ' ' || hostgroup || ' ' || cause, '; ') FROM stats_pointsman_server_events";
        assert_eq!(
            value(&mut admin, events).await,
            "LEFT 0 read_only=1; JOINED 1 read_only=1; LEFT 1 read_only=0; JOINED 0 read_only=0"
        );
    });
}

#[test]
fn c25_what_is_observed_is_never_saved_as_what_is_wanted() {
    let (primary, replica, proxy) = scene();
    run(async {
        let mut admin = admin(&proxy).await;
        primary.sql("SET GLOBAL read_only = ON");
        replica.sql("SET GLOBAL read_only = OFF");
        wait_for_value(&mut admin, WRITERS, "replica").await;
        for order in ["SAVE MYSQL SERVERS FROM RUNTIME", "LOAD MYSQL SERVERS TO RUNTIME"] {
            admin.query(order).await.unwrap();
        }
        let wanted = "SELECT comment FROM main.mysql_servers WHERE hostgroup_id = 0";
        assert_eq!(
            (value(&mut admin, wanted).await, value(&mut admin, WRITERS).await),
            ("primary".into(), "replica".into())
        );
    });
}

/// Whether clients have written for a while.
const ENOUGH: &str = "SELECT COUNT(*) >= 2000 FROM test.t";

/// Rows that a client has written, transactions that it has lost, and when rows were acknowledged.
#[derive(Default)]
struct Written {
    ids: Vec<u32>,
    lost: usize,
    times: Vec<Instant>,
}

impl Written {
    fn note(&mut self, ids: &[u32]) {
        self.ids.extend(ids);
        self.times.push(Instant::now());
    }
}

/// Reads and writes in every way until it is over; outside of transactions nothing may fail.
async fn read_and_write(mut client: Client, stopped: watch::Receiver<bool>) -> Written {
    let mut written = Written::default();
    let prepared = client.prepare("INSERT INTO t (id, a) VALUES (?, 'x')").await.unwrap();
    while !*stopped.borrow() {
        let id = next() + 1;
        let sql = format!("INSERT INTO t (id, a) VALUES ({id}, 'x')");
        client.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        written.note(&[id]);
        client.query("SELECT a FROM t LIMIT 1").await.unwrap_or_else(|error| panic!("a read: {error}"));
        let id = next() + 1;
        let execution = client.execute(&prepared, &[Value::Int(id.into())]).await;
        execution.unwrap_or_else(|error| panic!("an execution: {error}"));
        written.note(&[id]);
        let ids = [next() + 1, next() + 1];
        match in_transaction(&mut client, ids).await {
            Ok(()) => written.note(&ids),
            Err(error) => {
                assert_eq!(error.code(), Some(1213), "{error}");
                written.lost += 1;
            }
        }
    }
    written
}

async fn in_transaction(client: &mut Client, ids: [u32; 2]) -> Result<(), ClientError> {
    client.query("BEGIN").await?;
    for id in ids {
        client.query(&format!("INSERT INTO t (id, a) VALUES ({id}, 'x')")).await?;
    }
    client.query("COMMIT").await.map(drop)
}

#[test]
fn a_planned_switch_under_load_fails_no_statement_outside_of_transactions() {
    const CLIENTS: usize = 64;
    let (primary, replica, proxy) = scene();
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, WRITERS, "primary").await;
        let direct = |backend: &Backend| Options::tcp(backend.server.address(), USER, PASSWORD);
        let mut old = Client::connect(&direct(&primary)).await.unwrap();
        let mut new = Client::connect(&direct(&replica)).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let mut writers = Vec::new();
        for _ in 0..CLIENTS {
            writers.push(read_and_write(client(&proxy).await, stopped.clone()));
        }
        let switch = async {
            wait_for_value(&mut old, ENOUGH, "1").await;
            let begun = Instant::now();
            old.query("SET GLOBAL read_only = ON").await.unwrap();
            let stopped = Instant::now();
            new.query("SET GLOBAL read_only = OFF").await.unwrap();
            let switched = Instant::now();
            wait_for_value(&mut admin, WRITERS, "replica").await;
            wait_for_value(&mut new, ENOUGH, "1").await;
            stop.send(true).unwrap();
            [begun, stopped, switched]
        };
        let (written, [begun, stopped, switched]) = tokio::join!(join_all(writers), switch);
        let mut times: Vec<Instant> = written.iter().flat_map(|written| written.times.clone()).collect();
        times.sort_unstable();
        println!(
            "{CLIENTS} clients, {} rows; transactions lost: {}; longest time without a row: {:?}, looked every 100 ms",
            written.iter().map(|written| written.ids.len()).sum::<usize>(),
            written.iter().map(|written| written.lost).sum::<usize>(),
            times.windows(2).map(|pair| pair[1] - pair[0]).max()
        );
        let first = times.iter().find(|time| **time > switched);
        println!(
            "the old primary took {:?} to stop writes, the new one {:?} to take them, the first row came {:?} later",
            stopped - begun,
            switched - stopped,
            first.map(|first| *first - switched)
        );
        assert!(written.iter().all(|written| written.lost <= 1), "one error for a transaction that is lost");
        let mut written: Vec<u32> = written.into_iter().flat_map(|written| written.ids).collect();
        written.sort_unstable();
        let ids = |server: &Backend| -> Vec<u32> {
            server.sql("SELECT id FROM test.t").lines().map(|id| id.parse().unwrap()).collect()
        };
        let mut there = [ids(&primary), ids(&replica)].concat();
        there.sort_unstable();
        assert_eq!(written, there, "each row is where it was acknowledged, once");
    });
}
