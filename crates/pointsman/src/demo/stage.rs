//! What the demo starts: the servers, the configuration, the proxy.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::load::{SCHEMA, create_schema};
use testkit::mariadb::{Binaries, Topology};
use testkit::net::free_port;
use tokio::runtime::Handle;

use super::proxy::Proxy;
use super::{DemoArgs, say};

/// Number of replicas.
const REPLICAS: usize = 2;
/// The hostgroup of the primary.
const WRITERS: u32 = 0;
/// That of the replicas.
const READERS: u32 = 1;
/// The user that writes to the primary, and whose plain reads go to the replicas; the password is
/// the same.
pub(super) const WRITER: &str = "demo";
/// The user whose queries all go to the replicas; the password is the same.
const READER: &str = "report";
/// The user of the monitor, with its password: the default.
const MONITOR: &str = "monitor";
/// The user of the admin port and of the page.
pub(super) const ADMIN: &str = "admin";
/// Its password, which no other user of this machine knows: it can run programs.
pub(super) static ADMIN_PASSWORD: LazyLock<String> =
    LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one(std::process::id())));
/// How long caches serve an answer, in milliseconds, where there are some.
const TTL_MS: u32 = 10_000;
/// Old binary logs go soon, so that a long demo does not fill the disk.
const SERVER_OPTIONS: [&str; 2] = ["--max-binlog-size=16M", "--binlog-expire-logs-seconds=60"];

/// The same for replicas that may have to become the primary.
const FAILOVER_OPTIONS: [&str; 4] =
    [SERVER_OPTIONS[0], SERVER_OPTIONS[1], "--log-bin=binlog", "--log-slave-updates"];

/// Everything that runs.
#[derive(Debug)]
pub(super) struct Stage {
    topology: Topology,
    version: String,
    proxy: Proxy,
    addresses: Addresses,
}

/// Where the proxy listens.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    mysql: SocketAddr,
    tcp: SocketAddr,
    admin: SocketAddr,
    web: SocketAddr,
}

impl Stage {
    /// Starts servers and proxy, creates a schema through it, and says so line by line. Blocks; to
    /// be called on a thread of a tokio runtime that may.
    pub(super) fn start(binaries: &Binaries, sandbox: &Sandbox, args: DemoArgs) -> anyhow::Result<Self> {
        let started = Instant::now();
        say!("Starting MariaDB {}: a primary and {REPLICAS} replicas ...", binaries.version);
        let topology = Topology::start(
            binaries,
            sandbox,
            REPLICAS,
            if args.failover { &FAILOVER_OPTIONS } else { &SERVER_OPTIONS },
        )?;
        topology.primary.sql(&format!(
            "CREATE USER {WRITER}@'%' IDENTIFIED BY '{WRITER}'; GRANT ALL ON *.* TO {WRITER}@'%'; \
             CREATE USER {READER}@'%' IDENTIFIED BY '{READER}'; GRANT SELECT ON *.* TO {READER}@'%'; \
             CREATE USER {MONITOR}@'%' IDENTIFIED BY '{MONITOR}'"
        ))?;
        topology.catch_up()?;
        say!("  primary on port {}, {}", topology.primary.port(), started.elapsed().show());
        for replica in &topology.replicas {
            say!("  {} on port {}, replicating", replica.name(), replica.port());
        }

        let free = || free_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let addresses = Addresses { mysql: address(args.port)?, tcp: free()?, admin: free()?, web: free()? };
        let mut toml = configuration(binaries, &topology, addresses);
        if args.cache {
            toml.push_str(&caching_rule());
        }
        let mut proxy = Proxy::start(sandbox, ("the proxy", "pointsman"), &toml)?;
        proxy.wait(addresses.mysql, addresses.admin)?;
        let stage = Self { topology, version: binaries.version.clone(), proxy, addresses };
        Handle::current().block_on(stage.create_schema())?;
        stage.topology.catch_up()?;
        Ok(stage)
    }

    /// How clients that write connect.
    pub(super) fn writer(&self) -> Options {
        Options::tcp(self.addresses.mysql, WRITER, WRITER)
    }

    /// How clients that only read connect.
    pub(super) fn reader(&self) -> Options {
        Options::tcp(self.addresses.mysql, READER, READER)
    }

    /// Where clients connect to.
    pub(super) const fn address(&self) -> SocketAddr {
        self.addresses.mysql
    }

    /// The version of its servers.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// How operators connect.
    pub(super) fn admin(&self) -> Options {
        Options::tcp(self.addresses.admin, ADMIN, &ADMIN_PASSWORD)
    }

