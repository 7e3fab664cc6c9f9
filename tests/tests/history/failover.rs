//! A hostgroup that gets another server, which lacks the last transactions of the one before.

use e2e::{Backend, Proxy, Setup, admin, run};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

use crate::faults::alone;
use crate::load::prepare;
use crate::world::fresh_schema;

/// What is read: of a table that both servers write to, and of one that only the first one does.
const READ: &str = "SELECT v FROM plain WHERE id = 1";
const READ_LOST: &str = "SELECT v FROM held WHERE id = 1";
/// A user whose hostgroup has the second server from the beginning.
const ELSEWHERE: &str = "elsewhere";
/// Reads until there is a hit, at most.
const READS_MAX: usize = 10_000;
/// Writes at the second server, each with a read.
const WRITES: usize = 50;

#[test]
fn c20_no_answer_from_lost_transactions_is_served_on_mariadb() {
    alone(false, |server| in_all_modes(server, &crate::DB));
}

#[test]
fn c20_no_answer_from_lost_transactions_is_served_on_mysql() {
    if let Some(second) = e2e::mysql_or_skip(&crate::MYSQL) {
        alone(true, |server| in_all_modes(server, second));
    }
}

/// A failover from the first server to the second one.
pub(crate) fn in_all_modes(first: &Backend, second: &Backend) {
    for mode in ["strict", "bounded"] {
        for is_followed in [false, true] {
            run(Failover::new(first, second, mode).play(is_followed));
        }
    }
}

/// A proxy with a server in hostgroup 0, and its successor in hostgroup 1.
struct Failover<'a> {
    first: &'a Backend,
    second: &'a Backend,
    schema: String,
    proxy: Proxy,
    is_strict: bool,
}

impl<'a> Failover<'a> {
    fn new(first: &'a Backend, second: &'a Backend, mode: &str) -> Self {
        let schema = fresh_schema();
        for server in [first, second] {
            prepare(server, &schema);
        }
        second.sql(&format!(
            "CREATE USER IF NOT EXISTS {ELSEWHERE}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON *.* TO {ELSEWHERE}@'127.0.0.1'"
        ));
        let rule =
            "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT\"\ncache_ttl = 3600000\napply = true";
        let proxy = Setup::new(&first.sandbox)
            .server(&first.server, "")
            .server(&second.server, "hostgroup_id = 1")
            .user(USER, PASSWORD, "")
            .user(ELSEWHERE, PASSWORD, "default_hostgroup = 1")
            .monitor(USER, PASSWORD)
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .row(
                "mysql_query_rules",
                &format!("{rule}\nattributes = '{{\"cache\": {{\"mode\": \"{mode}\"}}}}'"),
            )
            .start();
        Self { first, second, schema, proxy, is_strict: mode == "strict" }
    }

    /// `is_followed`: the second server's log is followed before the failover.
    async fn play(&self, is_followed: bool) {
        let mut client = self.connect(USER).await;
        let mut operator = admin::connect(&self.proxy).await;
        if is_followed {
            self.read_until_hit(&mut self.connect(ELSEWHERE).await, READ).await;
        }
        for (table, sql) in [("plain", READ), ("held", READ_LOST)] {
            self.write(self.first, table, 7).await;
            while self.read_until_hit(&mut client, sql).await != "7" {}
        }
        let servers =
            format!("UPDATE mysql_servers SET port = {} WHERE hostgroup_id = 0", self.second.server.port());
        operator.query(&servers).await.unwrap();
        operator.query("LOAD MYSQL SERVERS TO RUNTIME").await.unwrap();
        // Sessions from before may still have a connection to the first server.
        client = self.connect(USER).await;
        for sql in [READ, READ_LOST] {
            assert_eq!(value(&mut client, sql).await, "1", "the second server has not had the write");
        }
        for version in 2..2 + WRITES {
            self.write(self.second, "plain", version).await;
            let seen: usize = value(&mut client, READ).await.parse().unwrap();
            assert!(seen == version || !self.is_strict && seen < version, "{seen}, not {version}");
        }
        for sql in [READ, READ_LOST] {
            assert_ne!(self.read_until_hit(&mut client, sql).await, "7", "it is from the first server");
        }
    }

    async fn connect(&self, user: &str) -> Client {
        Client::connect(&Options::tcp(self.proxy.tcp(), user, PASSWORD).schema(&self.schema)).await.unwrap()
    }

    /// Writes a version at a server itself.
    async fn write(&self, server: &Backend, table: &str, version: usize) {
        let options = Options::tcp(server.server.address(), USER, PASSWORD).schema(&self.schema);
        let mut direct = Client::connect(&options).await.unwrap();
        direct.query(&format!("UPDATE {table} SET v = {version} WHERE id = 1")).await.unwrap();
    }

    /// Reads until an answer comes from the cache; returns it.
    async fn read_until_hit(&self, client: &mut Client, sql: &str) -> String {
        let mut operator = admin::connect(&self.proxy).await;
        let hits = "SELECT COALESCE(SUM(hits), 0) FROM stats_pointsman_cache";
        let before = admin::value(&mut operator, hits).await;
        for _ in 0..READS_MAX {
            let seen = value(client, sql).await;
            if admin::value(&mut operator, hits).await != before {
                return seen;
            }
        }
        panic!("there are no hits");
    }
}

async fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).await.unwrap().first().unwrap()
}
