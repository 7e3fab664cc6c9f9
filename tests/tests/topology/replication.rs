//! Plain replication of which the proxy knows the primary only.

use std::time::Instant;

use e2e::admin::{connect as admin, value, wait_for_value};
use e2e::{Backend, Proxy, Setup, WAIT_MAX, run};
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Topology};
use testkit::server::{PASSWORD, Server, USER};

use super::{ROWS, WATCHER, ports, rows, write};

/// The ports of the servers that are used in a hostgroup, in their order.
fn online(hostgroup: u32) -> String {
    format!(
        "SELECT group_concat(port) FROM (SELECT port FROM runtime_mysql_servers \
         WHERE hostgroup_id = {hostgroup} AND status = 'ONLINE' ORDER BY port)"
    )
}

fn events(of: &str, server: u16) -> String {
    format!(
        "SELECT count(*) > 0 FROM stats_pointsman_server_events WHERE hostgroup = 1 AND event = '{of}' AND port = {server}"
    )
}

/// A proxy that knows the primary of a pair, and is to find the replicas.
fn setup(sandbox: &Sandbox, primary: &Server) -> Setup {
    let settings = r#"hostgroup_settings = '{"discover_replicas": true, "forget_replicas_after": 2}'"#;
    Setup::new(sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(USER, PASSWORD, "default_schema = 'test'")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(primary, "")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .row("mysql_hostgroup_attributes", &format!("hostgroup_id = 0\n{settings}"))
        .variable("read_write_split", true)
        .variable("monitor_writer_is_also_reader", false)
        .variable("monitor_read_only_interval", 100)
        // Writes wait as long as a promotion takes.
        .variable("connect_timeout_server_max", 30_000)
}

fn start(sandbox: &Sandbox, options: &[&str]) -> (Topology, Proxy) {
    let options: Vec<&str> =
        options.iter().copied().chain(["--log-slave-updates", "--log-bin=binlog"]).collect();
    let topology = Topology::start(&mariadb::find().unwrap(), sandbox, 2, &options).unwrap();
    topology
        .primary
        .sql(&format!(
            "CREATE TABLE test.t (id INT PRIMARY KEY); CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT REPLICA MONITOR, REPLICATION MASTER ADMIN, PROCESS ON *.* TO {WATCHER}@'127.0.0.1'"
        ))
        .unwrap();
    topology.catch_up().unwrap();
    let proxy = setup(sandbox, &topology.primary).start();
    (topology, proxy)
}

#[test]
fn replicas_are_found_where_they_come_from_and_one_is_promoted() {
    let sandbox = Sandbox::new().unwrap();
    let (mut topology, proxy) = start(&sandbox, &[]);
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, &online(1), &ports(&topology.replicas)).await;
        assert_eq!(value(&mut admin, &online(0)).await, topology.primary.port().to_string());
        let comments =
            "SELECT group_concat(DISTINCT comment) FROM runtime_mysql_servers WHERE hostgroup_id = 1";
        assert_eq!(value(&mut admin, comments).await, "discovered");
        assert_eq!(value(&mut admin, "SELECT count(*) FROM mysql_servers").await, "1");
        let reads = "SELECT sum(Queries) > 0 FROM stats_mysql_connection_pool WHERE hostgroup = 1";
        super::client(&proxy).await.query("SELECT COUNT(*) FROM t").await.unwrap();
        assert_eq!(value(&mut admin, reads).await, "1");

        // One follows no primary any more, and is forgotten; it comes back.
        let gone = &topology.replicas[0];
        gone.sql("STOP SLAVE").unwrap();
        let left = ports(&topology.replicas[1..]);
        // The primary hears of it when it sends the next changes.
        let deadline = Instant::now() + WAIT_MAX;
        for id in 10_000.. {
            topology.primary.sql(&format!("INSERT INTO test.t VALUES ({id})")).unwrap();
            if value(&mut admin, &online(1)).await == left {
                break;
            }
            assert!(Instant::now() < deadline, "{} has not been forgotten", gone.port());
        }
        assert_eq!(value(&mut admin, &events("LEFT", gone.port())).await, "1");
        gone.sql("START SLAVE").unwrap();
        wait_for_value(&mut admin, &online(1), &ports(&topology.replicas)).await;

        // The primary dies, and one of them takes over.
        let (mut written, errors) = write(&proxy, 1, ROWS).await;
        assert_eq!(errors, 0);
        topology.catch_up().unwrap();
        topology.fail_over().unwrap();
        let (more, _) = write(&proxy, 1_000, ROWS).await;
        written.extend(more);
        assert_eq!(value(&mut admin, &online(0)).await, topology.primary.port().to_string());
        wait_for_value(&mut admin, &online(1), &ports(&topology.replicas)).await;
        let there = rows(&topology.primary);
        assert!(written.iter().all(|id| there.contains(id)), "{written:?} of {there:?}");
    });
}

#[test]
fn replicas_are_found_where_they_say_that_they_are() {
    let sandbox = Sandbox::new().unwrap();
    let (topology, proxy) = start(&sandbox, &["--report-host=127.0.0.1"]);
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, &online(1), &ports(&topology.replicas)).await;
        let cause = "SELECT count(*) FROM stats_pointsman_server_events \
                     WHERE event = 'JOINED' AND cause LIKE 'its primary names it: server_id=%'";
        assert_eq!(value(&mut admin, cause).await, "2");
        // One that can be written to is no writer for that.
        topology.replicas[0].sql("SET GLOBAL read_only = 0").unwrap();
        // A check is in the log before anything follows from it, and the next one is made behind
        // that.
        let seen = format!(
            "SELECT count(*) > 1 FROM monitor.mysql_server_read_only_log WHERE port = {} AND read_only = 0",
            topology.replicas[0].port()
        );
        wait_for_value(&mut admin, &seen, "1").await;
        assert_eq!(value(&mut admin, &online(0)).await, topology.primary.port().to_string());
        assert_eq!(value(&mut admin, &online(1)).await, ports(&topology.replicas));
    });
}

#[test]
fn a_replica_of_mysql_is_found() {
    let Some(primary) = Backend::start_mysql_or_skip(&["--log-bin=binlog"]) else { return };
    let Some(replica) = Backend::start_mysql_or_skip(&[]) else { return };
    let account = format!(
        "CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE, PROCESS ON *.* TO {WATCHER}@'127.0.0.1'"
    );
    for server in [&primary, &replica] {
        server.sql(&account);
    }
    // It only has to be connected, not to apply anything.
    replica.sql(&format!(
        "SET GLOBAL server_id = 2; SET GLOBAL read_only = 1; \
         CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = '{WATCHER}', \
         SOURCE_PASSWORD = '{PASSWORD}', GET_SOURCE_PUBLIC_KEY = 1; START REPLICA IO_THREAD",
        primary.server.port()
    ));
    let proxy = setup(&primary.sandbox, &primary.server).start();
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, &online(1), &replica.server.port().to_string()).await;
        assert_eq!(value(&mut admin, &online(0)).await, primary.server.port().to_string());
    });
}
