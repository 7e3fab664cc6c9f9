//! What the sharded demo starts: the servers with their tables, and the proxy.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Context as _, bail};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::mariadb::{Binaries, Server, Setup, start_all};
use testkit::net::free_port;

use super::super::proxy::Proxy;
use super::super::stage::{ADMIN, ADMIN_PASSWORD, Show as _, WRITER, address};
use super::super::{DemoArgs, say};
use super::{CUSTOMERS, PRODUCTS, SHARDS};

/// The schema, at clients and at servers.
const SCHEMA: &str = "shop";

/// The tables of each server.
const TABLES: [&str; 4] = [
    "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
    "CREATE TABLE orders (customer_id INT NOT NULL, number BIGINT NOT NULL, \
     at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (customer_id, number), KEY (number))",
    "CREATE TABLE order_items (customer_id INT NOT NULL, number BIGINT NOT NULL, product_id INT NOT NULL, \
     quantity INT NOT NULL, PRIMARY KEY (customer_id, number, product_id))",
    "CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
];

/// Sharded tables and their keys.
const KEYS: [(&str, &str); 3] =
    [("customers", "id"), ("orders", "customer_id"), ("order_items", "customer_id")];

/// Everything that runs.
#[derive(Debug)]
pub(in super::super) struct Shop {
    servers: Vec<Server>,
    proxy: Proxy,
    addresses: Addresses,
}

/// Where the proxy listens.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    mysql: SocketAddr,
    admin: SocketAddr,
    web: SocketAddr,
}

/// Connections to the servers that count rows.
pub(super) struct Rows(Vec<Client>);

impl Shop {
    /// Starts servers and proxy, and says so line by line. Blocks; to be called on a thread of a
    /// tokio runtime that may.
    pub(in super::super) fn start(
        binaries: &Binaries,
        sandbox: &Sandbox,
        args: DemoArgs,
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        say!("Starting MariaDB {}: {SHARDS} servers, each with a shard ...", binaries.version);
        let servers = servers(binaries, sandbox)?;
        for (number, server) in servers.iter().enumerate() {
            say!("  shard {number} on port {}, {}", server.port(), started.elapsed().show());
        }
        let free = || free_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let addresses = Addresses { mysql: address(args.port)?, admin: free()?, web: free()? };
        let toml = configuration(&binaries.version, &servers, addresses);
        let mut proxy = Proxy::start(sandbox, ("the proxy", "pointsman"), &toml)?;
        proxy.wait(addresses.mysql, addresses.admin)?;
        Ok(Self { servers, proxy, addresses })
    }

    /// How clients connect.
    pub(super) fn clients(&self) -> Options {
        Options::tcp(self.addresses.mysql, WRITER, WRITER).schema(SCHEMA)
    }

    /// Connections that count rows.
    pub(super) async fn rows(&self) -> anyhow::Result<Rows> {
        let mut clients = Vec::new();
        for server in &self.servers {
            let options = Options::tcp(server.address(), WRITER, WRITER).schema(SCHEMA);
            clients.push(Client::connect(&options).await.context("cannot log in to a shard")?);
        }
        Ok(Rows(clients))
    }

    /// Says where to connect.
    pub(super) fn invite(&self) {
        let Addresses { mysql, admin, web } = self.addresses;
        say!("\nConnect to it:");
        let password = ADMIN_PASSWORD.as_str();
        for (address, schema, user, password, what) in [
            (mysql, SCHEMA, WRITER, WRITER, "the shop, as if it were on one server"),
            (admin, "stats", ADMIN, password, "the admin port"),
        ] {
            let port = address.port();
            let command = format!("mariadb -h127.0.0.1 -P{port} -u{user} -p{password} {schema}");
            say!("  {command:<60} # {what}");
        }
        let page = format!("http://{web}/");
        say!("  {page:<60} # the page for operators: user {ADMIN}, password {password}");
        say!("Ask which shards a statement needs, and why: EXPLAIN ROUTE SELECT ...");
        say!("Ctrl-C ends the demo and removes everything.\n");
    }

