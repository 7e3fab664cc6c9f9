//! Statements of `proxysql-admin` and `percona-scheduler-admin`, the programs with which Percona
//! keeps ProxySQL's configuration equal to a cluster.

use testkit::client::Client;
use testkit::server::Server;

use super::pod::{execute, load_and_save, rows, wait_for_rows};

/// The hostgroups of `proxysql-admin.cnf` in the operator's image.
const ALL_HOSTGROUPS: &str = "11,10,12,13";

/// `--disable-updates`: other proxies of the cluster are not to take half of a change.
pub(crate) async fn hold_cluster_updates_back(admin: &mut Client) {
    execute(admin, &["SAVE ADMIN VARIABLES FROM RUNTIME"]).await;
    for name in ["mysql_query_rules", "mysql_servers", "mysql_users"] {
        let variable = format!("admin-checksum_{name}");
        let sql = format!("SELECT variable_value FROM global_variables WHERE variable_name='{variable}'");
        assert_eq!(rows(admin, &sql).await, ["true"]);
        execute(admin, &[&format!("SET {variable} = 'false'")]).await;
    }
    execute(
        admin,
        &[
            "SET admin-cluster_username = '';",
            "SET admin-cluster_check_interval_ms = 300000;",
            "LOAD ADMIN VARIABLES TO RUNTIME",
            "SET admin-cluster_username = 'proxyadmin'",
            "SET admin-cluster_check_interval_ms = '200'",
            "SET admin-checksum_mysql_query_rules = 'true'",
            "SET admin-checksum_mysql_servers = 'true'",
            "SET admin-checksum_mysql_users = 'true'",
            "LOAD ADMIN VARIABLES TO RUNTIME",
        ],
    )
    .await;
}

/// The hostgroups are free, and nothing else moves servers.
async fn check_that_nothing_is_there(admin: &mut Client) {
    for sql in [
        format!(
            "SELECT COUNT(*) FROM mysql_galera_hostgroups WHERE writer_hostgroup IN ({ALL_HOSTGROUPS}) OR \
             reader_hostgroup IN ({ALL_HOSTGROUPS}) OR backup_writer_hostgroup IN ({ALL_HOSTGROUPS}) OR \
             offline_hostgroup IN ({ALL_HOSTGROUPS})"
        ),
        "SELECT COUNT(*) FROM runtime_mysql_group_replication_hostgroups WHERE active=1".to_owned(),
        "SELECT COUNT(*) FROM runtime_mysql_galera_hostgroups WHERE active=1".to_owned(),
        "SELECT COUNT(*) FROM runtime_scheduler WHERE active=1 AND filename LIKE '%pxc_scheduler_handler'"
            .to_owned(),
    ] {
        assert_eq!(rows(admin, &sql).await, ["0"], "{sql}");
    }
}

