//! What a command does at several shards, however it was planned.

use shard::merge::{Order, Window};
use shard::plan::{Branch, Counts, Ids, Scatter, Write};
use shard::seen::Cells;

use crate::gates::TableName;

/// What a command does at several shards.
#[derive(Debug)]
pub(super) struct Scattered {
    /// What each shard gets.
    pub(super) branches: Vec<Branch>,
    /// The hidden keys at the end of rows.
    pub(super) order: Order,
    /// LIMIT and OFFSET of the client.
    pub(super) window: Window,
    /// The client's numbers of the rows of each branch; empty if they are the same.
    pub(super) rows: Vec<Vec<u32>>,
    /// How the numbers of rows become one.
    pub(super) counts: Counts,
    /// Ids of a sequence.
    pub(super) ids: Option<Ids>,
    /// Names that are replaced in rows.
    pub(super) cells: Cells,
    /// The tables that the statement names.
    pub(super) tables: Vec<TableName>,
    /// It defines a table: each node gets it.
    pub(super) is_definition: bool,
    /// It changes rows by the time, which is to be the same at all servers.
    pub(super) has_time: bool,
    /// It changes a table that is on one node only, whose server may make an id.
    pub(super) is_single: bool,
}

impl From<Vec<Branch>> for Scattered {
    /// Branches that answer with OK packets, or rows in any order.
    fn from(branches: Vec<Branch>) -> Self {
        Self {
            branches,
            order: Order::default(),
            window: Window::ALL,
            rows: Vec::new(),
            counts: Counts::Sum,
            ids: None,
            cells: Cells::Plain,
            tables: Vec::new(),
            is_definition: false,
            has_time: false,
            is_single: false,
        }
    }
}

impl From<Scatter> for Scattered {
    fn from(Scatter { branches, order, window, .. }: Scatter) -> Self {
        Self { order, window, ..branches.into() }
    }
}

impl From<Write> for Scattered {
    fn from(Write { branches, rows, counts, ids, .. }: Write) -> Self {
        Self { rows, counts, ids, ..branches.into() }
    }
}

/// Whether the branches are for more than one server.
pub(super) fn has_several_servers(branches: &[Branch]) -> bool {
    branches.windows(2).any(|pair| matches!(pair, [one, other] if one.hostgroup != other.hostgroup))
}

/// Whether two branches are for one server.
pub(super) fn has_twins(branches: &[Branch]) -> bool {
    let mut all: Vec<u32> = branches.iter().map(|branch| branch.hostgroup).collect();
    all.sort_unstable();
    all.windows(2).any(|pair| matches!(pair, [one, other] if one == other))
}
