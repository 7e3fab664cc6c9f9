//! A server that begins to replicate while its log is followed, and does not log what it gets.

use e2e::{Backend, admin, run};
use testkit::server::PASSWORD;

use crate::{connect, prepared, proxy, value, warm};

#[test]
fn c20_a_server_that_begins_to_replicate_is_followed_no_more_on_mariadb() {
    let server = prepared(Backend::start(&["--log-bin=binlog", "--server-id=7"]));
    let source = Backend::start(&["--log-bin=binlog", "--server-id=8"]);
    // It has nothing to replicate yet: no GTID tells that the server does.
    source.sql(&format!(
        "CREATE TABLE test.kept (id INT PRIMARY KEY, a INT); \
         CREATE USER repl@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'; RESET MASTER"
    ));
    let proxy = proxy(&server, "watch", r#""mode": "strict""#);
    run(async {
        let (mut client, sql) = (connect(&proxy).await, "SELECT a FROM kept WHERE id = 1");
        let mut operator = admin::connect(&proxy).await;
        warm(&mut operator, &mut client, sql).await;
        let port = source.server.address().port();
        server.sql(&format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', \
             MASTER_PASSWORD='{PASSWORD}'; START SLAVE"
        ));
        for _ in 0..2000 {
            value(&mut client, sql).await;
            if admin::value(&mut operator, "SELECT followed FROM stats_pointsman_sources").await == "0" {
                break;
            }
        }
        let why = "the server does not log what it replicates (log_slave_updates)";
        admin::wait_for_value(&mut operator, "SELECT reason FROM stats_pointsman_sources", why).await;
        source.sql("REPLACE INTO test.kept VALUES (1, 5)");
        while server.sql("SELECT a FROM test.kept WHERE id = 1").trim() != "5" {}
        assert_eq!(value(&mut client, sql).await, "5");
    });
}
