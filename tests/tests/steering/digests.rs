//! Statements by digest, as the admin port shows them, against what was sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use e2e::{Setup, run};
use testkit::client::{Client, Options, Value};
use tokio::task::JoinSet;

use super::{DB, admin, number, start, tell, value};

const CLIENTS: u64 = 8;
const ROUNDS: u64 = 50;

/// All rows of a statement's result, cells of one with `|` between them.
async fn rows(admin: &mut Client, sql: &str) -> Vec<String> {
    let result = admin.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join("|")
    };
    result.text().unwrap().into_iter().map(text).collect()
}

/// What a client does: 7 statements that succeed, 1 that fails, 1 that is prepared and executed
/// twice.
async fn work(client: &mut Client, round: u64) {
    tell(
        client,
        &[
            &format!("INSERT INTO shop_digests.t VALUES ({round}), ({round})"),
            &format!("UPDATE shop_digests.t SET a = {round} WHERE 1 = {round}"),
            &format!("SELECT {round} UNION ALL SELECT {round}"),
            &format!("SELECT 'x{round}', {round}"),
            &format!("SELECT  'y{round}' ,  -{round}  -- nothing"),
            "select DATE'2024-01-01', TIMESTAMP '2024-01-01 00:00:00'",
            "DO 1",
        ],
    )
    .await;
    client.query(&format!("SELECT no_such_column + {round}")).await.unwrap_err();
    let statement = client.prepare("SELECT ? + 1").await.unwrap();
    for n in 0..2_i64 {
        client.execute(&statement, &[Value::Int(n)]).await.unwrap();
    }
    client.close(statement).await.unwrap();
}

#[test]
fn every_execution_is_counted_under_its_digest() {
    run(async {
        DB.sql("CREATE DATABASE shop_digests; CREATE TABLE shop_digests.t (a BIGINT)");
        let proxy = start();
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let options = proxy.options();
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                for round in 0..ROUNDS {
                    work(&mut client, round).await;
                }
                client
            });
        }
        let clients = clients.join_all().await;
        let mut admin = admin(&proxy).await;
        let n = CLIENTS * ROUNDS;
        assert_eq!(number(&mut admin, "SELECT SUM(count_star) FROM stats_mysql_query_digest").await, 10 * n);
        let shown = rows(
            &mut admin,
            "SELECT digest_text, count_star, sum_rows_sent, sum_rows_affected FROM stats_mysql_query_digest \
             WHERE hostgroup = 0 AND schemaname = 'test' AND username = 'app' AND client_address = '' \
             AND digest_text NOT LIKE 'UPDATE%' ORDER BY digest_text",
        )
        .await;
        let twice = 2 * n;
        let expected = [
            format!("DO ?|{n}|0|0"),
            format!("INSERT INTO shop_digests.t VALUES (?),(?)|{n}|0|{twice}"),
            format!("SELECT ? UNION ALL SELECT ?|{n}|{twice}|0"),
            format!("SELECT ?+?|{twice}|{twice}|0"),
            format!("SELECT ?,?|{twice}|{twice}|0"),
            // ProxySQL takes the sign for the number's.
            format!("SELECT no_such_column ?|{n}|0|0"),
            format!("select DATE?,TIMESTAMP ?|{n}|{n}|0"),
        ];
        assert_eq!(shown, expected);
        let hash = "SELECT digest FROM stats_mysql_query_digest WHERE digest_text LIKE 'select DATE%'";
        assert_eq!(value(&mut admin, hash).await, "0xB84D1DA36E9C0020", "ProxySQL's");
        let odd = "SELECT COUNT(*) FROM stats_mysql_query_digest WHERE min_time > max_time OR sum_time < max_time \
                   OR sum_time > count_star * max_time OR first_seen > last_seen OR first_seen < 1700000000";
        assert_eq!(number(&mut admin, odd).await, 0);
        let odd = "SELECT COUNT(*) FROM stats_pointsman_digest_latency WHERE NOT (0 < p50_us AND p50_us <= p95_us \
                   AND p95_us <= p99_us AND p99_us <= p999_us AND p999_us <= max_us AND min_us <= p50_us) \
                   OR errors <> count_star * (digest_text LIKE '%no_such%')";
        assert_eq!(number(&mut admin, odd).await, 0);
        let bytes = "SELECT bytes_received / count_star, bytes_sent / count_star FROM stats_pointsman_digest_latency \
                     WHERE digest_text = 'DO ?'";
        // A header and an OK packet.
        assert_eq!(rows(&mut admin, bytes).await, ["5|11"]);
        drop(clients);
    });
}

