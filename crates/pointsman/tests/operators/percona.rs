//! Percona's operator for `XtraDB` Cluster, here with MariaDB's Galera: its entrypoint's
//! configuration, and the statements of its sidecars and of its own.

use testkit::client::Client;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Galera};

use super::pod::{Pod, execute, load_and_save, rows, run};
use super::proxysql_admin::{
    disable, enable, handle, hold_cluster_updates_back, schedule, sync_users, update_version,
};

const COMMAND: &str = "-f -c CNF --reload";

const CNF: &str = r#"
datadir="DATADIR"
admin_variables =
{
	admin_credentials="proxyadmin:first"
	mysql_ifaces="ADMIN"
	refresh_interval=2000
	restapi_enabled=true
	restapi_port=PORT
	cluster_username="proxyadmin"
	cluster_password="first"
	checksum_admin_variables=false
	checksum_ldap_variables=false
	checksum_mysql_variables=false
	cluster_check_interval_ms=200
	cluster_check_status_frequency=100
	cluster_mysql_query_rules_save_to_disk=true
	cluster_mysql_servers_save_to_disk=true
	cluster_mysql_users_save_to_disk=true
	cluster_proxysql_servers_save_to_disk=true
	cluster_mysql_query_rules_diffs_before_sync=1
	cluster_mysql_servers_diffs_before_sync=1
	cluster_mysql_users_diffs_before_sync=1
	cluster_proxysql_servers_diffs_before_sync=1
}
mysql_variables=
{
	monitor_password="unknown"
	monitor_galera_healthcheck_interval=1000
	threads=2
	max_connections=2048
	default_query_delay=0
	default_query_timeout=10000
	poll_timeout=2000
	interfaces="CLIENTS;127.0.0.1:PORT"
	default_schema="information_schema"
	stacksize=1048576
	connect_timeout_server=10000
	monitor_history=60000
	monitor_connect_interval=20000
	monitor_ping_interval=10000
	ping_timeout_server=200
	commands_stats=true
	sessions_sort=true
	have_ssl=false
	ssl_p2s_ca=""
	ssl_p2s_cert=""
	ssl_p2s_key=""
	ssl_p2s_cipher="ECDHE-RSA-AES128-GCM-SHA256"
	default_authentication_plugin="caching_sha2_password"
}
"#;

#[test]
fn a_cluster_is_set_up_used_changed_and_removed() {
    let sandbox = Sandbox::new().unwrap();
    let cluster = Galera::start(&mariadb::find().unwrap(), &sandbox, 3, &[]).unwrap();
    for user in ["monitor", "shop"] {
        let create = format!("CREATE USER {user}@'%' IDENTIFIED BY '{user}-password'");
        cluster.nodes[0].sql(&create).unwrap();
    }
    cluster.nodes[0]
        .sql("GRANT ALL ON test.* TO shop@'%'; CREATE TABLE test.t (id INT PRIMARY KEY)")
        .unwrap();
    let mut pod = Pod::new(&sandbox, COMMAND, CNF);
    pod.start();
    run(async {
        let mut admin = pod.admin("proxyadmin", "first").await;
        assert_eq!(rows(&mut admin, "select 1").await, ["1"]);
        hold_cluster_updates_back(&mut admin).await;
        enable(&mut admin, &cluster.nodes).await;
        add_proxies(&mut admin).await;
        sync_users(&mut admin, &cluster.nodes[0]).await;
        update_version(&mut admin, &cluster.nodes[0]).await;
        weigh(&mut admin).await;
        use_it(&pod, 1).await;
        look(&mut admin).await;
    });
    pod.stop();
    pod.start();
    run(async {
        use_it(&pod, 2).await;
        change_passwords(&mut pod.admin("proxyadmin", "first").await).await;
        let mut admin = pod.admin("proxyadmin", "second").await;
        schedule(&mut admin).await;
        handle(&mut admin, &cluster.nodes[0]).await;
        disable(&mut admin).await;
    });
}

