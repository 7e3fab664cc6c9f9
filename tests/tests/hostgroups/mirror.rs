//! Copies of statements for a second server, in hostgroup 2.

use e2e::{Proxy, run};
use testkit::client::Client;
use tokio::task::JoinSet;

use super::{ONE, TWO, admin, setup, value, wait_for_value};

/// What a rule needs to be followed: a pattern, and the rest of its row in TOML.
fn rule(id: u32, pattern: &str, more: &str) -> String {
    format!("rule_id = {id}\nactive = true\nmatch_digest = '{pattern}'\nmirror_hostgroup = 2\n{more}")
}

const COMPARE: &str = "attributes = '{\"compare\": true}'";

fn start(rules: &[String]) -> Proxy {
    let setup = setup().server(&TWO.server, "hostgroup_id = 2");
    rules.iter().fold(setup, |setup, rule| setup.row("mysql_query_rules", rule)).start()
}

fn global(name: &str) -> String {
    format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'")
}

#[test]
fn every_write_is_copied() {
    const CLIENTS: u32 = 4;
    const ROUNDS: u32 = 50;
    for server in [&ONE, &TWO] {
        server.sql("CREATE TABLE test.audit (a INT)");
    }
    let proxy = start(&[rule(1, "^INSERT INTO audit", "")]);
    run(async {
        let mut admin = admin(&proxy).await;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let options = proxy.options().schema("test");
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                for n in 0..ROUNDS {
                    client.query(&format!("INSERT INTO audit VALUES ({n})")).await.unwrap();
                    client.query("SELECT 1").await.unwrap();
                }
            });
        }
        clients.join_all().await;
        let all = (CLIENTS * ROUNDS).to_string();
        wait_for_value(&mut admin, &global("Mirror_done"), &all).await;
        for name in ["Mirror_dropped", "Mirror_failed", "Mirror_concurrency", "Mirror_queue_length"] {
            assert_eq!(value(&mut admin, &global(name)).await, "0", "{name}");
        }
        for server in [&ONE, &TWO] {
            assert_eq!(server.sql("SELECT COUNT(*), SUM(a) FROM test.audit").trim(), "200\t4900");
        }
    });
}

#[test]
fn c24_clients_do_not_wait_for_a_mirror_that_hangs() {
    let proxy = start(&[rule(1, "^SELECT", "")]);
    run(async {
        let mut admin = admin(&proxy).await;
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        TWO.server.pause().unwrap();
        for n in 0..100 {
            assert_eq!(value(&mut client, &format!("SELECT {n}")).await, n.to_string());
        }
        TWO.server.resume().unwrap();
        let over = "SELECT SUM(Variable_Value) FROM stats_mysql_global \
                    WHERE Variable_Name IN ('Mirror_done', 'Mirror_failed')";
        wait_for_value(&mut admin, over, "100").await;
    });
}

#[test]
fn answers_are_compared_and_differences_reported() {
    ONE.sql(
        "CREATE TABLE test.same (a INT, b TEXT); INSERT INTO test.same VALUES (1, 'x'), (2, NULL), (3, '')",
    );
    TWO.sql(
        "CREATE TABLE test.same (a INT, b TEXT); INSERT INTO test.same VALUES (3, ''), (1, 'x'), (2, NULL)",
    );
    ONE.sql("CREATE TABLE test.other (a INT, b TEXT); INSERT INTO test.other VALUES (1, 'x'), (2, NULL)");
    TWO.sql("CREATE TABLE test.other (a INT, b TEXT); INSERT INTO test.other VALUES (1, 'x'), (2, '')");
    ONE.sql("CREATE TABLE test.here (a INT)");
    let proxy = start(&[rule(1, "^SELECT .* FROM", COMPARE)]);
    run(async {
        let mut admin = admin(&proxy).await;
        let mut client = Client::connect(&proxy.options().schema("test")).await.unwrap();
        let statements = [
            ("SELECT a, b FROM same", "0"),
            // Larger than every buffer.
            ("SELECT seq, REPEAT('x', 100) FROM seq_1_to_20000", "0"),
            ("SELECT a, b FROM other", "1"),
            ("SELECT a FROM here", "2"),
            ("SELECT a FROM nowhere", "2"),
        ];
        for (at, (sql, different)) in statements.iter().enumerate() {
            let answer = client.query(sql).await;
            assert_eq!(answer.is_err(), sql.contains("nowhere"), "{sql}");
            wait_for_value(&mut admin, &global("Mirror_compared"), &(at + 1).to_string()).await;
            assert_eq!(value(&mut admin, &global("Mirror_different")).await, *different, "{sql}");
        }
        let line = proxy.wait_for_log("answered differently");
        for part in ["digest=\"0x", "hostgroup 0: 2 rows, checksum 0x", "hostgroup 2: 2 rows, checksum 0x"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    });
}