#[test]
fn a_reset_loses_nothing_while_statements_run() {
    run(async {
        let proxy = start();
        let mut clients = JoinSet::new();
        let done = Arc::new(AtomicBool::new(false));
        for n in 0..CLIENTS {
            let (options, done) = (proxy.options(), Arc::clone(&done));
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                let mut sent = 0;
                while !done.load(Ordering::Relaxed) {
                    tell(&mut client, &[&format!("SELECT c{n} FROM (SELECT 1 AS c{n}) t")]).await;
                    sent += 1;
                }
                sent
            });
        }
        let mut admin = admin(&proxy).await;
        let sum = "SELECT COALESCE(SUM(count_star), 0) FROM stats_mysql_query_digest_reset";
        let (mut counted, mut resets) = (0, 0);
        while counted < 5_000 || resets < 20 {
            counted += number(&mut admin, sum).await;
            resets += 1;
        }
        done.store(true, Ordering::Relaxed);
        let sent: u64 = clients.join_all().await.into_iter().sum();
        counted += number(&mut admin, sum).await;
        assert_eq!(counted, sent);
        assert_eq!(rows(&mut admin, "SELECT * FROM stats_mysql_query_digest").await, [""; 0]);
    });
}

#[test]
fn c07_statements_count_under_the_schema_that_the_session_has() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options().schema("mysql")).await.unwrap();
        tell(&mut client, &["DO 1"]).await;
        client.query("USE no_such_schema").await.unwrap_err();
        client.init_db("no_such_schema_either").await.unwrap_err();
        tell(&mut client, &["DO 1", "USE information_schema", "DO 1"]).await;
        client.init_db("mysql").await.unwrap();
        tell(&mut client, &["DO 1"]).await;
        let mut admin = admin(&proxy).await;
        let sql = "SELECT schemaname, count_star FROM stats_mysql_query_digest WHERE digest_text = 'DO ?'";
        assert_eq!(rows(&mut admin, sql).await, ["information_schema|1", "mysql|3"]);
    });
}

#[test]
fn statements_count_where_they_went_as_what_the_client_sent() {
    run(async {
        let proxy = Setup::before(&DB.sandbox, &DB.server)
            .server(&DB.server, "hostgroup_id = 1")
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .start();
        let (mut client, mut admin) = (Client::connect(&proxy.options()).await.unwrap(), admin(&proxy).await);
        let rules = "INSERT INTO mysql_query_rules \
                     (rule_id, active, match_pattern, match_digest, replace_pattern, destination_hostgroup, apply) VALUES \
                     (1, 1, '^SELECT 7$', NULL, 'SELECT 8, 9', NULL, 1), (2, 1, NULL, '^SELECT c ', NULL, 1, 1)";
        tell(&mut admin, &[rules, "LOAD MYSQL QUERY RULES TO RUNTIME"]).await;
        assert_eq!(rows(&mut client, "SELECT 7").await, ["8|9"]);
        let elsewhere = "SELECT c FROM (SELECT 5 AS c) t";
        tell(&mut client, &["SELECT 6", elsewhere, "DO 1", elsewhere]).await;
        let here = client.prepare("DO ?").await.unwrap();
        let there = client.prepare("SELECT c FROM (SELECT ? AS c) t").await.unwrap();
        for statement in [&here, &there, &here] {
            client.execute(statement, &[Value::Int(1)]).await.unwrap();
        }
        tell(&mut client, &["SELECT CONNECTION_ID()"]).await;
        let sql = "SELECT hostgroup, digest_text, count_star FROM stats_mysql_query_digest ORDER BY 1, 2";
        let expected =
            ["0|DO ?|3", "0|SELECT ?|2", "0|SELECT CONNECTION_ID()|1", "1|SELECT c FROM (SELECT ? AS c) t|3"];
        assert_eq!(rows(&mut admin, sql).await, expected);
    });
}

#[test]
fn variables_hold_for_the_next_statements() {
    run(async {
        let proxy = start();
        let (mut client, mut admin) = (Client::connect(&proxy.options()).await.unwrap(), admin(&proxy).await);
        let set = async |admin: &mut Client, name: &str, on: bool| {
            let set = format!("SET mysql-query_digests{name} = {on}");
            tell(admin, &[&set, "LOAD MYSQL VARIABLES TO RUNTIME"]).await;
        };
        tell(&mut client, &["DO 1 /* x */"]).await;
        set(&mut admin, "_track_hostname", true).await;
        tell(&mut client, &["DO 1", "DO 1"]).await;
        set(&mut admin, "_lowercase", true).await;
        tell(&mut client, &["DO 1", "SELECT /* x */ 1"]).await;
        set(&mut admin, "_keep_comment", true).await;
        tell(&mut client, &["SELECT /* x */ 1"]).await;
        set(&mut admin, "", false).await;
        tell(&mut client, &["DO 1"]).await;
        let sql =
            "SELECT digest_text, client_address, count_star FROM stats_mysql_query_digest ORDER BY 1, 2";
        let expected = [
            "DO ?||1",
            "DO ?|127.0.0.1|2",
            "do ?|127.0.0.1|1",
            "select /* x */ ?|127.0.0.1|1",
            "select ?|127.0.0.1|1",
        ];
        assert_eq!(rows(&mut admin, sql).await, expected);
    });
}

