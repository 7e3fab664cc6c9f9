//! From the conditions of a statement to the shards that it needs.

mod dates;
mod decimal;
mod function;
pub mod gaea;
mod hash;
mod intervals;
mod level;
mod list;
mod modulo;
mod ranges;
pub mod sphere;

pub use dates::{Dates, Unit};
pub use function::Function;
pub use hash::Hash;
pub use intervals::{Intervals, Step, StepUnit};
pub use level::Level;
pub use list::{Item, List};
pub use modulo::{Modulo, Sign};
pub use ranges::Ranges;
pub(crate) use sphere::{long_hash, text_hash};

use crate::condition::Condition;
use crate::key::{ColumnType, Key};
use crate::prune::{Prune, Reason, Shard, Shards};
use crate::value::Value;

/// Where the rows of a table are: levels, each of which narrows the nodes by a function of its own.
/// A table with a database strategy and a table strategy has two; without a level all rows may be
/// anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    nodes: u32,
    levels: Vec<Level>,
}

impl Placement {
    /// Placement over `nodes` nodes. Each level has to yield numbers of them, which
    /// [`Layout`](crate::Layout) checks.
    pub(crate) fn new(nodes: u32, levels: Vec<Level>) -> Self {
        Self { nodes, levels }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The levels.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Shards that have all rows which meet `conditions`: one for each key column of the table, in
    /// the order of [`Table::key_columns`](crate::Table::key_columns).
    pub fn prune(&self, conditions: &[Condition<'_>]) -> Prune {
        if let [level] = self.levels.as_slice()
            && let Some(shard) = level.only_node(conditions)
        {
            return Prune::One(shard);
        }
        self.narrow(|level| level.prune(conditions))
    }

    /// Whether rows whose key columns compare as equal are always in one shard, for columns of
    /// these types: then a join over the keys of colocated tables stays within a shard.
    pub fn keeps_equal_together(&self, columns: &[ColumnType]) -> bool {
        let is_exact = |level: &Level, at: &usize| {
            let Some(column) = columns.get(*at) else { return false };
            let integers = match *column {
                ColumnType::Integer { min, max } => Some((min.into(), max.into())),
                _ => None,
            };
            let is_known = column.kind().is_some_and(|kind| level.function.kinds().contains(&kind));
            is_known && level.function.is_certain(integers)
        };
        let holds =
            |level: &Level| !level.columns.is_empty() && level.columns.iter().all(|at| is_exact(level, at));
        self.nodes == 1 || !self.levels.is_empty() && self.levels.iter().all(holds)
    }

    /// Shards that a hint names, where only a hint can.
    pub fn hinted(&self, hint: Key<'_>) -> Prune {
        self.narrow(|level| level.hinted(hint))
    }

    /// The shard for a new row, whose key columns have these types and values. Fails where the
    /// shard is not certain.
    pub fn place(&self, row: &[(ColumnType, Value<'_>)]) -> Result<Shard, Reason> {
        let mut found: Option<Shards> = None;
        for level in &self.levels {
            let nodes = level.place(row)?;
            found = Some(found.map_or_else(|| nodes.clone(), |found| found.intersection(&nodes)));
        }
        match (found.as_ref().map(Shards::as_slice), self.nodes) {
            (None, 1) => Ok(0),
            (Some(&[shard]), _) => Ok(shard),
            (Some([]), _) => Err(Reason::OutOfRange),
            _ => Err(Reason::NoCondition),
        }
    }

    fn narrow(&self, level_nodes: impl Fn(&Level) -> Result<Shards, Reason>) -> Prune {
        if self.nodes == 1 {
            return Prune::One(0);
        }
        let mut found: Option<Shards> = None;
        let mut reason = Reason::NoCondition;
        for level in &self.levels {
            match level_nodes(level) {
                Ok(nodes) => {
                    found = Some(match found {
                        Some(found) => found.intersection(&nodes),
                        None => nodes,
                    });
                }
                Err(why) => reason = why,
            }
        }
        let Some(found) = found else { return Prune::All(reason) };
        match *found.as_slice() {
            [] => Prune::All(Reason::Contradiction),
            [shard] => Prune::One(shard),
            ref shards if u32::try_from(shards.len()) == Ok(self.nodes) => Prune::All(Reason::Covers),
            _ => Prune::Some(found),
        }
    }
}

/// A number of a shard, which a function has computed.
fn count(number: impl TryInto<Shard>) -> Result<Shard, Reason> {
    number.try_into().map_err(|_| Reason::OutOfRange)
}

/// The shards from `first` to `last`. Fails if there are none.
fn span(first: usize, last: Option<usize>) -> Result<Shards, Reason> {
    let last = last.filter(|last| first <= *last).ok_or(Reason::OutOfRange)?;
    Ok((count(first)?..=count(last)?).collect())
}

#[cfg(test)]
mod tests;
