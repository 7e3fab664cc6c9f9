//! Two proxies one behind the other, both with a query cache that follows the binary log, before
//! real servers: the outer one follows the log through the inner one, and stores what that has.

mod load;
mod relay;
mod switch;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, WAIT_MAX, admin, on_each_server, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;
use tokio::time::Instant;

use load::{
    c20_no_answer_stays_old_outside_if_the_inner_proxy_is_behind,
    c20_no_bounded_read_through_two_caches_is_beyond_the_bound,
    c20_no_strict_read_is_old_while_the_inner_proxy_is_killed, c20_no_strict_read_through_two_caches_is_old,
};
use switch::{
    an_inner_proxy_that_splits_is_not_followed, an_inner_proxy_with_a_rule_for_probes_is_not_followed,
    an_inner_proxy_with_several_servers_is_not_followed, c20_the_log_of_another_server_is_not_gone_on_with,
};

const USER: &str = "plain";

/// Writes do not wait for the disk: while they do, there are no hits.
const OPTIONS: [&str; 4] =
    ["--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--log-bin=binlog", "--server-id=7"];

static DB: LazyLock<Backend> = LazyLock::new(|| prepared(Backend::start(&OPTIONS)));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(mysql);

fn mysql() -> Option<Backend> {
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    Backend::start_mysql(&[&OPTIONS[..], &gtids].concat()).map(prepared)
}

fn prepared(server: Backend) -> Backend {
    let status = if server.is_mysql() { "REPLICATION CLIENT" } else { "BINLOG MONITOR" };
    server.sql(&format!(
        "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
         CREATE USER watch@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE, {status} ON *.* TO watch@'127.0.0.1'; \
         GRANT SELECT, TRIGGER ON test.* TO watch@'127.0.0.1'; \
         CREATE TABLE test.kept (id INT PRIMARY KEY, a INT); INSERT INTO test.kept VALUES (1, 0), (2, 0)"
    ));
    server
}

on_each_server! {
    c20_answers_of_an_inner_cache_are_stored_where_they_are_exact,
    c20_no_strict_read_through_two_caches_is_old,
    c20_no_bounded_read_through_two_caches_is_beyond_the_bound,
    c20_no_strict_read_is_old_while_the_inner_proxy_is_killed,
    c20_no_answer_stays_old_outside_if_the_inner_proxy_is_behind,
    c20_the_log_of_another_server_is_not_gone_on_with,
    an_inner_proxy_with_several_servers_is_not_followed,
    an_inner_proxy_that_splits_is_not_followed,
    an_inner_proxy_with_a_rule_for_probes_is_not_followed,
}

/// What `attributes` of a user say for a mode; nothing for no cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    None,
    Ttl,
    Own,
    Bounded,
    Strict,
}

impl Mode {
    fn attributes(self) -> String {
        let mode = match self {
            Self::None => return String::new(),
            Self::Ttl => r#""mode": "ttl""#,
            Self::Own => r#""mode": "own""#,
            Self::Bounded => r#""mode": "bounded", "max_staleness_ms": 100"#,
            Self::Strict => r#""mode": "strict""#,
        };
        format!("attributes = '{{\"cache\": {{\"ttl_ms\": 600000, {mode}}}}}'")
    }
}

/// A proxy without servers, whose user's reads are cached like this.
fn setup(server: &Backend, mode: Mode) -> Setup {
    Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .monitor("watch", PASSWORD)
        .user(USER, PASSWORD, &mode.attributes())
        .user("watch", PASSWORD, "")
}

/// The inner proxy, in front of the server.
fn inner(server: &Backend, mode: Mode) -> Proxy {
    setup(server, mode).server(&server.server, "").start()
}

/// The outer proxy, in front of what takes connections at this port.
fn outer(server: &Backend, port: u16, mode: Mode) -> Proxy {
    setup(server, mode).row("mysql_servers", &format!("hostname = \"127.0.0.1\"\nport = {port}")).start()
}

fn options(proxy: &Proxy) -> Options {
    Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&options(proxy)).await.unwrap()
}

/// The one value that a statement returns.
async fn value(client: &mut Client, sql: &str) -> String {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    // The value follows its length, which is short.
    String::from_utf8(result.rows[0][1..].to_vec()).unwrap()
}

/// A sum over the rows of `stats_pointsman_cache`.
async fn sum(operator: &mut Client, column: &str) -> u64 {
    let sql = format!("SELECT SUM({column}) FROM stats_pointsman_cache");
    admin::value(operator, &sql).await.parse().unwrap_or_default()
}

/// Reads until this cache answers.
async fn warm(operator: &mut Client, client: &mut Client, sql: &str) {
    let (before, deadline) = (sum(operator, "hits").await, Instant::now() + WAIT_MAX);
    while sum(operator, "hits").await == before {
        if Instant::now() > deadline {
            let why = "SELECT GROUP_CONCAT(refused || ' ' || not_stored) FROM stats_pointsman_cache";
            let why = admin::value(operator, why).await;
            let reason = admin::value(operator, "SELECT reason FROM stats_pointsman_sources").await;
            panic!("no hit: {why}; {reason}");
        }
        value(client, sql).await;
    }
}

fn c20_answers_of_an_inner_cache_are_stored_where_they_are_exact(server: &Backend) {
    let pairs = [
        (Mode::Strict, Mode::Strict, true),
        (Mode::Bounded, Mode::Strict, true),
        (Mode::Bounded, Mode::Bounded, true),
        (Mode::Own, Mode::Bounded, true),
        (Mode::Strict, Mode::Ttl, false),
        (Mode::Own, Mode::Own, false),
    ];
    for (outside, inside, is_stored) in pairs {
        let inner = inner(server, inside);
        let outer = outer(server, inner.tcp().port(), outside);
        run(async {
            let (mut near, mut far) = (connect(&inner).await, connect(&outer).await);
            let (mut at_inner, mut at_outer) = (admin::connect(&inner).await, admin::connect(&outer).await);
            let deadline = Instant::now() + WAIT_MAX;
            for attempt in 0.. {
                assert!(Instant::now() < deadline, "{outside:?} before {inside:?}");
                let sql = format!("SELECT a + 0 * {attempt} FROM kept WHERE id = 1");
                warm(&mut at_inner, &mut near, &sql).await;
                let hits = sum(&mut at_inner, "hits").await;
                if is_stored {
                    warm(&mut at_outer, &mut far, &sql).await;
                } else {
                    value(&mut far, &sql).await;
                }
                // Definitions of other tests make answers too old.
                if sum(&mut at_inner, "hits").await > hits && (is_stored || refuses(&mut at_outer).await) {
                    break;
                }
            }
            if !is_stored {
                assert_eq!(sum(&mut at_outer, "hits").await, 0);
            }
        });
    }
}

/// Whether the outer cache has not stored an answer of the inner one.
async fn refuses(operator: &mut Client) -> bool {
    let sql = "SELECT SUM(not_stored LIKE '%exact as of no moment%') > 0 FROM stats_pointsman_cache";
    admin::value(operator, sql).await == "1"
}
