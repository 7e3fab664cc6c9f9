//! An RDS Multi-AZ cluster, as far as it can be played: servers that follow one of them, and each
//! has a table with the names of all.

use e2e::admin::{connect as admin, value, wait_for_value};
use e2e::{Proxy, Setup, run};
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Topology};
use testkit::server::{PASSWORD, Server, USER};

use super::{ROWS, WATCHER, rows, write};

/// The names of the servers, as they stand in the table.
const NAMES: [&str; 3] = ["db-instance-1.c.example", "db-instance-2.c.example", "db-instance-3.c.example"];

/// The names of the servers that are used in a hostgroup.
fn online(hostgroup: u32) -> String {
    format!(
        "SELECT group_concat(hostname) FROM (SELECT hostname FROM runtime_mysql_servers \
         WHERE hostgroup_id = {hostgroup} AND status = 'ONLINE' ORDER BY hostname)"
    )
}

/// A primary with two replicas, and the table in each of them.
fn cluster(sandbox: &Sandbox) -> Topology {
    let options = ["--log-slave-updates", "--log-bin=binlog"];
    let topology = Topology::start(&mariadb::find().unwrap(), sandbox, 2, &options).unwrap();
    let servers = [&topology.primary, &topology.replicas[0], &topology.replicas[1]];
    let row = |(name, server): (&str, &Server)| {
        format!("({}, '{name}', {})", server.sql("SELECT @@server_id").unwrap().trim(), server.port())
    };
    let members: Vec<String> = NAMES.into_iter().zip(servers).map(row).collect();
    let sql = format!(
        "CREATE TABLE test.t (id INT PRIMARY KEY); \
         CREATE TABLE mysql.rds_topology (id INT, endpoint VARCHAR(255), port INT); \
         INSERT INTO mysql.rds_topology VALUES {}; CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT SELECT ON mysql.rds_topology TO {WATCHER}@'127.0.0.1'",
        members.join(", ")
    );
    topology.primary.sql(&sql).unwrap();
    topology.catch_up().unwrap();
    topology
}

/// A proxy that knows the second server of the cluster, which is a replica.
fn proxy_or_skip(sandbox: &Sandbox, topology: &Topology) -> Option<Proxy> {
    let server = format!(
        "hostgroup_id = 1\nhostname = '{}'\nport = {}\nweight = 5",
        NAMES[1],
        topology.replicas[0].port()
    );
    let setup = Setup::new(sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(USER, PASSWORD, "default_schema = 'test'")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .row("mysql_servers", &server)
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("read_write_split", true)
        .variable("monitor_writer_is_also_reader", false)
        .variable("monitor_read_only_interval", 100)
        .variable("monitor_aws_rds_topology_discovery_interval", 3)
        .variable("connect_timeout_server_max", 30_000);
    Some(setup.names_or_skip(&NAMES)?.start())
}

#[test]
fn the_servers_of_an_rds_cluster_are_found_and_go_through_a_failover() {
    let sandbox = Sandbox::new().unwrap();
    let topology = cluster(&sandbox);
    let Some(proxy) = proxy_or_skip(&sandbox, &topology) else { return };
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, &online(0), NAMES[0]).await;
        wait_for_value(&mut admin, &online(1), &NAMES[1..].join(",")).await;
        let row =
            format!("SELECT comment || weight FROM runtime_mysql_servers WHERE hostname = '{}'", NAMES[2]);
        assert_eq!(value(&mut admin, &row).await, "discovered1");
        let joined = "SELECT count(*) FROM stats_pointsman_server_events \
                      WHERE event = 'JOINED' AND cause LIKE 'its cluster names it: server_id=%'";
        assert_eq!(value(&mut admin, joined).await, "2");
        let (mut written, errors) = write(&proxy, 1, ROWS).await;
        assert_eq!(errors, 0);

        // Another one is the writer now.
        topology.primary.sql("SET GLOBAL read_only = 1").unwrap();
        topology.catch_up().unwrap();
        let next = &topology.replicas[1];
        next.sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0").unwrap();
        // The account may write to a server that is read-only: until the monitor has seen it, the
        // old one takes rows.
        wait_for_value(&mut admin, &online(0), NAMES[2]).await;
        let (more, errors) = write(&proxy, 1_000, ROWS).await;
        assert_eq!(errors, 0);
        written.extend(more);
        wait_for_value(&mut admin, &online(1), &NAMES[..2].join(",")).await;
        let there = rows(next);
        assert!(written.iter().all(|id| there.contains(id)), "{written:?} of {there:?}");
    });
}

#[test]
fn servers_that_have_nothing_to_do_with_rds_are_not_complained_of() {
    let sandbox = Sandbox::new().unwrap();
    let topology = Topology::start(&mariadb::find().unwrap(), &sandbox, 0, &[]).unwrap();
    let account = format!("CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'");
    topology.primary.sql(&format!("{account}; GRANT SELECT ON mysql.* TO {WATCHER}@'127.0.0.1'")).unwrap();
    let proxy = Setup::new(&sandbox)
        .monitor(WATCHER, PASSWORD)
        .server(&topology.primary, "")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .variable("monitor_read_only_interval", 100)
        .variable("monitor_aws_rds_topology_discovery_interval", 1)
        .start();
    run(async {
        // Statements of the server itself: the check was made, and once more after its answer.
        let mut admin = admin(&proxy).await;
        let checks = "SELECT count(*) > 5 FROM monitor.mysql_server_read_only_log WHERE error IS NULL";
        wait_for_value(&mut admin, checks, "1").await;
    });
    assert!(!proxy.log().iter().any(|line| line.contains("cannot check a server")));
    // One that does not let the monitor look is.
    topology.primary.sql(&format!("REVOKE ALL ON mysql.* FROM {WATCHER}@'127.0.0.1'")).unwrap();
    let line = proxy.wait_for_log("cannot check a server");
    assert!(line.contains("rds_topology"), "{line}");
}
