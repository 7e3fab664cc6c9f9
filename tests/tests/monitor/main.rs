//! Real servers that are watched: who writes, who lags, who does not answer, and what the admin port shows of it.

mod servers;
mod switch;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

/// May look at everything that the monitor looks at.
const WATCHER: &str = "watcher";

/// Cannot write where `read_only` is on.
const PLAIN: &str = "plain";

/// A server of a test's own.
fn backend() -> Backend {
    let backend = Backend::start(&["--log-bin=binlog"]);
    backend.sql(&format!(
        "CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION CLIENT, REPLICA MONITOR ON *.* TO {WATCHER}@'127.0.0.1'; \
         CREATE USER {PLAIN}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {PLAIN}@'127.0.0.1'; \
         CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))"
    ));
    backend
}

/// A proxy that watches, with an admin port.
fn setup(backend: &Backend) -> Setup {
    Setup::new(&backend.sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(PLAIN, PASSWORD, "default_schema = 'test'")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

/// A client of the proxy.
async fn client(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), PLAIN, PASSWORD).schema("test")).await.unwrap()
}

/// A connection to the admin port.
async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

/// The first value of a statement's result.
async fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).first().unwrap_or_default()
}

/// Waits until a statement's first value is this.
async fn wait_for_value(client: &mut Client, sql: &str, expected: &str) {
    let deadline = tokio::time::Instant::now() + e2e::WAIT_MAX;
    loop {
        let got = value(client, sql).await;
        if got == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{sql}: {got}, not {expected}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A number that no other row has.
fn next() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}
