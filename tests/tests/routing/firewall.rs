//! The firewall as an operator sets it up: traffic runs, what has run is listed, the rest is
//! detected and then refused.

use e2e::{Proxy, Setup, run};
use testkit::client::{Client, Options, Value};
use testkit::mariadb::USER;

use super::WRITER;

/// What the manual says.
const LIST: [&str; 5] = [
    "INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) \
     SELECT DISTINCT 1, username, '', 'DETECTING', '' FROM mysql_users",
    "INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) \
     SELECT DISTINCT 1, username, '', schemaname, 0, digest, '' FROM stats_mysql_query_digest",
    "LOAD MYSQL FIREWALL TO RUNTIME",
    "SET mysql-firewall_whitelist_enabled = true",
    "LOAD MYSQL VARIABLES TO RUNTIME",
];

const UNLISTED: &str = "SELECT digest_text FROM stats_mysql_query_digest d WHERE NOT EXISTS \
     (SELECT 1 FROM mysql_firewall_whitelist_rules r WHERE r.active AND r.username = d.username \
     AND r.schemaname = d.schemaname AND r.digest = d.digest)";

const PROTECT: [&str; 2] =
    ["UPDATE mysql_firewall_whitelist_users SET mode = 'PROTECTING'", "LOAD MYSQL FIREWALL TO RUNTIME"];

/// What the application does.
async fn work(client: &mut Client, id: i64) {
    client.query(&format!("SELECT a FROM goods WHERE id = {id}")).await.unwrap();
    client.query("BEGIN").await.unwrap();
    client.query(&format!("INSERT INTO goods VALUES ({id}, 'it''s')")).await.unwrap();
    client.query("COMMIT").await.unwrap();
    let statement = client.prepare("SELECT COUNT(*) FROM goods WHERE a = ?").await.unwrap();
    client.execute(&statement, &[Value::from("x")]).await.unwrap();
    client.close(statement).await.unwrap();
}

async fn code(client: &mut Client, sql: &str) -> Option<u16> {
    client.query(sql).await.err().and_then(|error| error.code())
}

async fn global(admin: &mut Client, name: &str) -> u64 {
    let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    admin.query(&sql).await.unwrap().first().unwrap().parse().unwrap()
}

async fn all(admin: &mut Client, statements: &[&str]) {
    for sql in statements {
        admin.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

#[test]
fn what_has_run_is_listed_and_the_rest_detected_and_then_refused() {
    WRITER.sql("CREATE TABLE test.goods (id INT, a TEXT)");
    let setup = Setup::before(&WRITER.sandbox, &WRITER.server);
    let proxy = setup.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        work(&mut client, 1).await;
        let before = client.prepare("DELETE FROM goods WHERE id = ?").await.unwrap();
        all(&mut admin, &LIST).await;

        work(&mut client, 2).await;
        assert_eq!(global(&mut admin, "Firewall_detected").await, 0);
        client.query("SELECT a FROM goods WHERE id = 2 OR 1 = 1").await.unwrap();
        assert_eq!(global(&mut admin, "Firewall_detected").await, 1);
        let found = admin.query(UNLISTED).await.unwrap().first();
        assert_eq!(found.as_deref(), Some("SELECT a FROM goods WHERE id = ? OR ? = ?"));
        let line = proxy.wait_for_log("the firewall would refuse a statement");
        assert!(line.contains("OR ? = ?") && line.contains(USER), "{line}");

        all(&mut admin, &PROTECT).await;
        work(&mut client, 3).await;
        let more = [
            "SELECT a FROM goods WHERE id = 2 OR 1 = 1",
            "SELECT a FROM goods WHERE id = 3 /*! OR 1 = 1 */",
            "SELECT a FROM goods WHERE id = 3; DROP TABLE goods",
            "DROP TABLE goods",
        ];
        for sql in more {
            assert_eq!(code(&mut client, sql).await, Some(1148), "{sql}");
        }
        let refusal = client.execute(&before, &[Value::Int(1)]).await.unwrap_err();
        assert_eq!(refusal.code(), Some(1148), "it was prepared before the firewall was there");
        assert_eq!(global(&mut admin, "Firewall_refused").await, 5);
        work(&mut client, 4).await;
        assert_eq!(WRITER.sql("SELECT COUNT(*) FROM test.goods").trim(), "4");

        let explain = format!("POINTSMAN EXPLAIN ROUTE USER {USER} SCHEMA test DROP TABLE goods");
        let rows = admin.query(&explain).await.unwrap().text().unwrap();
        let row = rows.iter().find(|row| row[0].as_deref() == Some("firewall")).unwrap();
        assert_eq!(row[2].as_deref(), Some("PROTECTING for the user; not listed"));
    });
}
