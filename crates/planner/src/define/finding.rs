//! What is wrong with the tables behind a layout.

use std::fmt;

use super::parts;
use shard::Node;

/// Something that is wrong with a physical table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Logical schema and table.
    pub table: [String; 2],
    /// The node.
    pub node: Node,
    /// The column, if it is about one.
    pub column: Option<String>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a physical table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The server has no such table, or the user does not see it.
    NoTable,
    /// It is a view or something else that is no table.
    Kind(String),
    /// A column that decides where rows are is not there.
    NoColumn,
    /// The server computes a column that decides where rows are: statements do not say its value.
    Generated,
    /// The column of a sequence is not there.
    NoSequenceColumn,
    /// Each node numbers its rows for itself, and the layout has no sequence.
    OwnNumbers,
    /// Rows that a unique key takes for equal may be in several shards.
    UniqueApart {
        /// Name of the key.
        key: String,
        /// The column that decides where rows are.
        by: String,
        /// Whether the key has the column; then rows that it takes for equal have other shards.
        is_inexact: bool,
    },
    /// Statements name the shard, so that a unique key holds within a shard only.
    UniqueByHint {
        /// Name of the key.
        key: String,
    },
    /// Each copy of a row has another value, because servers make it themselves.
    OwnValue {
        /// The function that makes it.
        function: String,
        /// The trigger that calls the function; none for what a column gets by its definition.
        trigger: Option<String>,
    },
    /// A row that a foreign key refers to may be elsewhere.
    ForeignApart {
        /// Name of the foreign key.
        key: String,
        /// Schema and table that it refers to.
        to: [String; 2],
    },
    /// The node differs from the first one.
    Differs {
        /// Parts that only this node has.
        here: Vec<String>,
        /// Parts that only the first node has.
        first: Vec<String>,
    },
}

impl Problem {
    /// Whether a write may store rows that a look-up does not find, or that are there twice.
    /// Numbers that servers would make are refused one by one; keys that are not unique change no
    /// rows.
    pub fn stops_writes(&self) -> bool {
        match self {
            Self::OwnNumbers => false,
            Self::Differs { here, first } => here.iter().chain(first).any(|part| !parts::is_plain_key(part)),
            Self::NoTable
            | Self::Kind(_)
            | Self::NoColumn
            | Self::Generated
            | Self::NoSequenceColumn
            | Self::UniqueApart { .. }
            | Self::UniqueByHint { .. }
            | Self::OwnValue { .. }
            | Self::ForeignApart { .. } => true,
        }
    }
}

/// Parts of a difference that are shown.
const PARTS_SHOWN_MAX: usize = 3;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Node { hostgroup, schema, table } = &self.node;
        write!(f, "table {}, hostgroup {hostgroup}, {schema}.{table}", self.table.join("."))?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable => f.write_str("there is no such table, or the user has no privilege for it"),
            Self::Kind(kind) => write!(f, "it is a {kind}, not a table"),
            Self::NoColumn => f.write_str("there is no such column, but it is in the table's `key`"),
            Self::Generated => {
                f.write_str("the server computes the column, so that no INSERT says where its rows go")
            }
            Self::NoSequenceColumn => f.write_str("there is no such column, but a sequence is for it"),
            Self::OwnNumbers => f.write_str(
                "each server numbers its rows for itself, so numbers come twice: the table needs a sequence",
            ),
            Self::UniqueApart { key, by, is_inexact: false } => write!(
                f,
                "the unique key {key} lacks the column {by}, so that values are unique within a shard only; \
                 add the column, or say unique = \"unchecked\""
            ),
            Self::UniqueApart { key, by, is_inexact: true } => write!(
                f,
                "the unique key {key} takes values of {by} for equal that have other shards; give the column \
                 a binary collation, or say unique = \"unchecked\""
            ),
            Self::UniqueByHint { key } => write!(
                f,
                "hints name the shards of the table, so that the unique key {key} holds within a shard only; say \
                 unique = \"unchecked\""
            ),
            Self::OwnValue { function, trigger: None } => write!(
                f,
                "the copies of a row differ where a statement does not say the value: each server has its own \
                 {function}(); give the column another default"
            ),
            Self::OwnValue { function, trigger: Some(trigger) } => write!(
                f,
                "the copies of a row differ: the trigger {trigger} calls {function}(), and each server has its \
                 own value; drop the trigger"
            ),
            Self::ForeignApart { key, to } => write!(
                f,
                "the foreign key {key} refers to {}, whose rows may be elsewhere; put both tables into a \
                 group, or say unique = \"unchecked\"",
                to.join(".")
            ),
            Self::Differs { here, first } => {
                f.write_str("it differs from the first node")?;
                for (who, parts) in [("here", here), ("there", first)] {
                    for part in parts.iter().take(PARTS_SHOWN_MAX) {
                        write!(f, "; only {who}: {part}")?;
                    }
                    if let Some(more) = parts.len().checked_sub(PARTS_SHOWN_MAX).filter(|more| *more > 0) {
                        write!(f, "; {more} more only {who}")?;
                    }
                }
                Ok(())
            }
        }
    }
}
