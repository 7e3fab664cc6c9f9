//! Where a statement goes.

use shard::Reason;

use crate::merge::{Order, Summary, Window};

use super::{Limited, Load, Refusal};

/// Where a statement goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It names no table of the layout: the home of other tables has it.
    Home,
    /// All that it concerns is on one server.
    One(Branch),
    /// Each of several servers executes it, and answers with rows.
    Many(Scatter),
    /// It changes rows on one server or several, and each answers with an OK packet.
    Write(Write),
    /// It changes the first rows of several servers.
    Limited(Box<Limited>),
    /// It loads a file of the client into a table of several nodes.
    Load(Box<Load>),
    /// It defines tables, once for each node, in the order of the nodes. Several may be on one
    /// server.
    Each(Vec<Branch>),
    /// It needs ids of a sequence: plan it again with them in [`Asked::ids`](super::Asked::ids).
    NeedsIds(Wanted),
    /// It cannot be executed.
    Refused(Refusal),
}

/// A statement for one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The servers.
    pub hostgroup: u32,
    /// The text; none if it is that of the client.
    pub text: Option<Vec<u8>>,
    /// The numbers of the client's placeholders that the text has, rising; none if it has all.
    pub placeholders: Option<Vec<u32>>,
}

/// A statement for several servers, whose rows become one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    /// One for each shard, in the order of the shards.
    pub branches: Vec<Branch>,
    /// The hidden keys at the end of the select list.
    pub order: Order,
    /// LIMIT and OFFSET of the client's statement.
    pub window: Window,
    /// Why it does not concern one server only.
    pub why: Reason,
}

/// A statement that changes rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// One for each shard, in the order of the shards.
    pub branches: Vec<Branch>,
    /// The client's numbers of the rows of each branch, from 1, for texts such as "at row 2".
    /// Empty if each branch has the numbers of the client.
    pub rows: Vec<Vec<u32>>,
    /// How the numbers in the OK packets become one.
    pub counts: Counts,
    /// Ids of a sequence, if the table that is inserted into has one.
    pub ids: Option<Ids>,
    /// Why it does not concern one server only.
    pub why: Reason,
}

/// How the numbers in the OK packets of several servers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// They are added: each server changes rows of its own.
    Sum,
    /// They are added: each server inserts rows of its own, one or more.
    Rows {
        /// Whether the statement has IGNORE.
        ignores: bool,
    },
    /// Those of any one are right: each server changes the same rows.
    Same,
}

impl Counts {
    /// Nothing yet, to which the OK packets are added.
    pub fn summary(self) -> Summary {
        match self {
            Self::Rows { ignores } => Summary::of_rows(ignores),
            Self::Sum | Self::Same => Summary::default(),
        }
    }
}

/// What a statement says to a sequence, and gets of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Logical schema of the table.
    pub schema: String,
    /// Logical name of the table.
    pub table: String,
    /// The first id that the statement got: what `LAST_INSERT_ID()` is from then on. None if all
    /// rows have ids of the client.
    pub first: Option<u64>,
    /// The largest id of the client, which the sequence must not give any more.
    pub largest: Option<u64>,
}

/// Ids that a statement needs before it can be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Logical schema of the table.
    pub schema: String,
    /// Logical name of the table.
    pub table: String,
    /// How many: one for each row without an id, in rising order.
    pub count: usize,
}