/// `proxysql-admin --enable`, in the mode `singlewrite` with readers that write if they must.
pub(crate) async fn enable(admin: &mut Client, nodes: &[Server]) {
    check_that_nothing_is_there(admin).await;
    execute(
        admin,
        &[
            &format!(
                "DELETE FROM mysql_servers WHERE hostgroup_id in ({ALL_HOSTGROUPS}) AND status = 'OFFLINE_HARD'"
            ),
            "UPDATE global_variables SET variable_value='monitor' WHERE variable_name='mysql-monitor_username'",
            "UPDATE global_variables SET variable_value='monitor-password' \
             WHERE variable_name='mysql-monitor_password'",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL VARIABLES"]).await;
    for node in nodes {
        let port = node.port();
        execute(
            admin,
            &[&format!(
                "INSERT INTO mysql_servers (hostname,hostgroup_id,port,weight,max_connections,use_ssl) \
                 VALUES ('127.0.0.1',11,{port},1000,1000,0);"
            )],
        )
        .await;
    }
    let writer = nodes[0].port();
    execute(
        admin,
        &[
            &format!(
                "UPDATE mysql_servers SET weight = 1000000 WHERE hostname = '127.0.0.1' AND port = {writer} \
                 AND hostgroup_id = 11;"
            ),
            &format!(
                "UPDATE mysql_servers SET hostgroup_id = 12 WHERE hostgroup_id = 11 AND \
                 ( hostname <> '127.0.0.1' OR port <> {writer} )"
            ),
            "SET mysql-monitor_galera_healthcheck_interval = 200",
            "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, \
             offline_hostgroup, active, max_writers, writer_is_also_reader, max_transactions_behind) \
             VALUES (11, 12, 10, 13, 1, 1, 2, 100)",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES"]).await;
    let writes = "SELECT hostname,hostgroup_id,port,weight FROM runtime_mysql_servers \
                  WHERE hostgroup_id=11 AND status != 'SHUNNED'";
    wait_for_rows(admin, writes, &[format!("127.0.0.1,11,{writer},1000000")]).await;
    let mut others: Vec<String> = nodes[1..].iter().map(|node| node.port().to_string()).collect();
    others.sort();
    for hostgroup in [10, 12] {
        let sql = format!(
            "SELECT port FROM runtime_mysql_servers WHERE hostgroup_id={hostgroup} ORDER BY port||''"
        );
        wait_for_rows(admin, &sql, &others).await;
    }
    let hostgroups = "SELECT writer_hostgroup || ',' || reader_hostgroup || ',' || backup_writer_hostgroup || ',' \
                      || offline_hostgroup FROM mysql_galera_hostgroups WHERE writer_hostgroup = 11";
    assert_eq!(rows(admin, hostgroups).await, [ALL_HOSTGROUPS]);
}

/// `proxysql-admin --syncusers --add-query-rule`: passwords are the cluster's hashes.
pub(crate) async fn sync_users(admin: &mut Client, node: &Server) {
    let known = "SELECT username,HEX(password) FROM mysql_users WHERE password!='' AND default_hostgroup=11";
    assert!(rows(admin, known).await.is_empty());
    let credentials =
        "select variable_value from global_variables where variable_name like 'admin-%_credentials'";
    assert!(rows(admin, credentials).await.contains(&"proxyadmin:first".to_owned()));
    let hash = node.sql("SELECT HEX(authentication_string) FROM mysql.user WHERE user='shop'").unwrap();
    let hash = hash.trim();
    assert_eq!(
        rows(admin, "SELECT max_writers FROM mysql_galera_hostgroups WHERE writer_hostgroup = 11").await,
        ["1"]
    );
    execute(
        admin,
        &[
            &format!(
                "INSERT INTO mysql_users (username, password, active, default_hostgroup) \
                 VALUES ('shop', UNHEX('{hash}'), 1, 11)"
            ),
            "INSERT INTO mysql_query_rules (username,destination_hostgroup,active,match_digest,apply) \
             VALUES ('shop',11,1,'^SELECT.*FOR UPDATE',1), ('shop',10,1,'^SELECT ',1);",
        ],
    )
    .await;
    load_and_save(admin, &["MYSQL USERS", "MYSQL QUERY RULES"]).await;
    execute(admin, &["SAVE MYSQL USERS FROM RUNTIME"]).await;
    assert_eq!(rows(admin, known).await, [format!("shop,{hash}")]);
}

/// `proxysql-admin --update-mysql-version`.
pub(crate) async fn update_version(admin: &mut Client, node: &Server) {
    let version = node.sql("SELECT VERSION()").unwrap();
    let version = version.trim().split('-').next().unwrap();
    let sql = "select variable_value from global_variables where variable_name like 'mysql-server_version'";
    assert_eq!(rows(admin, sql).await.len(), 1);
    let update = format!(
        "UPDATE global_variables SET variable_value='{version}' WHERE variable_name='mysql-server_version'"
    );
    execute(admin, &[&update]).await;
    load_and_save(admin, &["MYSQL VARIABLES"]).await;
    let running =
        "SELECT variable_value FROM runtime_global_variables WHERE variable_name='mysql-server_version'";
    assert_eq!(rows(admin, running).await, [version]);
}

/// `percona-scheduler-admin --enable` and `--disable`.
pub(crate) async fn schedule(admin: &mut Client) {
    let entry = "FROM runtime_scheduler WHERE comment like '% hgW:11, hgR:10 %'";
    assert_eq!(rows(admin, "SELECT count(*) FROM runtime_scheduler").await, ["0"]);
    execute(
        admin,
        &["INSERT INTO scheduler (active, interval_ms, filename, arg1, arg2, comment) VALUES (1, 2000, \
           '/bin/true', '--configfile=scheduler.toml', '--configpath=/tmp', '{ hgW:11, hgR:10 }');"],
    )
    .await;
    load_and_save(admin, &["SCHEDULER"]).await;
    assert_eq!(rows(admin, &format!("SELECT active {entry}")).await, ["1"]);
    let in_use = "SELECT COUNT(*) FROM runtime_scheduler WHERE active=1 AND filename NOT LIKE '%pxc_scheduler_handler'";
    assert_eq!(rows(admin, in_use).await, ["1"]);
    execute(admin, &["DELETE FROM scheduler WHERE comment like '% hgW:11, hgR:10 %'"]).await;
    load_and_save(admin, &["SCHEDULER"]).await;
    assert!(rows(admin, &format!("SELECT active {entry}")).await.is_empty());
}

/// A round of the program that `percona-scheduler-admin` has the scheduler run: it takes the writer
/// out, and back in, with transactions that the admin port accepts and ignores.
pub(crate) async fn handle(admin: &mut Client, writer: &Server) {
    let nodes = " select b.*, c.ConnUsed from stats_mysql_connection_pool c left JOIN runtime_mysql_servers b ON  \
                 c.hostgroup=b.hostgroup_id and c.srv_host=b.hostname and c.srv_port = b.port \
                 where hostgroup_id in (10,11,8010,8011)  order by hostgroup,srv_host desc;";
    assert!(rows(admin, nodes).await.iter().any(|row| row.starts_with("11,127.0.0.1,")));
    assert!(rows(admin, "SHOW GLOBAL VARIABLES").await.contains(&"mysql-threads,2".to_owned()));
    let row = format!("hostname='127.0.0.1' AND port={}", writer.port());
    let backup = format!(
        "INSERT INTO mysql_servers (hostgroup_id, hostname,port,gtid_port,status,weight,compression,\
         max_connections,max_replication_lag,use_ssl,max_latency_ms,comment) \
         VALUES (8011,'127.0.0.1',{},0,'ONLINE',1000,0,1000,0,0,0,'')",
        writer.port()
    );
    for changes in [
        [&backup, &format!(" UPDATE mysql_servers SET hostgroup_id=9011 WHERE hostgroup_id=11 AND {row}")],
        [
            &format!(" UPDATE mysql_servers SET hostgroup_id=11 WHERE hostgroup_id=9011 AND {row}"),
            &format!(" Delete from mysql_servers WHERE hostgroup_id=8011 AND {row}"),
        ],
    ] {
        let [first, second] = changes;
        execute(
            admin,
            &[
                "START TRANSACTION",
                first,
                second,
                "COMMIT",
                "LOAD mysql servers to RUN ",
                "SAVE mysql servers to DISK ",
            ],
        )
        .await;
    }
    let proxies = "select weight,hostname,port,comment from runtime_proxysql_servers order by weight desc";
    assert_eq!(rows(admin, proxies).await.len(), 2);
}

/// `proxysql-admin --disable`.
pub(crate) async fn disable(admin: &mut Client) {
    let statements = [
        format!("DELETE FROM mysql_users WHERE default_hostgroup IN ({ALL_HOSTGROUPS})"),
        format!("DELETE FROM mysql_servers WHERE hostgroup_id in ({ALL_HOSTGROUPS});"),
        format!("DELETE FROM mysql_query_rules WHERE destination_hostgroup in ({ALL_HOSTGROUPS})"),
        format!(
            "DELETE FROM  mysql_query_rules_fast_routing WHERE destination_hostgroup in ({ALL_HOSTGROUPS})"
        ),
        "DELETE FROM mysql_galera_hostgroups WHERE writer_hostgroup = 11".to_owned(),
    ];
    for sql in &statements {
        execute(admin, &[sql]).await;
    }
    load_and_save(admin, &["MYSQL USERS", "MYSQL SERVERS", "MYSQL QUERY RULES"]).await;
    for table in ["mysql_servers", "mysql_users", "mysql_query_rules", "mysql_galera_hostgroups"] {
        let sql = format!("SELECT COUNT(*) FROM runtime_{table}");
        wait_for_rows(admin, &sql, &["0".to_owned()]).await;
    }
}
