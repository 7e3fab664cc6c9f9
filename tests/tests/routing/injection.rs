//! The search for injected SQL as the manual sets it up: first it only counts, then fingerprints
//! are listed, then the rest is refused.

use e2e::{Proxy, Setup, run};
use testkit::client::{Client, Options};
use testkit::mariadb::USER;

use super::{WRITER, ask};

const DETECT: [&str; 4] = [
    "SET pointsman-sqli_detect_only = true",
    "LOAD POINTSMAN VARIABLES TO RUNTIME",
    "SET mysql-automatic_detect_sqli = true",
    "LOAD MYSQL VARIABLES TO RUNTIME",
];

const FINGERPRINTS: &str = "SELECT DISTINCT f.fingerprint, f.found, f.passed, d.digest_text FROM stats_pointsman_sqli_fingerprints f \
     LEFT JOIN stats_mysql_query_digest d ON d.digest = f.digest";

const REFUSE: [&str; 7] = [
    "INSERT OR IGNORE INTO mysql_firewall_whitelist_sqli_fingerprints (active, fingerprint) \
     SELECT 1, fingerprint FROM stats_pointsman_sqli_fingerprints",
    "LOAD MYSQL FIREWALL TO RUNTIME",
    "SET pointsman-sqli_detect_only = false",
    "LOAD POINTSMAN VARIABLES TO RUNTIME",
    "SAVE MYSQL FIREWALL TO DISK",
    "SAVE MYSQL VARIABLES TO DISK",
    "SAVE POINTSMAN VARIABLES TO DISK",
];

/// Fingerprint `Enknk`.
const PLAIN: &str = "SELECT a FROM notes WHERE id = 1";
/// Fingerprint `s&1c`: what stands in the string.
const FOUND: &str = "INSERT INTO notes VALUES (' or 1=1 -- ')";

async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

async fn all(admin: &mut Client, statements: &[&str]) {
    for sql in statements {
        admin.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// How many statements were found, and how many of them had a fingerprint that is listed.
async fn counts(admin: &mut Client) -> [String; 2] {
    let metrics = admin.query("SHOW PROMETHEUS METRICS").await.unwrap().first().unwrap();
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is no metric")).to_owned()
    };
    ["automatic_detected_sql_injection", "whitelisted_sqli_fingerprint"]
        .map(|name| value(&format!("proxysql_{name}_total")))
}

#[test]
fn injected_sql_is_counted_then_listed_and_the_rest_refused() {
    WRITER.sql("CREATE TABLE test.notes (id INT AUTO_INCREMENT PRIMARY KEY, a TEXT)");
    let setup = Setup::before(&WRITER.sandbox, &WRITER.server);
    let proxy = setup.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        client.query(PLAIN).await.unwrap();
        all(&mut admin, &DETECT).await;
        client.query(PLAIN).await.unwrap();
        assert_eq!(counts(&mut admin).await, ["1", "0"]);
        let line = proxy.wait_for_log("a statement looks like injected SQL");
        for part in ["Enknk", "SELECT a FROM notes WHERE id = ?", USER] {
            assert!(line.contains(part), "{part} in {line}");
        }

        let found = admin.query(FINGERPRINTS).await.unwrap().text().unwrap();
        let row = ["Enknk", "1", "0", "SELECT a FROM notes WHERE id = ?"];
        assert_eq!(found, [row.map(|cell| Some(cell.to_owned())).to_vec()]);

        all(&mut admin, &REFUSE).await;
        client.query(PLAIN).await.unwrap();
        assert_eq!(counts(&mut admin).await, ["1", "1"]);
        let refusal = client.query(FOUND).await.unwrap_err();
        assert_eq!(refusal.code(), Some(1148), "{refusal}");
        assert!(client.query("SELECT 1").await.is_err(), "the connection is closed");
        assert_eq!(counts(&mut admin).await, ["2", "1"]);
        let seen = ask(&proxy, FOUND);
        assert!(
            seen.stderr.contains("ERROR 1148") && seen.stderr.contains("(fingerprint s&1c)"),
            "{}",
            seen.stderr
        );
        assert_eq!(WRITER.sql("SELECT COUNT(*) FROM test.notes").trim(), "0");

        let explain = format!("POINTSMAN EXPLAIN ROUTE USER {USER} SCHEMA test {FOUND}");
        let rows = admin.query(&explain).await.unwrap().text().unwrap();
        let row = rows.iter().find(|row| row[0].as_deref() == Some("injected SQL")).unwrap();
        assert_eq!(row[2].as_deref(), Some("fingerprint s&1c; the connection would be closed"));
    });
}
