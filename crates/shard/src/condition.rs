//! What a statement says about one key column of a table.

use std::ops::Bound;

use crate::key::{ColumnType, Key};
use crate::prune::Reason;
use crate::value::Value;

/// Condition that every row has to meet which the statement matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// How the column compares.
    pub column: ColumnType,
    /// What is asked of it.
    pub test: Test<'a>,
}

/// Comparison with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test<'a> {
    /// Nothing is known of the column.
    Any,
    /// `column = value`.
    Equal(Value<'a>),
    /// `column IN (values)`.
    In(&'a [Value<'a>]),
    /// `column > lower AND column <= upper` and the like.
    Range(Bound<Value<'a>>, Bound<Value<'a>>),
}

/// Range of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange<'a> {
    /// Lower end.
    pub lower: Bound<Key<'a>>,
    /// Upper end.
    pub upper: Bound<Key<'a>>,
}

impl<'a> KeyRange<'a> {
    /// The range of keys between two values that are compared with `column`.
    pub(crate) fn compared(
        column: ColumnType,
        lower: Bound<Value<'a>>,
        upper: Bound<Value<'a>>,
    ) -> Result<Self, Reason> {
        let end = |bound| {
            Ok(match bound {
                Bound::Included(value) => Bound::Included(Key::compared(column, value)?),
                Bound::Excluded(value) => Bound::Excluded(Key::compared(column, value)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        Ok(Self { lower: end(lower)?, upper: end(upper)? })
    }

    /// The range as integers, both ends included; nothing for an open end. Fails if an end is of
    /// another kind.
    pub(crate) fn integers(&self) -> Result<(Option<i128>, Option<i128>), Reason> {
        let end = |bound: Bound<Key<'_>>, inward: i128| match bound {
            Bound::Included(Key::Integer(value)) => Ok(Some(value)),
            Bound::Excluded(Key::Integer(value)) => Ok(Some(value + inward)),
            Bound::Unbounded => Ok(None),
            Bound::Included(_) | Bound::Excluded(_) => Err(Reason::Kind),
        };
        Ok((end(self.lower, 1)?, end(self.upper, -1)?))
    }
}
