//! A server with the same rows twice: in one table each, and split.

use std::collections::HashMap;

use e2e::dice::Dice;
use e2e::{Backend, Make};
use shard::plan::{ColumnInfo, Definitions};
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

/// Most hostgroups of a world.
const HOSTGROUPS_MAX: usize = 8;

/// Tables, split and not, and sessions.
pub(crate) struct World {
    pub(crate) make: Make,
    pub(crate) dialect: Dialect,
    pub(crate) shards: Shards,
    pub(crate) tables: Vec<Table>,
    pub(crate) layout: Layout,
    pub(crate) columns: Columns,
    /// Where tables are whole.
    pub(crate) whole: Client,
    /// One for each hostgroup; the first is 1.
    pub(crate) parts: Vec<Client>,
}

/// The columns of all tables.
#[derive(Debug)]
pub(crate) struct Columns(HashMap<&'static str, Vec<ColumnInfo>>);

impl Definitions for Columns {
    fn columns(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        self.0.get(table).filter(|_| schema == SCHEMA).map(Vec::as_slice)
    }
}

impl World {
    /// Tables of this seed, in place of those of the world before.
    pub(crate) async fn new(backend: &Backend, seed: u64, split: Split) -> Self {
        let mut dice = Dice::new(seed, 0);
        let shards = Shards::random(&mut dice, split);
        let tables = tables::random(&mut dice, shards.count, &collations::of(backend));
        let layout = shards.layout(&tables);
        let info = |table: &Table| {
            let info = |column: &tables::Column| column.of.info(&column.name, backend.make);
            (table.name, table.columns.iter().map(info).collect())
        };
        let columns = Columns(tables.iter().map(info).collect());
        let mut whole = connect(backend, None).await;
        let version = run(&mut whole, "SELECT VERSION()").await;
        for number in 0..=HOSTGROUPS_MAX {
            let schema = if number == 0 { SCHEMA.to_owned() } else { format!("{SCHEMA}_{number}") };
            run(&mut whole, &format!("DROP DATABASE IF EXISTS {schema}")).await;
            run(&mut whole, &format!("CREATE DATABASE {schema}")).await;
        }
        run(&mut whole, &format!("USE {SCHEMA}")).await;
        let mut parts = Vec::new();
        for hostgroup in 1..=shards.hostgroups {
            let place = Place { hostgroup, schema: SCHEMA.to_owned(), table: String::new() };
            parts.push(connect(backend, Some(&real_schema(&shards, &place))).await);
        }
        let dialect = Dialect::of(version.as_bytes()).unwrap_or_else(|| panic!("{version}"));
        let mut world = Self { make: backend.make, dialect, shards, tables, layout, columns, whole, parts };
        world.fill().await;
        world
    }

    async fn fill(&mut self) {
        for table in self.tables.clone() {
            for (name, number) in self.names(&table).iter().zip(0..) {
                let is_here = |row: &&Row| {
                    number == 0 || table.function.is_none() || self.shard_of(&table, row) == number - 1
                };
                let rows: Vec<_> = table.rows.iter().filter(is_here).collect();
                self.make_table(&table, name, &rows).await;
            }
        }
    }

    async fn make_table(&mut self, table: &Table, name: &str, rows: &[&Row]) {
        run(&mut self.whole, &table.create(name)).await;
        if let Some(insert) = table.insert(name, rows) {
            run(&mut self.whole, &insert).await;
        }
    }

    /// Runs a statement where the tables are whole.
    pub(crate) async fn ask_whole(&mut self, written: &Written) -> Answer {
        answer::query(&mut self.whole, written.sql.as_bytes(), written.values.as_deref()).await
    }

    /// Runs a statement in all sessions.
    pub(crate) async fn everywhere(&mut self, sql: &str) {
        run(&mut self.whole, sql).await;
        for part in &mut self.parts {
            run(part, sql).await;
        }
    }

    /// Compares the rows of the whole tables with those of their parts, each of which has to be in
    /// the shard of its key.
    pub(crate) async fn check_rows(&mut self) -> Result<(), Difference> {
        for table in self.tables.clone() {
            let mut parts = Vec::new();
            for (name, number) in self.names(&table).iter().zip(0..) {
                let sql = format!("SELECT * FROM {name} ORDER BY id, k");
                let rows = answer::query(&mut self.whole, sql.as_bytes(), None).await.rows;
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
        for table in &self.tables {
            for name in self.names(table) {
                if let Some(alter) = table.alter_indexes(&name, adds) {
                    run(&mut self.whole, &alter).await;
                }
            }
        }
    }

    /// The whole table and its parts, in the order of the shards.
    fn names(&self, table: &Table) -> Vec<String> {
        let whole = format!("{SCHEMA}.{}", table.name);
        let places = self.shards.places(table);
        let name = |place: &Place| format!("{}.{}", real_schema(&self.shards, place), place.table);
        let parts: Vec<_> = places.iter().map(name).filter(|name| *name != whole).collect();
        std::iter::once(whole).chain(parts).collect()
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
        let mut columns = self.columns.0.get(table.name).into_iter().flatten();
        columns.find(|info| info.name == KEY).map_or(ColumnType::Unknown, |info| info.compares)
    }
}

/// The schema that has a place on a server that stands for all.
fn real_schema(shards: &Shards, place: &Place) -> String {
    match shards.split {
        Split::Servers => format!("{SCHEMA}_{}", place.hostgroup),
        Split::Suffixes | Split::Both => place.schema.clone(),
    }
}

/// A session in this schema.
async fn connect(backend: &Backend, schema: Option<&str>) -> Client {
    let options = Options::tcp(backend.server.address(), USER, PASSWORD);
    let options = schema.map_or(options.clone(), |schema| options.schema(schema));
    Client::connect(&options).await.unwrap_or_else(|error| panic!("no session: {error}"))
}

/// Runs a statement that must not fail; the first cell of its result.
async fn run(client: &mut Client, sql: &str) -> String {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    result.first().unwrap_or_default()
}
