//! ProxySQL's own operator: it writes each table anew, also those of `PostgreSQL`, and reads back
//! what runs.

use testkit::client::Client;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Setup};

use super::pod::{Pod, execute, load_and_save, rows, run};

const COMMAND: &str = "-f -c CNF -D DATADIR --reload";

const CNF: &str = r#"
datadir="/var/lib/proxysql"
admin_variables=
{
  admin_credentials="admin:first;radmin:second"
  mysql_ifaces="ADMIN"
  cluster_username="radmin"
  cluster_password="second"
  cluster_check_interval_ms="300"
  cluster_check_status_frequency="100"
  cluster_mysql_query_rules_diffs_before_sync="3"
  cluster_mysql_query_rules_save_to_disk="true"
  cluster_mysql_servers_diffs_before_sync="3"
  cluster_mysql_servers_save_to_disk="true"
  cluster_mysql_users_diffs_before_sync="3"
  cluster_mysql_users_save_to_disk="true"
  cluster_proxysql_servers_diffs_before_sync="3"
  cluster_proxysql_servers_save_to_disk="true"
  restapi_enabled="true"
  restapi_port="PORT"
  web_enabled="true"
  web_port="PORT"
}
mysql_variables=
{
  interfaces="CLIENTS"
  monitor_username="monitor"
  monitor_password="third"
  max_connections="1000"
  threads="2"
}
pgsql_variables=
{
  interfaces="0.0.0.0:6133"
  monitor_username="monitor"
  monitor_password="third"
  max_connections="500"
  threads="4"
}
proxysql_servers=
(
  { hostname="pod-0.headless.ns.svc", port=6032, weight=0, comment="" },
  { hostname="pod-1.headless.ns.svc", port=6032, weight=0, comment="" }
)
"#;

/// The operator applies what its resource says, and applies it again to a pod that has restarted.
#[test]
fn what_it_applies_runs_and_stays() {
    let sandbox = Sandbox::new().unwrap();
    let server = Setup::new("server").start(&mariadb::find().unwrap(), &sandbox).unwrap();
    server.sql("CREATE USER shop@'%' IDENTIFIED BY 'secret'").unwrap();
    let mut pod = Pod::new(&sandbox, COMMAND, CNF);
    for _ in 0..2 {
        pod.start();
        run(async {
            let mut admin = pod.admin("radmin", "second").await;
            apply(&mut admin, server.port()).await;
            check(&mut admin, server.port()).await;
            let mut client = pod.client("shop", "secret").await;
            assert_eq!(rows(&mut client, "SELECT @@port").await, [server.port().to_string()]);
        });
        pod.stop();
    }
    // What was saved serves before the operator comes, but for variables that the file has.
    pod.start();
    run(async {
        let mut client = pod.client("shop", "secret").await;
        assert_eq!(rows(&mut client, "SELECT @@port").await, [server.port().to_string()]);
    });
}

async fn apply(admin: &mut Client, port: u16) {
    let servers = format!(
        "INSERT INTO mysql_servers (hostgroup_id,hostname,port,weight,max_connections,max_replication_lag,\
         use_ssl,comment) VALUES (0,'127.0.0.1',{port},1,1000,0,0,'it''s'),(1,'127.0.0.1',{port},1,1000,0,0,'')"
    );
    execute(
        admin,
        &[
            "DELETE FROM mysql_servers",
            &servers,
            "DELETE FROM mysql_replication_hostgroups",
            "DELETE FROM mysql_hostgroup_attributes",
            "INSERT INTO mysql_hostgroup_attributes (hostgroup_id,max_num_online_servers,autocommit,\
             free_connections_pct,init_connect,multiplex,connection_warming,throttle_connections_per_sec,\
             ignore_session_variables,comment) VALUES (0,1000000,-1,10,'',1,0,1000000,'','')",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL SERVERS"]).await;
    execute(
        admin,
        &[
            "DELETE FROM mysql_users",
            "INSERT INTO mysql_users (username,password,default_hostgroup,active,max_connections,use_ssl,\
             default_schema,transaction_persistent,comment) VALUES ('shop','secret',0,1,10000,0,'',1,'')",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL USERS"]).await;
    apply_rules(admin).await;
    for (table, module) in [
        ("pgsql_servers", "PGSQL SERVERS"),
        ("pgsql_users", "PGSQL USERS"),
        ("pgsql_query_rules", "PGSQL QUERY RULES"),
    ] {
        execute(admin, &[&format!("DELETE FROM {table}")]).await;
        load_and_save(admin, &[module]).await;
    }
    execute(
        admin,
        &[
            "DELETE FROM proxysql_servers",
            "INSERT INTO proxysql_servers (hostname,port,weight,comment) VALUES \
             ('pod-0.headless.ns.svc',6032,0,''),('pod-1.headless.ns.svc',6032,0,'')",
        ],
    )
    .await;
    load_and_save(admin, &["PROXYSQL SERVERS"]).await;
    for (name, value, module) in [
        ("mysql-max_connections", "2000", "MYSQL VARIABLES"),
        ("pgsql-max_connections", "600", "PGSQL VARIABLES"),
        ("admin-refresh_interval", "2100", "ADMIN VARIABLES"),
    ] {
        let update =
            format!("UPDATE global_variables SET variable_value='{value}' WHERE variable_name='{name}'");
        execute(admin, &[&update]).await;
        load_and_save(admin, &[module]).await;
    }
    execute(admin, &["PROXYSQL RELOAD TLS"]).await;
}

/// Empty texts of a rule are no conditions.
async fn apply_rules(admin: &mut Client) {
    execute(
        admin,
        &[
            "DELETE FROM mysql_query_rules",
            "INSERT INTO mysql_query_rules (rule_id,active,username,schemaname,flagIN,match_pattern,\
             match_digest,flagOUT,replace_pattern,destination_hostgroup,cache_ttl,cache_empty_result,timeout,\
             delay,mirror_hostgroup,error_msg,log,apply,comment) VALUES \
             (1,1,'','',0,'','^SELECT',NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'')",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL QUERY RULES"]).await;
}

async fn check(admin: &mut Client, port: u16) {
    let servers = rows(admin, "SELECT hostgroup_id, hostname, port, status FROM runtime_mysql_servers").await;
    assert_eq!(servers, [0, 1].map(|hostgroup| format!("{hostgroup},127.0.0.1,{port},ONLINE")));
    for (sql, expected) in [
        ("SELECT DISTINCT username FROM runtime_mysql_users", &["shop"][..]),
        ("SELECT rule_id FROM runtime_mysql_query_rules", &["1"]),
        ("SELECT hostgroup_id, hostname, port, status FROM runtime_pgsql_servers", &[]),
        ("SELECT DISTINCT username FROM runtime_pgsql_users", &[]),
        ("SELECT rule_id FROM runtime_pgsql_query_rules", &[]),
        (
            "SELECT variable_name, variable_value FROM runtime_global_variables \
             WHERE variable_name IN ('admin-refresh_interval','mysql-max_connections')",
            &["admin-refresh_interval,2100", "mysql-max_connections,2000"],
        ),
    ] {
        assert_eq!(rows(admin, sql).await, expected, "{sql}");
    }
}
