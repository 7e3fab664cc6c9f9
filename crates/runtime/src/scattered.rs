//! What a command does at several shards, however it was planned.

use planner::merge::{Order, Window};
use planner::plan::{Branch, Counts, Ids, Scatter, Write};
use planner::seen::Cells;

use crate::gates::TableName;

/// What a command does at several shards.
#[derive(Debug, Clone)]
pub struct Scattered {
    /// What each shard gets.
    pub branches: Vec<Branch>,
    /// The hidden keys at the end of rows.
    pub order: Order,
    /// LIMIT and OFFSET of the client.
    pub window: Window,
    /// The client's numbers of the rows of each branch; empty if they are the same.
    pub rows: Vec<Vec<u32>>,
    /// How the numbers of rows become one.
    pub counts: Counts,
    /// Ids of a sequence.
    pub ids: Option<Ids>,
    /// Names that are replaced in rows.
    pub cells: Cells,
    /// The tables that the statement names.
    pub tables: Vec<TableName>,
    /// It defines a table: each node gets it.
    pub is_definition: bool,
    /// It changes rows by the time, which is to be the same at all servers.
    pub has_time: bool,
    /// It changes a table that is on one node only, whose server may make an id.
    pub is_single: bool,
}

impl Scattered {
    /// Whether it reads rows of tables of the layout, at several shards.
    pub fn is_query(&self) -> bool {
        self.branches.len() > 1 && !self.tables.is_empty() && self.ids.is_none() && self.cells == Cells::Plain
    }
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
pub fn has_several_servers(branches: &[Branch]) -> bool {
    branches.windows(2).any(|pair| matches!(pair, [one, other] if one.hostgroup != other.hostgroup))
}

/// Whether two branches are for one server.
pub fn has_twins(branches: &[Branch]) -> bool {
    let mut all: Vec<u32> = branches.iter().map(|branch| branch.hostgroup).collect();
    all.sort_unstable();
    all.windows(2).any(|pair| matches!(pair, [one, other] if one == other))
}
