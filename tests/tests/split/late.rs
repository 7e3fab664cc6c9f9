//! Write-read pairs over different connections of a user, while a replica is always late: the bytes
//! of its primary take [`LATE`].
//!
//! `make test` has some hundred pairs; `make soak-causal PAIRS=10000` as many as are wanted.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use e2e::{Proxy, run};
use testkit::client::{Client, Options, Value};
use testkit::server::PASSWORD;

use super::causal::Replicated;
use super::link::Link;
use super::value;

/// How late the replica is, besides what it takes to replay.
const LATE: Duration = Duration::from_millis(50);
/// How long a read waits for the replica: about as long as the replica takes.
const WAIT_MS: u32 = 50;
/// Users, each with a connection that writes and one that reads.
const USERS: u32 = 8;
/// Pairs of `make test`.
const PAIRS: u32 = 400;
/// Pairs of `make soak-causal`, if nothing else is said.
const LONG_PAIRS: u32 = 10_000;
/// Pairs of a round: a test has three minutes for it.
const ROUND: u32 = 2_000;
/// How often a test looks whether the replica has a write.
const LOOK: Duration = Duration::from_millis(5);
/// One in so many pairs reads when the replica has the write: the next read is sent with its
/// question.
const CAUGHT_UP: u32 = 4;

#[test]
fn c12_no_read_at_a_late_replica_is_old_on_mariadb() {
    check(&Replicated::on_mariadb(late), PAIRS);
}

#[test]
fn c12_no_read_at_a_late_replica_is_old_on_mysql() {
    if let Some(pair) = Replicated::on_mysql(late) {
        check(&pair, PAIRS);
    }
}

#[test]
#[ignore = "takes minutes"]
fn soak_on_mariadb() {
    check(&Replicated::on_mariadb(late), long_pairs());
}

#[test]
#[ignore = "takes minutes"]
fn soak_on_mysql() {
    if let Some(pair) = Replicated::on_mysql(late) {
        check(&pair, long_pairs());
    }
}

fn long_pairs() -> u32 {
    std::env::var("POINTSMAN_CAUSAL_PAIRS").map_or(LONG_PAIRS, |pairs| pairs.parse().unwrap())
}

/// The port at which the primary is late.
fn late(primary: u16) -> u16 {
    Link::start(SocketAddr::from(([127, 0, 0, 1], primary)), LATE).port()
}

/// Counters of the proxy that are printed. A connection that is opened in the middle stands for one
/// that was given up.
const COUNTERS: [&str; 6] = [
    "Causal_reads",
    "Causal_reads_had",
    "Causal_reads_waited",
    "Causal_reads_to_writer",
    "Causal_transactions_lost",
    "Server_Connections_created",
];

/// What came of the pairs of one user.
#[derive(Debug, Default)]
struct Outcome {
    /// Reads that did not see the write.
    stale: u32,
    /// Reads at the primary.
    at_primary: u32,
    /// How long each read took.
    took: Vec<Duration>,
    /// How long reads took that need not see anything: what the machine itself is late.
    took_plain: Vec<Duration>,
}

fn check(pair: &Replicated, pairs: u32) {
    let users: Vec<String> = (0..USERS).map(|at| format!("pair{at}")).collect();
    for (at, user) in users.iter().enumerate() {
        pair.primary.sql(&format!(
            "CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {user}@'127.0.0.1'; \
             INSERT INTO test.t VALUES ({}, 0)",
            at + 100
        ));
    }
    let last = format!("SELECT COUNT(*) FROM test.t WHERE id = {}", 99 + users.len());
    while !pair.replica.sql(&last).contains('1') {}
    let mut setup = pair.setup("user", WAIT_MS, "").admin("mysql_ifaces", "\"127.0.0.1:0\"");
    for user in &users {
        setup = setup.user(user, PASSWORD, "");
    }
    let proxy = setup.start();
    let replica = SocketAddr::from(([127, 0, 0, 1], pair.replica.server.port()));
    let mut all = Outcome::default();
    while all.took.len() < pairs as usize {
        let first = u32::try_from(all.took.len()).unwrap();
        let each = (pairs - first).min(ROUND).div_ceil(USERS);
        let of_one = |(id, user): (u32, &String)| {
            tokio::spawn(load([proxy.tcp(), replica], user.clone(), id, first + 1..=first + each))
        };
        run(async {
            let tasks: Vec<_> = (100..).zip(&users).map(of_one).collect();
            for task in tasks {
                let outcome = task.await.unwrap();
                all.stale += outcome.stale;
                all.at_primary += outcome.at_primary;
                all.took.extend(outcome.took);
                all.took_plain.extend(outcome.took_plain);
            }
        });
    }
    run(report(&proxy, &mut all));
    assert_eq!(all.stale, 0, "of {} reads", all.took.len());
}

/// The pairs of one user, at a row of its own: half of the reads are text, half are prepared.
async fn load(
    [proxy, replica]: [SocketAddr; 2],
    user: String,
    id: u32,
    values: RangeInclusive<u32>,
) -> Outcome {
    let connect =
        async |to| Client::connect(&Options::tcp(to, &user, PASSWORD).schema("test")).await.unwrap();
    let (mut writer, mut reader) = (connect(proxy).await, connect(proxy).await);
    let mut at_replica = connect(replica).await;
    let read = "SELECT CONCAT(n, ' at the ', name) FROM t, who WHERE id = ";
    let statement = reader.prepare(&format!("{read}?")).await.unwrap();
    let text = format!("{read}{id}");
    let mut outcome = Outcome::default();
    for n in values {
        writer.query(&format!("UPDATE t SET n = {n} WHERE id = {id}")).await.unwrap();
        if n % CAUGHT_UP == 0 {
            while !value(&mut at_replica, &text).await.starts_with(&format!("{n} ")) {
                tokio::time::sleep(LOOK).await;
            }
        }
        let begun = Instant::now();
        let answer = if n % 2 == 0 {
            value(&mut reader, &text).await
        } else {
            let result = reader.execute(&statement, &[Value::Int(id.into())]).await.unwrap();
            // A byte for the kind of packet, one for what is NULL, the length of the text.
            String::from_utf8(result.rows[0][3..].to_vec()).unwrap()
        };
        outcome.took.push(begun.elapsed());
        let begun = Instant::now();
        value(&mut reader, "SELECT /* causal_reads=off */ 1").await;
        outcome.took_plain.push(begun.elapsed());
        outcome.stale += u32::from(!answer.starts_with(&format!("{n} ")));
        outcome.at_primary += u32::from(answer.ends_with("primary"));
    }
    outcome
}

/// Prints how long reads took, and what the proxy has counted.
async fn report(proxy: &Proxy, all: &mut Outcome) {
    let mut admin = e2e::admin::connect(proxy).await;
    let mut counts = Vec::new();
    for name in COUNTERS {
        let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
        counts.push(format!("{name} {}", e2e::admin::value(&mut admin, &sql).await));
    }
    println!(
        "{} pairs, {} stale, {} at the primary\nreads: {}\nwithout writes to see: {}\n{}",
        all.took.len(),
        all.stale,
        all.at_primary,
        times(&mut all.took),
        times(&mut all.took_plain),
        counts.join(", ")
    );
}

/// How long most took, and how long the longest.
fn times(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let at = |permille: usize| took[(took.len() - 1) * permille / 1_000];
    let [half, most, nearly_all, all] = [500, 990, 999, 1_000].map(at);
    format!("{half:?} (p50), {most:?} (p99), {nearly_all:?} (p99.9), {all:?} at most")
}
