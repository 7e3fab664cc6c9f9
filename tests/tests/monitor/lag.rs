//! Replicas that fall behind while clients read, for each reason that a real one has.

use std::time::{SystemTime, UNIX_EPOCH};

use e2e::{Proxy, run};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Server, Topology};
use testkit::server::{PASSWORD, USER};
use tokio::sync::watch;

use super::{PLAIN, WATCHER, admin, join_all, value, wait_for_value};

/// How a replica falls behind.
#[derive(Debug, Clone, Copy)]
enum Cause {
    /// Another session has locked the table that its SQL thread is to change.
    Lock,
    /// It is told to do everything an hour later.
    Delay,
    /// Its SQL thread is stopped: it does not know how far it is behind.
    Stopped,
}

/// Seconds that the replica may lag in hostgroup 1. In hostgroup 2 it may lag for longer than the
/// test takes.
const LIMIT: u32 = 2;

/// The `server_id` of the replica.
const REPLICA: &str = "2";

/// A read: when it began, in microseconds of Unix time, and the `server_id` of who answered.
type Read = (u64, String);

#[test]
fn c12_no_read_begins_at_a_replica_that_was_seen_to_lag_an_interval_ago() {
    let sandbox = Sandbox::new().unwrap();
    let topology = Topology::start(&mariadb::find().unwrap(), &sandbox, 1, &[]).unwrap();
    topology
        .primary
        .sql(&format!(
            "CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT REPLICATION CLIENT, REPLICA MONITOR ON *.* TO {WATCHER}@'127.0.0.1'; \
             CREATE USER {PLAIN}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {PLAIN}@'127.0.0.1'; \
             CREATE USER patient@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             CREATE TABLE test.t (a INT)"
        ))
        .unwrap();
    topology.catch_up().unwrap();
    let replica = &topology.replicas[0];
    let proxy = e2e::Setup::new(&sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(PLAIN, PASSWORD, "default_hostgroup = 1")
        .user("patient", PASSWORD, "default_hostgroup = 2")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(&topology.primary, "")
        .server(replica, &format!("hostgroup_id = 1\nweight = 100\nmax_replication_lag = {LIMIT}"))
        .server(replica, "hostgroup_id = 2\nmax_replication_lag = 3600")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("monitor_replication_lag_interval", 200)
        .start();
    run(async {
        for cause in [Cause::Lock, Cause::Delay, Cause::Stopped] {
            lag(&proxy, &topology, cause).await;
        }
    });
}

async fn lag(proxy: &Proxy, topology: &Topology, cause: Cause) {
    let replica = &topology.replicas[0];
    let status = |hostgroup| {
        format!(
            "SELECT status FROM stats_mysql_connection_pool WHERE srv_port = {} AND hostgroup = {hostgroup}",
            replica.port()
        )
    };
    let mut admin = admin(proxy).await;
    wait_for_value(&mut admin, &status(1), "ONLINE").await;
    let (stop, stopped) = watch::channel(false);
    let mut readers = Vec::new();
    for _ in 0..4 {
        readers.push(read(connect(proxy, PLAIN).await, stopped.clone()));
    }
    let patient = read(connect(proxy, "patient").await, stopped);
    let direct = Options::tcp(replica.address(), USER, PASSWORD);
    let mut holder = Client::connect(&direct).await.unwrap();
    let begun = now();
    let happen = async {
        hold_up(cause, replica, &mut holder).await;
        topology.primary.sql("INSERT INTO test.t VALUES (1)").unwrap();
        wait_for_value(&mut admin, &status(1), "SHUNNED_REPLICATION_LAG").await;
        assert_eq!(value(&mut admin, &status(2)).await, "ONLINE", "{cause:?}: each row has its own limit");
        // It is checked again, and for a while.
        let again = format!("SELECT COUNT(*) >= 5 FROM ({})", late(replica, begun));
        wait_for_value(&mut admin, &again, "1").await;
        let end = now();
        stop.send(true).unwrap();
        end
    };
    let (reads, patient, end) = tokio::join!(join_all(readers), patient, happen);
    let seen = format!("SELECT time_start_us FROM ({}) LIMIT 2", late(replica, begun));
    let seen = admin.query(&seen).await.unwrap();
    // When the next check began, the interval was over.
    let interval_over: u64 = seen.text().unwrap()[1][0].as_deref().unwrap().parse().unwrap();
    let reads: Vec<Read> = reads.into_iter().flatten().collect();
    assert!(reads.iter().any(|(_, server)| server == REPLICA), "{cause:?}: it was read from before");
    let after = reads.iter().filter(|(at, _)| (interval_over..end).contains(at));
    let stale = after.clone().filter(|(_, server)| server == REPLICA).count();
    println!(
        "{cause:?}: {} reads, {} of them later, {stale} at the replica",
        reads.len(),
        after.clone().count()
    );
    assert!(after.count() > 0);
    assert_eq!(stale, 0, "{cause:?}: reads at a replica that lags");
    assert!(patient.iter().all(|(_, server)| server == REPLICA), "{cause:?}: who may read what is old does");
    catch_up(cause, replica, &mut holder).await;
    wait_for_value(&mut admin, &status(1), "ONLINE").await;
}

/// The checks of a server that saw more lag than it may have, since then, the oldest first. An
/// unknown lag counts as a minute.
fn late(replica: &Server, since: u64) -> String {
    format!(
        "SELECT time_start_us FROM monitor.mysql_server_replication_lag_log WHERE port = {} AND error IS NULL \
         AND time_start_us > {since} AND COALESCE(repl_lag, 60) > {LIMIT} ORDER BY time_start_us",
        replica.port()
    )
}

async fn hold_up(cause: Cause, replica: &Server, holder: &mut Client) {
    match cause {
        Cause::Lock => drop(holder.query("LOCK TABLES test.t READ").await.unwrap()),
        Cause::Delay => delay(replica, 3600),
        Cause::Stopped => drop(replica.sql("STOP SLAVE SQL_THREAD").unwrap()),
    }
}

async fn catch_up(cause: Cause, replica: &Server, holder: &mut Client) {
    match cause {
        Cause::Lock => drop(holder.query("UNLOCK TABLES").await.unwrap()),
        Cause::Delay => delay(replica, 0),
        Cause::Stopped => drop(replica.sql("START SLAVE SQL_THREAD").unwrap()),
    }
}

fn delay(replica: &Server, seconds: u32) {
    replica.sql(&format!("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = {seconds}; START SLAVE")).unwrap();
}

async fn connect(proxy: &Proxy, user: &str) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), user, PASSWORD)).await.unwrap()
}

/// Reads until it is over.
async fn read(mut client: Client, stopped: watch::Receiver<bool>) -> Vec<Read> {
    let mut reads = Vec::new();
    while !*stopped.borrow() {
        let at = now();
        reads.push((at, value(&mut client, "SELECT @@server_id").await));
    }
    reads
}

/// Microseconds of Unix time.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}
