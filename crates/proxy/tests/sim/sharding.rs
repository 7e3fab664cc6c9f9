//! Two shards beside the home: their servers, the layout, and where rows are.

use std::sync::Arc;

use config::{Config, Server, ShardTransactions};
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Layout, Node, Table};

use super::dialect::Dialect;
use super::dice::Dice;
use super::model::{Answer, PER_OWNER};

/// Makes the dice of this scope other ones than those of the seed: seeds without shards stay as
/// they were before there was this scope.
const SALT: u64 = 0x5348_4152_4453;

/// The schema and the name of the sharded table.
pub(super) const TABLE: [&str; 2] = ["s1", "o"];

/// Hostgroups of the shards, in the order of their numbers.
pub(super) const HOSTGROUPS: [u32; 2] = [2, 3];

/// The servers of the shards, in the same order.
pub(super) const SERVERS: [&str; 2] = ["shard0", "shard1"];

/// Rows of an owner from this number on are in the sharded table; those before are in `t`.
const FIRST: u64 = PER_OWNER / 2;

/// How a seed with shards writes.
#[derive(Debug, Clone)]
pub(super) struct Sharding {
    /// `shard_transactions` is `single`: a transaction writes at one server.
    pub(super) has_one_writer: bool,
    /// The same one with each configuration: what a worker knows of tables belongs to it.
    layout: Arc<Layout>,
}

impl Sharding {
    /// Whether a seed has shards, and how.
    pub(super) fn roll(seed: u64) -> Option<Self> {
        let dice = Dice::new(seed ^ SALT);
        dice.one_in(4).then(|| Self { has_one_writer: dice.one_in(5), layout: Arc::new(layout()) })
    }

    /// Adds the shards to a configuration.
    pub(super) fn configure(&self, config: &mut Config, max_connections: u32) {
        for (hostgroup_id, server) in HOSTGROUPS.into_iter().zip(SERVERS) {
            let hostname = server.to_owned();
            config.servers.push(Server { hostgroup_id, hostname, max_connections, ..Server::default() });
        }
        config.shards = Some(Arc::clone(&self.layout));
        config.pointsman.shard_transactions =
            if self.has_one_writer { ShardTransactions::Single } else { ShardTransactions::BestEffort };
    }
}

/// The table by `id`: even ones in the first hostgroup.
fn layout() -> Layout {
    let [schema, table] = TABLE;
    let node = |hostgroup| Node { hostgroup, schema: schema.to_owned(), table: table.to_owned() };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let nodes = HOSTGROUPS.map(node).to_vec();
    let table = Table::sharded(TABLE, nodes, vec!["id".to_owned()], vec![level]);
    let hostgroups = [vec![0], HOSTGROUPS.to_vec()].concat();
    Layout::new(Draft { hostgroups, tables: vec![table], ..Draft::default() }).expect("a valid layout")
}

/// The shard that a server is; nothing for those of the home.
pub(super) fn number_of(server: &str) -> Option<usize> {
    SERVERS.iter().position(|name| server.starts_with(name))
}

/// Whether a row is in the sharded table.
pub(super) const fn is_sharded(id: u64) -> bool {
    id % PER_OWNER >= FIRST
}

/// The row of an owner in the sharded table that has this number.
pub(super) const fn sharded_id(owner: u64, number: u64) -> u64 {
    owner * PER_OWNER + FIRST + number
}

/// The shard of a row.
pub(super) const fn shard_of(id: u64) -> usize {
    if id.is_multiple_of(2) { 0 } else { 1 }
}

/// What a server says of the sharded table to the proxy, in the columns that the proxy asks for.
pub(super) fn definition(dialect: Dialect) -> Answer {
    let version = dialect.version().trim_start_matches("5.5.5-");
    let rows: [&[Option<&str>]; 4] = [
        &[Some("0"), Some("BASE TABLE"), Some("InnoDB"), Some(version), Some("1024")],
        &column("1", "id"),
        &column("2", "owner"),
        &[Some("2"), Some("1"), Some("PRIMARY"), Some("0"), Some("id"), None],
    ];
    let wide = |row: &[Option<&str>]| {
        let mut row: Vec<_> = row.iter().map(|cell| cell.map(str::to_owned)).collect();
        row.resize(WIDTH, None);
        row
    };
    Answer::Rows { columns: vec!["?".to_owned(); WIDTH], rows: rows.map(wide).to_vec() }
}

/// Columns of a definition.
const WIDTH: usize = 13;

fn column(position: &'static str, name: &'static str) -> [Option<&'static str>; 8] {
    let kind = Some("bigint");
    [Some("1"), Some(position), Some(name), kind, kind, Some("NO"), None, Some("")]
}