/// The sidecar that names the proxies to each other.
async fn add_proxies(admin: &mut Client) {
    assert_eq!(rows(admin, "SELECT MAX(active) FROM runtime_mysql_galera_hostgroups").await, ["1"]);
    execute(
        admin,
        &[
            "DELETE FROM proxysql_servers;",
            "INSERT INTO proxysql_servers (hostname,port) VALUES ('proxy-0.ns.svc','6032');",
            "INSERT INTO proxysql_servers (hostname,port) VALUES ('proxy-1.ns.svc','6032');",
        ],
    )
    .await;
    let proxies = ["proxy-0.ns.svc,6032,0,", "proxy-1.ns.svc,6032,0,"];
    assert_eq!(rows(admin, "SELECT * FROM proxysql_servers").await, proxies);
    load_and_save(admin, &["PROXYSQL SERVERS"]).await;
}

/// The weights of the sidecar, with names in double quotes.
async fn weigh(admin: &mut Client) {
    let have_ssl = "SELECT variable_value FROM global_variables WHERE variable_name=\"mysql-have_ssl\"";
    assert_eq!(rows(admin, have_ssl).await, ["false"]);
    execute(
        admin,
        &[
            "UPDATE mysql_servers SET weight=600 WHERE hostgroup_id IN (10, 8010) AND hostname LIKE \"127.0%\"",
            "UPDATE mysql_servers SET weight=1000000 WHERE hostgroup_id IN (11, 8011) AND hostname LIKE \"127.0%\"",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
    )
    .await;
    assert_eq!(rows(admin, "SELECT COUNT(DISTINCT(hostname)) FROM mysql_servers;").await, ["1"]);
}

/// An application writes, and reads elsewhere.
async fn use_it(pod: &Pod, id: u32) {
    let mut client = pod.client("shop", "shop-password").await;
    execute(&mut client, &[&format!("INSERT INTO test.t VALUES ({id})")]).await;
    let locked = format!("SELECT @@port FROM test.t WHERE id = {id} FOR UPDATE");
    let writer = rows(&mut client, &locked).await;
    assert_eq!(writer.len(), 1);
    let reader = rows(&mut client, "SELECT @@port").await;
    assert_ne!(writer, reader);
}

/// What the operator asks itself.
async fn look(admin: &mut Client) {
    let statuses = rows(admin, "SELECT status FROM mysql_servers WHERE hostname LIKE '127.0.0.1%';").await;
    assert!(statuses.iter().all(|status| status == "ONLINE"), "{statuses:?}");
    let count =
        "SELECT COUNT(*) FROM runtime_mysql_servers WHERE hostgroup_id='11' AND hostname LIKE '127.0.0.1%'";
    assert_eq!(rows(admin, count).await, ["1"]);
    let primary = "SELECT hostname FROM runtime_mysql_servers WHERE hostgroup_id = 11";
    assert_eq!(rows(admin, primary).await, ["127.0.0.1"]);
    // All nodes have the same name here.
    let others = "SELECT DISTINCT hostname FROM runtime_mysql_servers WHERE hostgroup_id != 11 AND status = 'ONLINE' \
                  AND hostname NOT IN (SELECT hostname FROM runtime_mysql_servers WHERE hostgroup_id = 11 AND \
                  status = 'ONLINE');";
    assert!(rows(admin, others).await.is_empty());
}

/// The operator gives the accounts of the proxy new passwords.
async fn change_passwords(admin: &mut Client) {
    for (name, value, module) in [
        ("admin-admin_credentials", "proxyadmin:second", "ADMIN VARIABLES"),
        ("admin-cluster_password", "second", "ADMIN VARIABLES"),
        ("mysql-monitor_password", "monitor-password", "MYSQL VARIABLES"),
    ] {
        let update =
            format!("UPDATE global_variables SET variable_value='{value}' WHERE variable_name='{name}'");
        execute(admin, &[&update]).await;
        load_and_save(admin, &[module]).await;
    }
}
