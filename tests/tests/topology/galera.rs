//! Galera.

use e2e::admin::{connect as admin, value, wait_for_value};
use e2e::run;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Galera};
use testkit::server::{PASSWORD, Server};

use super::{ROWS, WATCHER, ports, ports_in, proxy, read, rows, write};

const TABLE: &str = "mysql_galera_hostgroups";

#[test]
fn c13_writes_go_on_at_the_next_node() {
    let sandbox = Sandbox::new().unwrap();
    let mut cluster = Galera::start(&mariadb::find().unwrap(), &sandbox, 3, &[]).unwrap();
    // No privileges are needed.
    let account = format!("CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'");
    cluster.nodes[0].sql(&format!("CREATE TABLE test.t (id INT PRIMARY KEY); {account}")).unwrap();
    let all: Vec<&Server> = cluster.nodes.iter().collect();
    let more = "writer_is_also_reader = 2";
    let proxy = proxy(&sandbox, &all, TABLE, more, &[("monitor_galera_healthcheck_interval", 200)]);
    let backups_but = |cluster: &Galera, but: &[String]| {
        let is_left = |node: &&Server| !but.contains(&node.port().to_string());
        ports(cluster.nodes.iter().filter(is_left))
    };
    run(async {
        let mut admin = admin(&proxy).await;
        let log = "SELECT count(DISTINCT port) FROM monitor.mysql_server_galera_log \
                   WHERE primary_partition = 'YES' AND wsrep_local_state = 4 AND error IS NULL";
        wait_for_value(&mut admin, log, "3").await;
        // All weigh the same: the last by port writes, the others are kept ready and read.
        let last = cluster.nodes.iter().map(Server::port).max().unwrap();
        wait_for_value(&mut admin, &ports_in(0), &last.to_string()).await;
        let others = backups_but(&cluster, &[last.to_string()]);
        wait_for_value(&mut admin, &ports_in(1), &others).await;
        wait_for_value(&mut admin, &ports_in(2), &others).await;
        read(&proxy, &mut admin).await;

        let (mut written, errors) = write(&proxy, 1, ROWS).await;
        assert_eq!(errors, 0);
        let writer = cluster.nodes.iter_mut().find(|node| node.port() == last).unwrap();
        writer.kill().unwrap();
        let (more, _) = write(&proxy, 1_000, ROWS).await;
        written.extend(more);
        wait_for_value(&mut admin, &ports_in(3), &last.to_string()).await;
        let next = value(&mut admin, &ports_in(0)).await;
        let node = cluster.nodes.iter().find(|node| node.port().to_string() == next).unwrap();
        let there = rows(node);
        assert!(written.iter().all(|id| there.contains(id)), "{written:?} of {there:?}");

        // The operator takes it out, and the third one takes over.
        node.sql("SET GLOBAL wsrep_desync = ON").unwrap();
        let third = backups_but(&cluster, &[last.to_string(), next.clone()]);
        wait_for_value(&mut admin, &ports_in(0), &third).await;
        assert_eq!(write(&proxy, 2_000, ROWS).await.1, 0);
        node.sql("SET GLOBAL wsrep_desync = OFF").unwrap();
        wait_for_value(&mut admin, &ports_in(0), &next).await;

        // Without a majority no client writes.
        let third = cluster.nodes.iter().find(|node| node.port().to_string() == third).unwrap();
        third.pause().unwrap();
        wait_for_value(&mut admin, &ports_in(0), "").await;
        let cause = format!(
            "SELECT count(*) > 0 FROM stats_pointsman_server_events \
             WHERE event = 'LEFT' AND hostgroup = 0 AND port = {next} AND cause LIKE '%primary component%'"
        );
        wait_for_value(&mut admin, &cause, "1").await;
        // Until an operator says that the one is enough. That two find each other again takes
        // Galera a minute at times.
        node.sql("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'").unwrap();
        wait_for_value(&mut admin, &ports_in(0), &next).await;
    });
}
