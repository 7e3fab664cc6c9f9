//! A server with the same rows twice: in one table each, and split.

use std::collections::HashMap;

use e2e::dice::Dice;
use e2e::{Backend, Proxy, Setup};
use planner::plan::{ColumnInfo, Definitions, KeyColumn};
use shard::{ColumnType, Layout};
use sql::conditional::Dialect;
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

use crate::answer::{self, Answer};
use crate::collations;
use crate::compare::Difference;
use crate::layout::{Place, SCHEMA, Shards, Split};
use crate::query::Written;
use crate::tables::{self, KEY, KEY_AT, Row, Table};

/// Servers of one make.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Where tables are whole.
    pub(crate) whole: Backend,
    /// Where parts are behind a proxy.
    pub(crate) parts: [Backend; PARTS],
}

/// Servers behind a proxy, and its hostgroups.
pub(crate) const PARTS: usize = 2;

/// How statements come to the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are planned, executed and merged here. Schemas of one server stand for servers.
    Direct,
    /// Through a proxy.
    Proxied,
}

/// Tables, split and not, and sessions.
pub(crate) struct World {
    pub(crate) way: Way,
    pub(crate) dialect: Dialect,
    pub(crate) shards: Shards,
    pub(crate) tables: Vec<Table>,
    pub(crate) layout: Layout,
    pub(crate) columns: Columns,
    /// Where tables are whole.
    whole: Client,
    /// One for each hostgroup; the first is 1.
    pub(crate) parts: Vec<Client>,
    /// A session through the proxy.
    pub(crate) proxied: Option<Client>,
    /// What `proxied` goes through.
    proxy: Option<Proxy>,
}

/// The columns of all tables.
#[derive(Debug)]
pub(crate) struct Columns {
    infos: HashMap<&'static str, Vec<ColumnInfo>>,
    keys: HashMap<&'static str, Vec<KeyColumn>>,
}

impl Definitions for Columns {
    fn columns(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        self.infos.get(table).filter(|_| schema == SCHEMA).map(Vec::as_slice)
    }

    fn row_key(&self, schema: &str, table: &str) -> Option<Vec<KeyColumn>> {
        self.keys.get(table).filter(|_| schema == SCHEMA).cloned()
    }
}

impl World {
    /// Tables of this seed, in place of those of the world before.
    pub(crate) async fn new(servers: &Servers, seed: u64, split: Split, way: Way) -> Self {
        let mut dice = Dice::new(seed, 0);
        let shards = Shards::random(&mut dice, split, way);
        let tables = tables::random(&mut dice, shards.count, &collations::of(&servers.whole));
        let layout = shards.layout(&tables);
        let info = |table: &Table| {
            let info = |column: &tables::Column| column.of.info(&column.name, servers.whole.make);
            (table.name, table.columns.iter().map(info).collect())
        };
        let keys = tables.iter().map(|table| (table.name, table.row_key())).collect();
        let columns = Columns { infos: tables.iter().map(info).collect(), keys };
        let mut whole = connect(&servers.whole).await;
        let version = run(&mut whole, "SELECT VERSION()").await;
        clear(&mut whole, shards.hostgroups).await;
        let mut parts = Vec::new();
        for hostgroup in 1..=shards.hostgroups {
            let mut part = match way {
                Way::Direct => connect(&servers.whole).await,
                Way::Proxied => connect(&servers.parts[hostgroup - 1]).await,
            };
            if way == Way::Proxied {
                clear(&mut part, shards.hostgroups).await;
            }
            parts.push(part);
        }
        let dialect = Dialect::of(version.as_bytes()).unwrap_or_else(|| panic!("{version}"));
        let mut world =
            Self { way, dialect, shards, tables, layout, columns, whole, parts, proxied: None, proxy: None };
        world.fill().await;
        match way {
            Way::Direct => world.use_schemas().await,
            Way::Proxied => world.start_proxy(servers).await,
        }
        world
    }

    /// Gives each session the schema that stands for its server.
    async fn use_schemas(&mut self) {
        for hostgroup in 1..=self.shards.hostgroups {
            let place = Place { hostgroup, schema: SCHEMA.to_owned(), table: String::new() };
            let schema = self.real_schema(&place);
            run(&mut self.parts[hostgroup - 1], &format!("USE {schema}")).await;
        }
    }

    async fn start_proxy(&mut self, servers: &Servers) {
        let mut setup = Setup::new(&servers.whole.sandbox)
            .user(USER, PASSWORD, "default_hostgroup = 1")
            .pointsman_variable("shard_transactions", "\"best_effort\"");
        for (server, hostgroup) in servers.parts.iter().zip(1..).take(self.shards.hostgroups) {
            setup = setup.server(&server.server, &format!("hostgroup_id = {hostgroup}"));
        }
        for (table, row) in self.shards.rows(&self.tables) {
            setup = setup.row(table, &row);
        }
        let proxy = setup.start();
        let options = proxy.options().schema(SCHEMA);
        let client = Client::connect(&options).await;
        self.proxied = Some(client.unwrap_or_else(|error| panic!("no session: {error}")));
        self.proxy = Some(proxy);
    }

    async fn fill(&mut self) {
        for table in self.tables.clone() {
            for (at, number) in self.places(&table).iter().zip(0..) {
                let is_here = |row: &&Row| {
                    number == 0 || table.function.is_none() || self.shard_of(&table, row) == number - 1
                };
                let rows: Vec<_> = table.rows.iter().filter(is_here).collect();
                let insert = Table::insert(&at.name, &rows);
                run(self.session(at), &table.create(&at.name)).await;
                if let Some(insert) = insert {
                    run(self.session(at), &insert).await;
                }
            }
        }
    }

