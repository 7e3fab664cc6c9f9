//! The admin port of a running proxy: the classic set-up by statements alone, orders, programs and
//! drivers.

mod collations;
mod drivers;
mod faults;
mod files;
mod orders;
mod other_drivers;
mod secrets;
mod setup;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, tools};
use testkit::client::{Client, Options};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

/// A configuration with an admin port.
fn with_admin(setup: Setup) -> Setup {
    setup.admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

/// Runs statements on the admin port with MariaDB's command-line client.
fn cli(proxy: &Proxy, sql: &str) -> tools::Output {
    let port = format!("--port={}", proxy.admin().port());
    let arguments = ["--host=127.0.0.1", &port, "--user=admin", "--password=admin", "--execute", sql];
    tools::mariadb(&DB.sandbox, &arguments)
}
