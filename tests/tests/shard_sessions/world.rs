//! Two servers, and tables that are split over them.

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, ClientError, Options};
use testkit::server::{PASSWORD, USER};

/// Two servers of the same make: one is the home and has a shard, the other one has a shard.
pub(crate) struct Servers {
    pub(crate) near: Backend,
    pub(crate) far: Backend,
}

/// Tables of one test, in a schema of its own:
///
/// - `orders`, by `id`: even ids at the near server, odd ones at the other; the same name at both;
/// - `lines`, colocated with it;
/// - `events`, by `id`, in four parts of other names, two at each server;
/// - `tickets`, only at the far server, with an `AUTO_INCREMENT`;
/// - `plain`, at the home.
pub(crate) struct World {
    pub(crate) servers: &'static Servers,
    pub(crate) name: &'static str,
    setup: Setup,
}

impl Servers {
    /// Starts both.
    pub(crate) fn of(start: impl Fn() -> Option<Backend>) -> Option<Self> {
        Some(Self { near: start()?, far: start()? })
    }

    /// Makes the tables of a test.
    pub(crate) fn world(&'static self, name: &'static str) -> World {
        for (server, number) in [(&self.near, 1), (&self.far, 2)] {
            let own = format!("{name}_{number}");
            server.sql(&format!(
                "CREATE DATABASE {name}; CREATE DATABASE {own}; \
                 CREATE TABLE {name}.orders (id INT PRIMARY KEY, note VARCHAR(40), made DATETIME(6) \
                 DEFAULT CURRENT_TIMESTAMP(6)); \
                 CREATE TABLE {name}.`lines` (id INT NOT NULL, number INT NOT NULL, PRIMARY KEY (id, number))"
            ));
            for part in [2 * number - 2, 2 * number - 1] {
                server.sql(&format!(
                    "CREATE TABLE {own}.events_{part} (id INT PRIMARY KEY, note VARCHAR(40) DEFAULT 'new')"
                ));
                let ids = (1..=8).filter(|id| id % 4 == part);
                let rows: Vec<_> = ids.map(|id| format!("({id}, 'event {id}')")).collect();
                server.sql(&format!("INSERT INTO {own}.events_{part} VALUES {}", rows.join(", ")));
            }
            for id in (1..=8).filter(|id| id % 2 == number - 1) {
                server.sql(&format!("INSERT INTO {name}.orders (id, note) VALUES ({id}, 'order {id}')"));
            }
        }
        self.near
            .sql(&format!("CREATE TABLE {name}.plain (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(40))"));
        self.far.sql(&format!(
            "CREATE TABLE {name}.tickets (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(40))"
        ));
        let mut setup = Setup::before(&self.near.sandbox, &self.near.server)
            .server(&self.near.server, "hostgroup_id = 1\n")
            .server(&self.far.server, "hostgroup_id = 2\n");
        for (table, nodes) in [
            ("orders", format!("${{1..2}}/{name}.orders")),
            ("lines", format!("${{1..2}}/{name}.lines")),
            ("events", format!("1/{name}_1.events_${{0..1}}, 2/{name}_2.events_${{2..3}}")),
        ] {
            setup = setup.row(
                "shards.table",
                &format!(
                    "schema = '{name}'\ntable = '{table}'\nkey = 'id'\nfunction = 'mod'\nnodes = '{nodes}'"
                ),
            );
        }
        setup = setup
            .row(
                "shards.table",
                &format!("schema = '{name}'\ntable = 'tickets'\nkind = 'single'\nnodes = '2/{name}.tickets'"),
            )
            .row("shards.group", &format!("schema = '{name}'\ntables = ['orders', 'lines']"))
            .row("shards.home", "hostgroup = 0");
        World { servers: self, name, setup }
    }
}

impl World {
    /// Changes the configuration.
    #[must_use]
    pub(crate) fn with(mut self, change: impl FnOnce(Setup) -> Setup) -> Self {
        self.setup = change(self.setup);
        self
    }

    /// Transactions may write at several servers.
    #[must_use]
    pub(crate) fn best_effort(self) -> Self {
        self.with(|setup| setup.pointsman_variable("shard_transactions", "'best_effort'"))
    }

    pub(crate) fn proxy(&self) -> Proxy {
        self.setup.clone().start()
    }

    pub(crate) async fn connect(&self, proxy: &Proxy) -> Client {
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema(self.name);
        Client::connect(&options).await.unwrap()
    }

    /// What the far server itself says.
    pub(crate) fn far(&self, sql: &str) -> String {
        self.servers.far.sql(&format!("USE {}; {sql}", self.name)).trim().to_owned()
    }

    /// Statements at the near server with these parts that have waited for a second. Tables of the
    /// engine show the same for as long as they are asked ten times a second.
    pub(crate) fn waiting(&self, parts: &[&str]) -> usize {
        let processes = self.near("SHOW FULL PROCESSLIST");
        let waits = |line: &&str| {
            let cells: Vec<&str> = line.split('\t').collect();
            let is_late = cells[5].parse().is_ok_and(|seconds: u64| seconds >= 1);
            is_late && parts.iter().all(|part| cells[7].contains(part))
        };
        processes.lines().filter(waits).count()
    }

    /// What the near server itself says.
    pub(crate) fn near(&self, sql: &str) -> String {
        self.servers.near.sql(&format!("USE {}; {sql}", self.name)).trim().to_owned()
    }
}

/// Rows as texts, with their columns separated by spaces.
pub(crate) async fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join(" ")
    };
    result.text().unwrap().into_iter().map(text).collect()
}

/// Runs a statement that changes something. How many rows.
pub(crate) async fn change(client: &mut Client, sql: &str) -> u64 {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).affected_rows
}

/// Runs a statement that is refused. The number and the text of its error.
pub(crate) async fn refused(client: &mut Client, sql: &str) -> (u16, String) {
    match client.query(sql).await {
        Ok(_) => panic!("{sql}: it is not refused"),
        Err(error) => code(&error),
    }
}

/// The number and the text of an error.
pub(crate) fn code(error: &ClientError) -> (u16, String) {
    (error.code().unwrap_or_default(), error.to_string())
}