    /// Runs a statement where the tables are whole.
    pub(crate) async fn ask_whole(&mut self, written: &Written) -> Answer {
        answer::query(&mut self.whole, written.sql.as_bytes(), written.values.as_deref()).await
    }

    /// Runs a statement about the transaction on both sides.
    pub(crate) async fn everywhere(&mut self, sql: &str) {
        run(&mut self.whole, sql).await;
        match &mut self.proxied {
            Some(proxied) => drop(run(proxied, sql).await),
            None => {
                for part in &mut self.parts {
                    run(part, sql).await;
                }
            }
        }
    }

    /// Compares the rows of the whole tables with those of their parts, each of which has to be in
    /// the shard of its key.
    pub(crate) async fn check_rows(&mut self) -> Result<(), Difference> {
        for table in self.tables.clone() {
            let mut parts = Vec::new();
            for (at, number) in self.places(&table).iter().zip(0..) {
                let name = &at.name;
                let sql = format!("SELECT * FROM {name} ORDER BY id, k");
                let rows = answer::query(self.session(at), sql.as_bytes(), None).await.rows;
                for row in rows.iter().filter(|_| number > 0 && table.function.is_some()) {
                    let shard = self.shard_of_key(&table, &tables::key_literal(&table, row));
                    if shard != number - 1 {
                        return Err(format!("{name} has {row:?}, whose shard is {shard}"));
                    }
                }
                parts.push(rows);
            }
            let mut whole = parts.remove(0);
            let parts = if table.function.is_some() { vec![parts.concat()] } else { parts };
            whole.sort();
            for mut part in parts {
                part.sort();
                let lacks = whole.iter().find(|row| !part.contains(row));
                let has = part.iter().find(|row| !whole.contains(row));
                if whole != part {
                    return Err(format!("rows of {}: lacks {lacks:?}, has {has:?}", table.name));
                }
            }
        }
        Ok(())
    }

    /// Takes the indexes of all tables away, or adds them again.
    pub(crate) async fn alter_indexes(&mut self, adds: bool) {
        for table in self.tables.clone() {
            for at in self.places(&table) {
                if let Some(alter) = table.alter_indexes(&at.name, adds) {
                    run(self.session(&at), &alter).await;
                }
            }
        }
    }

    /// The session at the server of a table.
    fn session(&mut self, at: &At) -> &mut Client {
        match at.hostgroup.and_then(|hostgroup| self.parts.get_mut(hostgroup - 1)) {
            Some(part) => part,
            None => &mut self.whole,
        }
    }

    /// The whole table and its parts, in the order of the shards.
    fn places(&self, table: &Table) -> Vec<At> {
        let whole = At { hostgroup: None, name: format!("{SCHEMA}.{}", table.name) };
        let part = |place: &Place| At {
            hostgroup: Some(place.hostgroup),
            name: format!("{}.{}", self.real_schema(place), place.table),
        };
        std::iter::once(whole).chain(self.shards.places(table).iter().map(part)).collect()
    }

    /// The schema that a place has on its server, or on the one that stands for all.
    fn real_schema(&self, place: &Place) -> String {
        match (self.way, self.shards.split) {
            (Way::Direct, Split::Servers) => format!("{SCHEMA}_{}", place.hostgroup),
            _ => place.schema.clone(),
        }
    }

    /// The shard in which the layout has a row.
    fn shard_of(&self, table: &Table, row: &Row) -> u32 {
        self.shard_of_key(table, &row.values[KEY_AT])
    }

    fn shard_of_key(&self, table: &Table, literal: &str) -> u32 {
        let placement = self.layout.table(SCHEMA, table.name).and_then(shard::Table::placement);
        let column = self.key_column(table);
        let value = tables::key_value(literal);
        let placed = placement.map(|placement| placement.place(&[(column, value)]));
        match placed {
            Some(Ok(shard)) => shard,
            other => panic!("{literal} of {}: {other:?}", table.name),
        }
    }

    fn key_column(&self, table: &Table) -> ColumnType {
        let mut columns = self.columns.infos.get(table.name).into_iter().flatten();
        columns.find(|info| info.name == KEY).map_or(ColumnType::Unknown, |info| info.compares)
    }
}

/// A physical table.
struct At {
    /// None if it is the whole table.
    hostgroup: Option<usize>,
    /// With its schema.
    name: String,
}

/// A session with a server.
async fn connect(backend: &Backend) -> Client {
    let options = Options::tcp(backend.server.address(), USER, PASSWORD);
    Client::connect(&options).await.unwrap_or_else(|error| panic!("no session: {error}"))
}

/// Makes the schemas of a server anew.
async fn clear(client: &mut Client, hostgroups: usize) {
    for number in 0..=hostgroups {
        let schema = if number == 0 { SCHEMA.to_owned() } else { format!("{SCHEMA}_{number}") };
        run(client, &format!("DROP DATABASE IF EXISTS {schema}")).await;
        run(client, &format!("CREATE DATABASE {schema}")).await;
    }
    run(client, &format!("USE {SCHEMA}")).await;
}

/// Runs a statement that must not fail; the first cell of its result.
async fn run(client: &mut Client, sql: &str) -> String {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    result.first().unwrap_or_default()
}