#[test]
fn c29_digests_have_a_budget_of_memory() {
    run(async {
        let proxy = Setup::before(&DB.sandbox, &DB.server)
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .variable("query_digests_max_memory", 1 << 20)
            .start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for n in 0..3_000 {
            tell(&mut client, &[&format!("SELECT 1 AS c{n}"), "SELECT 1"]).await;
        }
        let mut admin = admin(&proxy).await;
        let of = |table: &str, name: &str| {
            format!("SELECT Variable_Value FROM {table} WHERE Variable_Name = '{name}'")
        };
        let memory = number(&mut admin, &of("stats_memory_metrics", "query_digest_memory")).await;
        assert!((1 << 18..=1 << 20).contains(&memory), "{memory}");
        let kept = number(&mut admin, &of("stats_mysql_global", "Query_digests")).await;
        let evicted = number(&mut admin, &of("stats_mysql_global", "Query_digests_evicted")).await;
        assert_eq!(kept + evicted, 3_001);
        assert!(kept > 500 && evicted > 500, "{kept} {evicted}");
        assert_eq!(number(&mut admin, "SELECT COUNT(*) FROM stats_mysql_query_digest").await, kept);
        let often = "SELECT count_star FROM stats_mysql_query_digest WHERE digest_text = 'SELECT ?'";
        assert_eq!(number(&mut admin, often).await, 3_000, "it was used all the time");
    });
}

#[test]
fn digests_are_moved_into_the_history_or_forgotten() {
    run(async {
        let proxy = start();
        let (mut client, mut admin) = (Client::connect(&proxy.options()).await.unwrap(), admin(&proxy).await);
        tell(&mut client, &["DO 1", "SELECT 1", "SELECT 2"]).await;
        assert_eq!(admin.query("SAVE MYSQL DIGEST TO DISK").await.unwrap().affected_rows, 2);
        let saved = "SELECT digest_text, count_star, dump_time >= last_seen \
                     FROM stats_history.history_mysql_query_digest ORDER BY 1";
        assert_eq!(rows(&mut admin, saved).await, ["DO ?|1|1", "SELECT ?|2|1"]);
        let all = "SELECT * FROM stats_mysql_query_digest";
        assert_eq!(rows(&mut admin, all).await, [""; 0]);
        tell(&mut client, &["DO 1"]).await;
        let mut stats = Client::connect(&Options::tcp(proxy.admin(), "stats", "stats")).await.unwrap();
        assert_eq!(rows(&mut stats, all).await.len(), 1, "statistics accounts see them");
        tell(&mut admin, &["TRUNCATE TABLE stats.stats_mysql_query_digest_reset"]).await;
        assert_eq!(rows(&mut admin, all).await, [""; 0]);
    });
}

/// The times of statements until `done`, in microseconds, sorted: 16 clients send about 3,000 a
/// second, so that processor time is left for others, and waiting is measured and not the lack of
/// it.
async fn load(options: Options, done: Arc<AtomicBool>) -> Vec<u128> {
    let mut clients = JoinSet::new();
    for _ in 0..16 {
        let (options, done) = (options.clone(), Arc::clone(&done));
        clients.spawn(async move {
            let mut client = Client::connect(&options).await.unwrap();
            let mut times = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                tell(&mut client, &["SELECT 1"]).await;
                times.push(start.elapsed().as_micros());
                tokio::time::sleep(Duration::from_millis(4)).await;
            }
            times
        });
    }
    let mut times = clients.join_all().await.concat();
    times.sort_unstable();
    times
}

#[test]
#[ignore = "prints times; run it in a release build"]
fn reading_100_000_digests_does_not_stop_traffic() {
    run(async {
        const DIGESTS: usize = 100_000;
        let proxy = start();
        let mut clients = JoinSet::new();
        for part in 0..8 {
            let options = proxy.options();
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                for n in (0..DIGESTS).filter(|n| n % 8 == part) {
                    tell(&mut client, &[&format!("SELECT 1 AS c{n}")]).await;
                }
            });
        }
        clients.join_all().await;
        let mut admin = admin(&proxy).await;
        for reads in [false, true, false, true] {
            let done = Arc::new(AtomicBool::new(false));
            let traffic = tokio::spawn(load(proxy.options(), Arc::clone(&done)));
            let (start, mut read, mut slowest) = (Instant::now(), 0, Duration::ZERO);
            while start.elapsed() < Duration::from_secs(6) {
                if reads {
                    let begin = Instant::now();
                    let rows = number(&mut admin, "SELECT COUNT(*) FROM stats_mysql_query_digest").await;
                    assert!(rows >= DIGESTS as u64);
                    (read, slowest) = (read + 1, slowest.max(begin.elapsed()));
                } else {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            done.store(true, Ordering::Relaxed);
            let times = traffic.await.unwrap();
            let of = |part: usize| times[times.len() * part / 1000];
            println!(
                "{read} readings (slowest {slowest:?}): {} statements, p50 {} us, p99 {} us, p99.9 {} us, max {} us",
                times.len(),
                of(500),
                of(990),
                of(999),
                times[times.len() - 1]
            );
        }
    });
}
