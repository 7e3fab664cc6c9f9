//! Servers that freeze, lag, or do not let the monitor in.

use e2e::run;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Topology};
use testkit::server::PASSWORD;

use super::{admin, backend, client, setup, value, wait_for_value};

const STATUS: &str = "SELECT status FROM stats_mysql_connection_pool WHERE hostgroup = 0";

#[test]
fn c24_a_frozen_server_is_shunned_and_comes_back() {
    let db = backend();
    let proxy = setup(&db)
        .server(&db.server, "")
        .variable("monitor_ping_interval", 500)
        .variable("monitor_ping_timeout", 200)
        .start();
    run(async {
        let (mut admin, mut client) = (admin(&proxy).await, client(&proxy).await);
        client.query("SELECT 1").await.unwrap();
        wait_for_value(&mut admin, "SELECT COUNT(*) > 1 FROM monitor.mysql_server_ping_log", "1").await;
        db.server.pause().unwrap();
        // What runs there is broken off, and says why.
        let error = client.query("INSERT INTO t (a) VALUES ('x')").await.unwrap_err();
        assert_eq!(error.code(), Some(9009), "{error}");
        assert!(error.to_string().contains("does not answer"), "{error}");
        assert_eq!(value(&mut admin, STATUS).await, "SHUNNED");
        db.server.resume().unwrap();
        wait_for_value(&mut admin, STATUS, "ONLINE").await;
        client.query("SELECT 3").await.unwrap();
        let timeouts = "SELECT COUNT(*) >= 3 FROM monitor.mysql_server_ping_log WHERE ping_error = 'timeout during ping'";
        assert_eq!(value(&mut admin, timeouts).await, "1");
    });
}

#[test]
fn a_wrong_password_is_logged_once_and_shuns_no_server() {
    let db = backend();
    let proxy = setup(&db)
        .monitor("watcher", "wrong")
        .server(&db.server, "")
        .variable("monitor_ping_interval", 100)
        .variable("monitor_connect_interval", 100)
        .start();
    let line = proxy.wait_for_log("the monitor cannot check a server");
    assert!(line.contains("Access denied for user 'watcher'"), "{line}");
    run(async {
        let mut admin = admin(&proxy).await;
        let denied = "SELECT COUNT(*) > 10 FROM monitor.mysql_server_connect_log WHERE connect_error LIKE '%Access denied%'";
        wait_for_value(&mut admin, denied, "1").await;
        assert_eq!(value(&mut admin, STATUS).await, "ONLINE");
        let counted = "SELECT Variable_Value > 10 FROM stats_mysql_global WHERE Variable_Name = 'MySQL_Monitor_connect_check_ERR'";
        assert_eq!(value(&mut admin, counted).await, "1");
        client(&proxy).await.query("SELECT 1").await.unwrap();
    });
    let told = proxy.log().iter().filter(|line| line.contains("the monitor cannot check a server")).count();
    assert_eq!(told, 1);
}

#[test]
fn names_of_servers_are_looked_up_and_kept() {
    let db = backend();
    let named = |host: &str| format!("hostgroup_id = 1\nhostname = '{host}'\nport = {}", db.server.port());
    let proxy = setup(&db)
        .server(&db.server, "")
        .row("mysql_servers", &named("localhost"))
        .row("mysql_servers", &named("nowhere.invalid"))
        .variable("monitor_connect_interval", 100)
        .start();
    let line = proxy.wait_for_log("the name of a server cannot be resolved");
    assert!(line.contains("nowhere.invalid"), "{line}");
    run(async {
        let mut admin = admin(&proxy).await;
        let of = |host: &str, error: &str| {
            format!(
                "SELECT count(*) > 1 FROM monitor.mysql_server_connect_log WHERE hostname = '{host}' AND connect_error {error}"
            )
        };
        wait_for_value(&mut admin, &of("localhost", "IS NULL"), "1").await;
        wait_for_value(&mut admin, &of("nowhere.invalid", "LIKE '%its name cannot be resolved%'"), "1").await;
        let count = |name: &str| {
            format!(
                "SELECT Variable_Value > 0 FROM stats_mysql_global WHERE Variable_Name = 'MySQL_Monitor_dns_cache_{name}'"
            )
        };
        for name in ["queried", "lookup_success", "record_updated"] {
            assert_eq!(value(&mut admin, &count(name)).await, "1", "{name}");
        }
    });
}

#[test]
fn c12_a_replica_that_has_stopped_gets_no_reads_until_it_goes_on() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let topology = Topology::start(&binaries, &sandbox, 1, &[]).unwrap();
    topology
        .primary
        .sql(&format!(
            "CREATE USER watcher@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT REPLICATION CLIENT, REPLICA MONITOR ON *.* TO watcher@'127.0.0.1'; \
             CREATE USER plain@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO plain@'127.0.0.1'"
        ))
        .unwrap();
    topology.catch_up().unwrap();
    let replica = &topology.replicas[0];
    let proxy = e2e::Setup::new(&sandbox)
        .monitor("watcher", PASSWORD)
        .user("plain", PASSWORD, "default_hostgroup = 1")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(&topology.primary, "")
        .server(replica, "hostgroup_id = 1\nmax_replication_lag = 5")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("monitor_replication_lag_interval", 100)
        .start();
    run(async {
        let mut admin = admin(&proxy).await;
        let reader =
            format!("SELECT status FROM stats_mysql_connection_pool WHERE srv_port = {}", replica.port());
        wait_for_value(
            &mut admin,
            "SELECT repl_lag FROM monitor.mysql_server_replication_lag_log LIMIT 1",
            "0",
        )
        .await;
        assert_eq!(value(&mut admin, &reader).await, "ONLINE");
        replica.sql("STOP SLAVE").unwrap();
        wait_for_value(&mut admin, &reader, "SHUNNED_REPLICATION_LAG").await;
        let shown = format!("SELECT status FROM runtime_mysql_servers WHERE port = {}", replica.port());
        assert_eq!(value(&mut admin, &shown).await, "SHUNNED");
        // The writer is a reader, too.
        let server = value(&mut client(&proxy).await, "SELECT @@server_id").await;
        assert_eq!(server, "1");
        replica.sql("START SLAVE").unwrap();
        wait_for_value(&mut admin, &reader, "ONLINE").await;
    });
}
