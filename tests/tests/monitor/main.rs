//! Real servers that are watched: who writes, who lags, who does not answer, and what the admin
//! port shows of it.

mod conflicts;
mod lag;
mod servers;
mod switch;

use std::sync::atomic::{AtomicU32, Ordering};

use e2e::admin::{connect as admin, value, wait_for_value};
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

/// A number that no other row has.
fn next() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// Runs all of them on this task.
async fn join_all<T>(all: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, outcome) in &mut running {
            if outcome.is_none()
                && let std::task::Poll::Ready(done) = future.as_mut().poll(cx)
            {
                *outcome = Some(done);
            }
        }
        if running.iter().all(|(_, outcome)| outcome.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
