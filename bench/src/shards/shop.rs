//! Four servers with a part of the rows each, and one with all of them.

use std::fmt::Write as _;
use std::net::SocketAddr;

use testkit::guard::Sandbox;
use testkit::mariadb::{Server, Setup, start_all};

use crate::programs::Programs;
use crate::sysbench::SCHEMA;
use crate::target::{Kind, Stage, Target};

/// Servers, and shards of each table.
pub(crate) const SHARDS: u32 = 4;

/// Rows of the table of point selects, all shards together.
pub(crate) const ROWS: u32 = 100_000;

/// Everything behind the proxies.
#[derive(Debug)]
pub(crate) struct Shop<'a> {
    programs: &'a Programs,
    sandbox: &'a Sandbox,
    threads: u32,
    whole: Server,
    shards: Vec<Server>,
}

impl<'a> Shop<'a> {
    /// Starts and fills the servers; a long merge has so many rows of each shard.
    pub(crate) fn start(
        programs: &'a Programs,
        sandbox: &'a Sandbox,
        threads: u32,
        merged_rows: u32,
    ) -> anyhow::Result<Self> {
        let setup = |name: String, id| {
            Setup::new(&name).server_id(id).args(["--innodb-buffer-pool-size=256M", "--max-connections=500"])
        };
        let mut setups = vec![setup("whole".to_owned(), SHARDS + 1)];
        setups.extend((0..SHARDS).map(|shard| setup(format!("shard{shard}"), shard + 1)));
        let mut servers = start_all(&programs.mariadb, sandbox, setups)?;
        let shards = servers.split_off(1);
        let whole = servers.pop().ok_or_else(|| anyhow::anyhow!("no server"))?;
        whole.sql(&format!("{}; {}", tables(), rows("sbtest1", ROWS, "1")))?;
        for (shard, server) in (0..SHARDS).zip(&shards) {
            let part = format!("seq MOD {SHARDS} = {shard}");
            let (some, many) = (rows("sbtest1", ROWS, &part), rows("big", merged_rows * SHARDS, &part));
            server.sql(&format!("{}; {some}; {many}", tables()))?;
        }
        Ok(Self { programs, sandbox, threads, whole, shards })
    }

    /// What everything is started in.
    pub(crate) const fn sandbox(&self) -> &Sandbox {
        self.sandbox
    }

    /// The programs.
    pub(crate) const fn programs(&self) -> &Programs {
        self.programs
    }

    /// A layer-4 proxy before the server with all rows.
    pub(crate) fn floor(&self) -> anyhow::Result<Target> {
        Target::start_with(&self.stage(&self.whole), Kind::Floor, "", "")
    }

    /// A proxy without shards before the same server.
    pub(crate) fn whole(&self) -> anyhow::Result<Target> {
        Target::start_with(&self.stage(&self.whole), Kind::Pointsman, "", "")
    }

    /// A proxy without shards before each of the four servers.
    pub(crate) fn alone(&self) -> anyhow::Result<Vec<Target>> {
        let start = |server| Target::start_with(&self.stage(server), Kind::Pointsman, "", "");
        self.shards.iter().map(start).collect()
    }

    /// Where the four servers are.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.shards.iter().map(|server| SocketAddr::from(([127, 0, 0, 1], server.port()))).collect()
    }

    /// A proxy before the four servers.
    pub(crate) fn sharded(&self) -> anyhow::Result<Target> {
        self.split_over(&self.shards.iter().collect::<Vec<_>>())
    }

    /// A proxy that takes the server with all rows for each of the four.
    pub(crate) fn sharded_alone(&self) -> anyhow::Result<Target> {
        self.split_over(&vec![&self.whole; usize::try_from(SHARDS)?])
    }

    /// A proxy before these servers, one for each shard.
    fn split_over(&self, servers: &[&Server]) -> anyhow::Result<Target> {
        let mut more = String::new();
        for (hostgroup, server) in (0..SHARDS).zip(servers).skip(1) {
            let _ = write!(
                more,
                "\n[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\nport = {}\n",
                server.port()
            );
        }
        for table in ["sbtest1", "big"] {
            let _ = write!(
                more,
                "\n[[shards.table]]\nschema = \"{SCHEMA}\"\ntable = \"{table}\"\nkey = \"id\"\n\
                 function = \"mod\"\nnodes = \"${{0..{}}}/{SCHEMA}.{table}\"\n",
                SHARDS - 1
            );
        }
        more.push_str("\n[[shards.home]]\nhostgroup = 0\n");
        let first = servers.first().copied().unwrap_or(&self.whole);
        Target::start_with(&self.stage(first), Kind::Pointsman, "", &more)
    }

    const fn stage<'s>(&'s self, database: &'s Server) -> Stage<'s> {
        Stage { programs: self.programs, sandbox: self.sandbox, database, threads: self.threads }
    }
}

/// Empty tables. A row of `big` is about 100 bytes on the wire.
fn tables() -> String {
    format!(
        "CREATE DATABASE {SCHEMA}; USE {SCHEMA}; \
         CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(90) NOT NULL, KEY (k)); \
         CREATE TABLE big (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(90) NOT NULL)"
    )
}

/// Those of so many rows that meet a condition.
fn rows(table: &str, count: u32, condition: &str) -> String {
    format!(
        "INSERT INTO {table} SELECT seq, (seq * 7919) MOD 1000003, REPEAT('c', 84) \
         FROM seq_1_to_{count} WHERE {condition}"
    )
}
