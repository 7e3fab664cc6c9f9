//! What must hold between the columns of a row.

use super::Scalar;
use crate::row::Row;

/// One condition on a row. The first column is the one that is wrong when it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The two columns have different values.
    Differ(&'static str, &'static str),
    /// The first is 0, or differs from the second.
    ZeroOrOther(&'static str, &'static str),
    /// The first is only set where the second is.
    Needs(&'static str, &'static str),
    /// The first character of the column is this one.
    StartsWith(&'static str, char),
}

impl Rule {
    /// The column that is wrong when the rule does not hold.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Differ(column, _)
            | Self::ZeroOrOther(column, _)
            | Self::Needs(column, _)
            | Self::StartsWith(column, _) => column,
        }
    }

    /// Whether `row` keeps it.
    pub(crate) fn holds(self, row: &Row) -> bool {
        let set = |column| match row.scalar(column) {
            Scalar::Null => false,
            Scalar::Text(text) => !text.is_empty(),
            Scalar::Bool(_) | Scalar::Int(_) => true,
        };
        match self {
            Self::Differ(one, other) => row.scalar(one) != row.scalar(other),
            Self::ZeroOrOther(one, other) => {
                *row.scalar(one) == Scalar::Int(0) || row.scalar(one) != row.scalar(other)
            }
            Self::Needs(one, other) => !set(one) || set(other),
            Self::StartsWith(column, first) => {
                matches!(row.scalar(column), Scalar::Text(text) if text.starts_with(first))
            }
        }
    }

    /// What is wrong, as the rest of a sentence that starts with the column's name.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Differ(_, other) => format!("must differ from `{other}`"),
            Self::ZeroOrOther(_, other) => format!("must be 0 or differ from `{other}`"),
            Self::Needs(_, other) => format!("may only be set with `{other}`"),
            Self::StartsWith(_, first) => format!("must start with `{first}`"),
        }
    }

    /// The condition in SQL.
    pub(super) fn sql(self) -> String {
        match self {
            Self::Differ(one, other) => format!("{one} <> {other}"),
            Self::ZeroOrOther(one, other) => format!("{one} = 0 OR {one} <> {other}"),
            Self::Needs(one, other) => format!("{one} IS NULL OR {one} = '' OR {other} IS NOT NULL"),
            Self::StartsWith(column, first) => format!("SUBSTR({column},1,1) = '{first}'"),
        }
    }
}
