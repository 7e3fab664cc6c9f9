//! Where statements go with two servers behind the proxy, and what it says about that.

mod explain;
mod firewall;
mod injection;
mod metrics;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, tools};

/// The writer.
static WRITER: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// The reader; it does not replicate, and has its own port to be known by.
static READER: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// A proxy in front of both, with the split switched on and an admin port.
fn split() -> Setup {
    Setup::before(&WRITER.sandbox, &WRITER.server)
        .server(&READER.server, "hostgroup_id = 1")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("read_write_split", true)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

/// Runs statements with MariaDB's command-line client as an ordinary user; cells are separated by
/// tabs.
fn ask(proxy: &Proxy, sql: &str) -> tools::Output {
    tools::mariadb_through(&WRITER.sandbox, proxy, &["--comments", "--execute", sql])
}

/// The same on the admin port.
fn ask_admin(proxy: &Proxy, user: &str, sql: &str) -> tools::Output {
    let (port, user) = (format!("--port={}", proxy.admin().port()), format!("--user={user}"));
    let password = user.replace("user", "password");
    tools::mariadb(&WRITER.sandbox, &["--host=127.0.0.1", &port, &user, &password, "--execute", sql])
}
