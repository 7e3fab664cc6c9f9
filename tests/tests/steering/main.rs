//! Steering the proxy through its admin port while clients use it: another configuration, orders,
//! and counters against what was sent.

mod counters;
mod digests;
mod limits;
mod orders;
mod prepared;
mod runtime;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// A proxy with an admin port.
fn start() -> Proxy {
    Setup::before(&DB.sandbox, &DB.server).admin("mysql_ifaces", "\"127.0.0.1:0\"").start()
}

/// A connection to the admin port.
async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

/// Runs statements of an admin.
async fn tell(admin: &mut Client, statements: &[&str]) {
    for statement in statements {
        admin.query(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// The first value of a statement's result, a number.
async fn number(admin: &mut Client, sql: &str) -> u64 {
    let value = admin.query(sql).await.unwrap().first().unwrap_or_default();
    value.parse().unwrap_or_else(|_| panic!("{sql}: {value:?}"))
}

/// The first value of a statement's result.
async fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).first().unwrap_or_default()
}