    /// Says where to connect.
    pub(super) fn invite(&self) {
        let Addresses { mysql, tcp, admin, web } = self.addresses;
        say!("\nConnect to it:");
        let password = ADMIN_PASSWORD.as_str();
        for (address, user, password, schema, what) in [
            (mysql, WRITER, WRITER, SCHEMA, "the primary; plain reads: the replicas"),
            (mysql, READER, READER, SCHEMA, "the replicas"),
            (tcp, WRITER, WRITER, SCHEMA, "the primary, through the layer-4 listener"),
            (admin, ADMIN, password, "stats", "the admin port"),
        ] {
            let port = address.port();
            let command = format!("mariadb -h127.0.0.1 -P{port} -u{user} -p{password} {schema}");
            say!("  {command:<60} # {what}");
        }
        let page = format!("http://{web}/");
        say!("  {page:<60} # the page for operators: user {ADMIN}, password {password}");
        say!("On the admin port, ask where a statement goes, and why: EXPLAIN ROUTE SELECT ...");
        say!("Ctrl-C ends the demo and removes everything.\n");
    }

    /// Kills the primary and promotes a replica; the time from one to the other.
    pub(super) fn fail_over(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        self.topology.fail_over()?;
        Ok(started.elapsed())
    }

    /// The name of the primary.
    pub(super) fn primary(&self) -> &str {
        self.topology.primary.name()
    }

    /// Fails if something has died.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.proxy.check()?;
        for server in std::iter::once(&mut self.topology.primary).chain(&mut self.topology.replicas) {
            if server.is_dead()? {
                bail!("the server `{}` has died", server.name());
            }
        }
        Ok(())
    }

    async fn create_schema(&self) -> anyhow::Result<()> {
        let mut client = Client::connect(&self.writer()).await.context("cannot log in through the proxy")?;
        create_schema(&mut client).await.context("cannot create the schema through the proxy")?;
        client.quit().await.context("cannot leave the proxy")
    }
}

/// The wanted port on loopback, or a free one if another process has it.
pub(super) fn address(port: u16) -> anyhow::Result<SocketAddr> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if TcpListener::bind(wanted).is_ok() {
        return Ok(wanted);
    }
    let other = free_port().context("no free port")?;
    say!("Port {port} is taken; using {other}.");
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, other)))
}

/// The `pointsman.toml` of the demo.
fn configuration(binaries: &Binaries, topology: &Topology, addresses: Addresses) -> String {
    let Addresses { mysql, tcp, admin, web } = addresses;
    let mut toml = format!(
        "[mysql_variables]\nserver_version = \"{}\"\nread_write_split = true\nmonitor_writer_is_also_reader = false\n\n\
         [admin_variables]\nmysql_ifaces = \"{admin}\"\nadmin_credentials = \"{ADMIN}:{}\"\nweb_enabled = true\n\n\
         [pointsman_variables]\nweb_address = \"{web}\"\n\n\
         [[listeners]]\naddress = \"{mysql}\"\n\n\
         [[listeners]]\naddress = \"{tcp}\"\nprotocol = \"tcp\"\nhostgroup = 0\n\n\
         [[mysql_replication_hostgroups]]\nwriter_hostgroup = {WRITERS}\nreader_hostgroup = {READERS}\n",
        binaries.version,
        ADMIN_PASSWORD.as_str()
    );
    let servers = topology.replicas.iter().map(|server| (READERS, server));
    for (hostgroup, server) in std::iter::once((WRITERS, &topology.primary)).chain(servers) {
        // Writing to a string cannot fail.
        let _ = write!(
            toml,
            "\n[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\nport = {}\n\
             comment = \"{}\"\n",
            server.port(),
            server.name()
        );
    }
    for (hostgroup, user) in [(WRITERS, WRITER), (READERS, READER)] {
        let _ = write!(
            toml,
            "\n[[mysql_users]]\nusername = \"{user}\"\npassword = \"{user}\"\ndefault_hostgroup = {hostgroup}\n"
        );
    }
    toml
}

/// A rule that has point selects cached.
pub(super) fn caching_rule() -> String {
    format!(
        "\n[[mysql_query_rules]]\nrule_id = 10\nactive = true\nusername = \"{WRITER}\"\n\
         match_digest = \"^SELECT name, ?price FROM item WHERE id\"\ncache_ttl = {TTL_MS}\n"
    )
}

/// Durations for people.
pub(super) trait Show {
    fn show(&self) -> String;
}

impl Show for Duration {
    fn show(&self) -> String {
        if *self < Self::from_secs(1) {
            format!("after {} ms", self.as_millis())
        } else {
            format!("after {:.1} s", self.as_secs_f64())
        }
    }
}
