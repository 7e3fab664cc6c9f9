//! One step of a placement: a function of some key columns narrows the nodes.

use smallvec::SmallVec;

use crate::condition::{Condition, KeyRange, Test};
use crate::key::{ColumnType, Key};
use crate::limits::{COLUMNS_MAX, COMBINATIONS_MAX};
use crate::placement::Function;
use crate::prune::{Reason, Shard, Shards};
use crate::value::Value;

/// Values of the key columns of a level.
type Keys<'a> = SmallVec<[Key<'a>; COLUMNS_MAX]>;

/// Function, with the nodes that each of its numbers stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Positions of the function's columns among the key columns of the table. None if a hint
    /// names the shard.
    pub columns: Vec<usize>,
    /// The function.
    pub function: Function,
    /// The nodes of each number of the function. Without, number `i` is node `i`.
    pub nodes: Option<Vec<Shards>>,
}

impl Level {
    /// Nodes that the conditions leave, or why they leave all.
    pub(super) fn prune(&self, conditions: &[Condition<'_>]) -> Result<Shards, Reason> {
        match *self.columns.as_slice() {
            [] => Err(Reason::Hint),
            [column] => self.prune_one(conditions.get(column).ok_or(Reason::NoCondition)?),
            _ => self.prune_many(conditions),
        }
    }

    /// The one node that has a key, if nothing has to be narrowed: the way of most statements.
    pub(super) fn only_node(&self, conditions: &[Condition<'_>]) -> Option<Shard> {
        let &[column] = self.columns.as_slice() else { return None };
        let Condition { column, test: Test::Equal(value) } = *conditions.get(column)? else { return None };
        let key = Key::compared(column, value).ok()?;
        let integer = match key {
            Key::Integer(key) => Some((key, key)),
            _ => None,
        };
        let is_plain = self.nodes.is_none() && self.function.is_certain(integer);
        if is_plain { self.function.place(&[key]).ok() } else { None }
    }

    fn prune_one(&self, condition: &Condition<'_>) -> Result<Shards, Reason> {
        match condition.test {
            Test::Any => Err(Reason::NoCondition),
            Test::Equal(value) => {
                let key = Key::compared(condition.column, value)?;
                self.nodes_of(&self.function.locate(&[key])?)
            }
            Test::In(values) => {
                let mut numbers = Shards::default();
                for value in values.iter().filter(|value| **value != Value::Null) {
                    let key = Key::compared(condition.column, *value)?;
                    numbers.extend(&self.function.locate(&[key])?);
                }
                self.nodes_of(&numbers)
            }
            Test::Range(lower, upper) => {
                let range = KeyRange::compared(condition.column, lower, upper)?;
                self.nodes_of(&self.function.range(&range)?)
            }
        }
    }

    /// The nodes of all combinations of the values of several columns.
    fn prune_many(&self, conditions: &[Condition<'_>]) -> Result<Shards, Reason> {
        let mut combinations: Vec<Keys<'_>> = vec![Keys::new()];
        for column in &self.columns {
            let condition = conditions.get(*column).ok_or(Reason::NoCondition)?;
            let one;
            let values = match condition.test {
                Test::Any => return Err(Reason::NoCondition),
                Test::Range(..) => return Err(Reason::Range),
                Test::Equal(value) => {
                    one = [value];
                    one.as_slice()
                }
                Test::In(values) => values,
            };
            if combinations.len().saturating_mul(values.len()) > COMBINATIONS_MAX {
                return Err(Reason::Combinations);
            }
            let mut longer = Vec::with_capacity(combinations.len() * values.len());
            for value in values {
                let key = Key::compared(condition.column, *value)?;
                longer.extend(
                    combinations.iter().map(|keys| keys.iter().copied().chain([key]).collect::<Keys<'_>>()),
                );
            }
            combinations = longer;
        }
        let mut numbers = Shards::default();
        for keys in &combinations {
            numbers.extend(&self.function.locate(keys)?);
        }
        self.nodes_of(&numbers)
    }

    /// Nodes in which a row with these values of the key columns may be stored.
    pub(super) fn place(&self, row: &[(ColumnType, Value<'_>)]) -> Result<Shards, Reason> {
        if self.columns.is_empty() {
            return Err(Reason::Hint);
        }
        let key = |column: &usize| {
            let (column, value) = row.get(*column).ok_or(Reason::NoCondition)?;
            Key::stored(*column, *value)
        };
        let keys: Keys<'_> = self.columns.iter().map(key).collect::<Result<_, _>>()?;
        self.nodes_of(&Shards::one(self.function.place(&keys)?))
    }

    /// Nodes that a hint leaves.
    pub(super) fn hinted(&self, hint: Key<'_>) -> Result<Shards, Reason> {
        if self.columns.is_empty() {
            self.nodes_of(&self.function.locate(&[hint])?)
        } else {
            Err(Reason::NoCondition)
        }
    }

    /// Whether two levels put equal keys into nodes of equal numbers.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let same_function = match (&self.function, &other.function) {
            (Function::Inline(one), Function::Inline(other)) => one.is_like(other),
            (one, other) => one == other,
        };
        same_function && self.columns == other.columns && self.nodes == other.nodes
    }

    fn nodes_of(&self, numbers: &Shards) -> Result<Shards, Reason> {
        if numbers.as_slice().is_empty() {
            return Err(Reason::Null);
        }
        let Some(nodes) = &self.nodes else { return Ok(numbers.clone()) };
        let of = |number: &Shard| nodes.get(usize::try_from(*number).ok()?);
        let mut found = Shards::default();
        for number in numbers.as_slice() {
            found.extend(of(number).ok_or(Reason::OutOfRange)?);
        }
        Ok(found)
    }
}