    /// Fails if something has died.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.proxy.check()?;
        for server in &mut self.servers {
            if server.is_dead()? {
                bail!("the server `{}` has died", server.name());
            }
        }
        Ok(())
    }
}

impl Rows {
    /// The orders of each shard.
    pub(super) async fn count(&mut self) -> anyhow::Result<Vec<u64>> {
        let mut counts = Vec::new();
        for client in &mut self.0 {
            let result =
                client.query("SELECT COUNT(*) FROM orders").await.context("a shard does not answer")?;
            counts.push(result.first().and_then(|text| text.parse().ok()).unwrap_or_default());
        }
        Ok(counts)
    }
}

/// The servers, each with its part of the customers and with all products.
fn servers(binaries: &Binaries, sandbox: &Sandbox) -> anyhow::Result<Vec<Server>> {
    let setup = |shard: u32| Setup::new(&format!("shard{shard}")).server_id(shard + 1);
    let servers = start_all(binaries, sandbox, (0..SHARDS).map(setup).collect())?;
    for (shard, server) in (0..SHARDS).zip(&servers) {
        server.sql(&script(shard))?;
    }
    Ok(servers)
}

/// Account, tables and rows of a server.
fn script(shard: u32) -> String {
    let tables = TABLES.join("; ");
    format!(
        "CREATE USER {WRITER}@'%' IDENTIFIED BY '{WRITER}'; GRANT ALL ON *.* TO {WRITER}@'%'; \
         CREATE USER monitor@'%' IDENTIFIED BY 'monitor'; \
         CREATE DATABASE {SCHEMA}; USE {SCHEMA}; {tables}; \
         INSERT INTO products SELECT seq, CONCAT('product ', seq) FROM seq_1_to_{PRODUCTS}; \
         INSERT INTO customers SELECT seq, CONCAT('customer ', seq) FROM seq_1_to_{CUSTOMERS} \
         WHERE seq MOD {SHARDS} = {shard}"
    )
}

/// The `pointsman.toml`.
fn configuration(version: &str, servers: &[Server], addresses: Addresses) -> String {
    let Addresses { mysql, admin, web } = addresses;
    let mut toml = format!(
        "[mysql_variables]\nserver_version = \"{version}\"\n\n\
         [admin_variables]\nmysql_ifaces = \"{admin}\"\nadmin_credentials = \"{ADMIN}:{}\"\nweb_enabled = true\n\n\
         [pointsman_variables]\nweb_address = \"{web}\"\n\n\
         [[listeners]]\naddress = \"{mysql}\"\n\n\
         [[mysql_users]]\nusername = \"{WRITER}\"\npassword = \"{WRITER}\"\ndefault_hostgroup = 0\n\
         default_schema = \"{SCHEMA}\"\n",
        ADMIN_PASSWORD.as_str()
    );
    for (hostgroup, server) in servers.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(
            toml,
            "\n[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\nport = {}\n\
             comment = \"{}\"\n",
            server.port(),
            server.name()
        );
    }
    let last = SHARDS - 1;
    for (table, key) in KEYS {
        let _ = write!(
            toml,
            "\n[[shards.table]]\nschema = \"{SCHEMA}\"\ntable = \"{table}\"\nkey = \"{key}\"\n\
             function = \"mod\"\nnodes = \"${{0..{last}}}/{SCHEMA}.{table}\"\n"
        );
    }
    let _ = write!(
        toml,
        "\n[[shards.table]]\nschema = \"{SCHEMA}\"\ntable = \"products\"\nkind = \"reference\"\n\
         nodes = \"${{0..{last}}}/{SCHEMA}.products\"\n\n\
         [[shards.group]]\nschema = \"{SCHEMA}\"\ntables = [\"customers\", \"orders\", \"order_items\"]\n\n\
         [[shards.home]]\nhostgroup = 0\n"
    );
    toml
}
