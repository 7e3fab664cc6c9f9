//! LOAD ... TO RUNTIME while clients are there.

use e2e::run;
use testkit::client::{Client, Options};

use super::{DB, admin, start, tell, value};

#[test]
fn users_and_variables_take_effect_at_once() {
    run(async {
        DB.sql("CREATE USER late IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO late");
        let proxy = start();
        let mut before = Client::connect(&proxy.options()).await.unwrap();
        let late = Options::tcp(proxy.tcp(), "late", "pw");
        assert_eq!(Client::connect(&late).await.unwrap_err().code(), Some(1045));
        let mut admin = admin(&proxy).await;
        tell(
            &mut admin,
            &[
                "INSERT INTO mysql_users (username, password) VALUES ('late', 'pw')",
                "LOAD MYSQL USERS TO RUNTIME",
                "SET mysql-server_version = '5.5.5-loaded'",
                "LOAD MYSQL VARIABLES TO RUNTIME",
            ],
        )
        .await;
        for _ in 0..4 {
            let mut client = Client::connect(&late).await.unwrap();
            assert_eq!(client.server().version, "5.5.5-loaded");
            assert!(value(&mut client, "SELECT CURRENT_USER()").await.starts_with("late@"));
        }
        tell(&mut admin, &["DELETE FROM mysql_users", "LOAD MYSQL USERS TO RUNTIME"]).await;
        assert_eq!(Client::connect(&late).await.unwrap_err().code(), Some(1045));
        assert_eq!(value(&mut before, "SELECT 1").await, "1");
    });
}

#[test]
fn a_server_leaves_with_its_last_connection() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut client, &["DO 1"]).await;
        let mut admin = admin(&proxy).await;
        tell(&mut admin, &["DELETE FROM mysql_servers", "LOAD MYSQL SERVERS TO RUNTIME"]).await;
        assert_eq!(value(&mut client, "SELECT 1").await, "1");
        let mut other = Client::connect(&proxy.options()).await.unwrap();
        let error = other.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.code(), Some(9001), "{error}");
        let status = "SELECT status FROM stats_mysql_connection_pool";
        assert_eq!(value(&mut admin, status).await, "OFFLINE_HARD");
        client.quit().await.unwrap();
        while !value(&mut admin, status).await.is_empty() {
            tokio::task::yield_now().await;
        }
    });
}
