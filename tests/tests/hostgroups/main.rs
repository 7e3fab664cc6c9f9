//! Hostgroups of two servers: which one is chosen, and copies of statements for the other.

mod choice;
mod mirror;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};

static ONE: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static TWO: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// A proxy with an admin port in front of the first server, in hostgroup 0.
fn setup() -> Setup {
    Setup::before(&ONE.sandbox, &ONE.server).admin("mysql_ifaces", "\"127.0.0.1:0\"")
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
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
