//! Accounts that may only read statistics: whatever they ask, admins are served.

use testkit::client::{Client, Options};
use wire::command::Kind;

use super::{Admin, PATIENCE, refusal};

/// Has no end.
const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c";

async fn statistics(admin: &Admin) -> Client {
    Client::connect(&Options::tcp(admin.tcp(), "stats", "stats")).await.unwrap()
}

/// What `client` is answered to `sql`.
///
/// # Panics
///
/// When there is no answer within [`PATIENCE`].
async fn one(client: &mut Client, sql: &str) -> String {
    let answer = tokio::time::timeout(PATIENCE, client.query(sql)).await.expect("an answer").unwrap();
    answer.first().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_are_answered_before_statements_of_statistics_accounts() {
    let admin = Admin::start();
    // Each may run for ten seconds: together they take longer than the patience of this test.
    let mut endless = Vec::new();
    for _ in 0..10 {
        let mut client = statistics(&admin).await;
        client.send_command(Kind::Query, ENDLESS.as_bytes()).await.unwrap();
        endless.push(client);
    }
    let mut client = admin.client().await;
    assert_eq!(one(&mut client, "SELECT 1").await, "1");
    let metrics = one(&mut client, "SHOW PROMETHEUS METRICS").await;
    assert!(metrics.contains("proxysql_questions_total"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_end_with_their_clients() {
    let admin = Admin::start();
    // Those of admins may run for a minute.
    for (user, password, count) in [("stats", "stats", 10), ("admin", "admin", 2)] {
        for _ in 0..count {
            let options = Options::tcp(admin.tcp(), user, password);
            let mut client = Client::connect(&options).await.unwrap();
            client.send_command(Kind::Query, ENDLESS.as_bytes()).await.unwrap();
            drop(client);
        }
        let mut client = Client::connect(&Options::tcp(admin.tcp(), user, password)).await.unwrap();
        assert_eq!(one(&mut client, "SELECT 1").await, "1", "{user}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_admin_changes_is_finished_without_its_client() {
    let admin = Admin::start();
    let change = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<50000) \
                  INSERT INTO mysql_users (username) SELECT 'u' || x FROM c";
    let mut client = admin.client().await;
    client.send_command(Kind::Query, change.as_bytes()).await.unwrap();
    drop(client);
    let mut client = admin.client().await;
    super::until("all rows", async || one(&mut client, "SELECT count(*) FROM mysql_users").await == "50000")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_statistics_accounts_are_short() {
    let admin = Admin::start();
    let mut client = statistics(&admin).await;
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    let (code, message) = refusal(client.query(&long).await);
    assert!(code == 1153 && message.contains("(65536)"), "{message}");
    assert_eq!(one(&mut admin.client().await, &long).await.len(), 100_000);
}
