//! Timeouts, delays and limits at a real server, from both workers.

use e2e::run;
use testkit::client::{Client, Options, Value};
use testkit::mariadb::{PASSWORD, USER};
use tokio::task::JoinSet;

use super::{DB, admin, number, start, tell, value};

/// A connection to the server, past the proxy.
async fn direct() -> Client {
    Client::connect(&Options::tcp(DB.server.address(), USER, PASSWORD).schema("test")).await.unwrap()
}

#[test]
fn a_statement_that_takes_too_long_is_killed_and_its_transaction_goes_on() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut client, &["CREATE TEMPORARY TABLE t (a INT)", "BEGIN", "INSERT INTO t VALUES (1)"]).await;
        let error = client.query("/* query_timeout=100 */ SELECT SLEEP(60)").await.unwrap_err();
        assert_eq!(error.code(), Some(1907), "{error}");
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await, "1");
        let mut admin = admin(&proxy).await;
        tell(&mut admin, &["SET mysql-default_query_timeout = 1000", "LOAD MYSQL VARIABLES TO RUNTIME"])
            .await;
        let statement = client.prepare("SELECT SLEEP(?)").await.unwrap();
        let error = client.execute(&statement, &[Value::Int(60)]).await.unwrap_err();
        assert_eq!(error.code(), Some(1907), "{error}");
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await, "1");
        let killed = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'mysql_killed_backend_queries'";
        assert_eq!(number(&mut admin, killed).await, 2);
    });
}

#[test]
fn limits_hold_for_all_workers_together() {
    const CLIENTS: u64 = 8;
    run(async {
        let proxy = start();
        let mut admin = admin(&proxy).await;
        tell(
            &mut admin,
            &[
                "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, attributes) \
                 VALUES (1, 1, 'counted', '{\"max_concurrent\": 3}')",
                "LOAD MYSQL QUERY RULES TO RUNTIME",
            ],
        )
        .await;
        // What the server runs waits for this one.
        let mut direct = direct().await;
        tell(&mut direct, &["CREATE TABLE counted (a INT)", "LOCK TABLES counted WRITE"]).await;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let options = proxy.options();
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                number(&mut client, "SELECT COUNT(*) FROM counted").await
            });
        }
        let all = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE info = 'SELECT COUNT(*) FROM counted'";
        while number(&mut admin, all).await < CLIENTS {}
        let running = "SELECT COUNT(*) FROM information_schema.processlist \
                       WHERE info = 'SELECT COUNT(*) FROM counted'";
        while number(&mut direct, running).await < 3 {}
        assert_eq!(number(&mut direct, running).await, 3);
        tell(&mut direct, &["UNLOCK TABLES"]).await;
        assert!(clients.join_all().await.iter().all(|rows| *rows == 0));
        tell(&mut direct, &["DROP TABLE counted"]).await;
    });
}

#[test]
fn limits_of_users_come_and_go_with_a_load() {
    run(async {
        let proxy = start();
        let mut admin = admin(&proxy).await;
        tell(&mut admin, &["SET mysql-connect_timeout_server_max = 100", "LOAD MYSQL VARIABLES TO RUNTIME"])
            .await;
        let limit = |attributes: &str| format!("UPDATE mysql_users SET attributes = '{attributes}'");
        tell(&mut admin, &[&limit(r#"{"max_concurrent": 1}"#), "LOAD MYSQL USERS TO RUNTIME"]).await;
        let mut first = Client::connect(&proxy.options()).await.unwrap();
        let mut second = Client::connect(&proxy.options()).await.unwrap();
        // Another client has the lock that the first one waits for.
        let mut direct = direct().await;
        tell(&mut direct, &["DO GET_LOCK('limits', 0)"]).await;
        let (locked, refused) = tokio::join!(first.query("SELECT GET_LOCK('limits', 100)"), async {
            let waits = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE info LIKE 'SELECT GET_LOCK%'";
            while number(&mut admin, waits).await == 0 {}
            let refused = second.query("SELECT 1").await.unwrap_err();
            tell(&mut direct, &["DO RELEASE_LOCK('limits')"]).await;
            refused
        });
        assert_eq!(locked.unwrap().first().as_deref(), Some("1"));
        assert_eq!(refused.code(), Some(1226), "{refused}");
        assert_eq!(value(&mut second, "SELECT 1").await, "1");
        let error = admin.query(&limit(r#"{"max_concurrent": 0}"#)).await;
        let error = match error {
            Err(error) => error,
            Ok(_) => admin.query("LOAD MYSQL USERS TO RUNTIME").await.unwrap_err(),
        };
        assert!(error.to_string().contains("max_concurrent"), "{error}");
    });
}
