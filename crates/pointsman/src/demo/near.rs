//! The proxy near the clients, in front of the one near the servers.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use testkit::client::Options;
use testkit::guard::Sandbox;
use testkit::load::SCHEMA;
use testkit::net::free_port;

use super::proxy::Proxy;
use super::say;
use super::stage::{ADMIN, ADMIN_PASSWORD, WRITER, caching_rule};

/// Memory of its cache in MiB: for a part of the rows only, so that the far cache has something to
/// do.
const CACHE_MB: u32 = 2;

/// The proxy near the clients.
#[derive(Debug)]
pub(super) struct Near {
    proxy: Proxy,
    mysql: SocketAddr,
    admin: SocketAddr,
}

impl Near {
    /// Starts it, its server the proxy at `far` that shows this version. Blocks.
    pub(super) fn start(sandbox: &Sandbox, far: SocketAddr, version: &str) -> anyhow::Result<Self> {
        let free = || free_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let (mysql, admin) = (free().context("no free port")?, free().context("no free port")?);
        let configuration = configuration(far, (mysql, admin), version);
        let mut proxy = Proxy::start(sandbox, ("the proxy near the clients", "near"), &configuration)?;
        proxy.wait(mysql, admin)?;
        Ok(Self { proxy, mysql, admin })
    }

    /// How clients connect.
    pub(super) fn clients(&self) -> Options {
        Options::tcp(self.mysql, WRITER, WRITER)
    }

    /// How operators connect.
    pub(super) fn admin(&self) -> Options {
        Options::tcp(self.admin, ADMIN, &ADMIN_PASSWORD)
    }

    /// Says where to connect.
    pub(super) fn invite(&self) {
        say!("The proxy near the clients, in front of it:");
        for (address, user, password, schema, what) in [
            (self.mysql, WRITER, WRITER, SCHEMA, "reads through both caches; EXPLAIN ROUTE SELECT ..."),
            (
                self.admin,
                ADMIN,
                ADMIN_PASSWORD.as_str(),
                "stats",
                "its admin port: SELECT * FROM stats_pointsman_cache",
            ),
        ] {
            let port = address.port();
            let command = format!("mariadb -h127.0.0.1 -P{port} -u{user} -p{password} {schema}");
            say!("  {command:<60} # {what}");
        }
        say!("");
    }

    /// Fails if it has died.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.proxy.check()
    }
}

/// Its `pointsman.toml`. The far proxy has no user for a monitor.
fn configuration(far: SocketAddr, (mysql, admin): (SocketAddr, SocketAddr), version: &str) -> String {
    format!(
        "[mysql_variables]\nserver_version = \"{version}\"\nmonitor_enabled = false\n\
         query_cache_size_MB = {CACHE_MB}\n\n\
         [admin_variables]\nmysql_ifaces = \"{admin}\"\nadmin_credentials = \"{ADMIN}:{}\"\n\n\
         [[listeners]]\naddress = \"{mysql}\"\n\n\
         [[mysql_servers]]\nhostname = \"{}\"\nport = {}\n\n\
         [[mysql_users]]\nusername = \"{WRITER}\"\npassword = \"{WRITER}\"\n{}",
        ADMIN_PASSWORD.as_str(),
        far.ip(),
        far.port(),
        caching_rule()
    )
}
