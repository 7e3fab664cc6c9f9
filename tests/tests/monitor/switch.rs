//! A primary and a replica change places.

use e2e::{Backend, Proxy, run};

use super::{admin, backend, client, next, setup, value, wait_for_value};

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

#[test]
fn a_planned_switch_under_load_fails_no_statement() {
    const CLIENTS: usize = 16;
    let (primary, replica, proxy) = scene();
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, WRITERS, "primary").await;
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let writers: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (stopped, options) = (stopped.clone(), client(&proxy));
                async move {
                    let mut client = options.await;
                    let mut written = Vec::new();
                    while !*stopped.borrow() {
                        let id = next() + 1;
                        let sql = format!("INSERT INTO t (id, a) VALUES ({id}, 'x')");
                        client.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                        written.push(id);
                    }
                    written
                }
            })
            .collect();
        let switch = async {
            wait_for_rows(&primary).await;
            primary.sql("SET GLOBAL read_only = ON");
            replica.sql("SET GLOBAL read_only = OFF");
            wait_for_value(&mut admin, WRITERS, "replica").await;
            wait_for_rows(&replica).await;
            stop.send(true).unwrap();
        };
        let (written, ()) = tokio::join!(join_all(writers), switch);
        let mut written: Vec<u32> = written.into_iter().flatten().collect();
        written.sort_unstable();
        let ids = |server: &Backend| -> Vec<u32> {
            server.sql("SELECT id FROM test.t").lines().map(|id| id.parse().unwrap()).collect()
        };
        let mut there = [ids(&primary), ids(&replica)].concat();
        there.sort_unstable();
        assert_eq!(written, there, "each row is where it was acknowledged, once");
    });
}

async fn wait_for_rows(server: &Backend) {
    while server.sql("SELECT COUNT(*) >= 20 FROM test.t").trim() != "1" {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Runs all of them on this task.
async fn join_all<T>(all: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, outcome) in &mut running {
            if outcome.is_none()
                && let std::task::Poll::Ready(done) = future.as_mut().poll(cx)
            {
                *outcome = Some(done);
            }
        }
        if running.iter().all(|(_, outcome)| outcome.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
