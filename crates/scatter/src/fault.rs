//! Why a reply cannot be made out of those of the shards.

use planner::merge::ColumnsError;
use wire::WireError;

use crate::limits::{SCATTER_DEFINITIONS_BYTES_MAX, SCATTER_KEPT_BYTES_MAX};

/// A reply of a shard that cannot be a part of the client's one. Displayed as the text of the
/// client's error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The reply of hostgroup {hostgroup} is of no use: {wrong}")]
pub(crate) struct Fault {
    /// The servers of the shard.
    pub(crate) hostgroup: u32,
    /// What is wrong with the reply.
    pub(crate) wrong: Wrong,
}

/// What is wrong with the reply of a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    /// Bytes that are not the protocol, or a message above the limit.
    #[error("{0}")]
    Bytes(#[from] WireError),
    /// Rows that cannot be merged.
    #[error("{0}")]
    Rows(#[from] ColumnsError),
    /// A request for a local file.
    #[error("the server asks for a local file")]
    File,
    /// More than one result.
    #[error("there are several results")]
    MoreResults,
    /// The connection ended before the reply.
    #[error("the connection was lost during the query")]
    Cut,
    /// Too many or too long definitions of columns.
    #[error("the definitions of its columns have more than {SCATTER_DEFINITIONS_BYTES_MAX} bytes")]
    Definitions,
    /// Too many rows in front of those that the same session gets later.
    #[error(
        "its tables come over one connection, one after the other, and the rows to be sorted have more than \
         {SCATTER_KEPT_BYTES_MAX} bytes; outside of a transaction there is no such limit"
    )]
    Kept,
    /// A result, and another shard has none; or the other way round.
    #[error("other shards have a result of another kind")]
    Kind,
    /// Another number of columns than at other shards.
    #[error("it has {here} columns, and {there} at another shard")]
    Columns {
        /// Columns of this shard.
        here: usize,
        /// Columns of the first shard.
        there: usize,
    },
    /// A column that differs from that of other shards.
    #[error("column {number} ('{name}') has another {what} than at another shard")]
    Column {
        /// The column's place, 1 for the first one.
        number: usize,
        /// Its name at this shard.
        name: String,
        /// What differs.
        what: &'static str,
    },
}

impl Wrong {
    /// Whether the next byte of the shard means nothing. Otherwise its replies can be told apart.
    pub(super) const fn is_about_bytes(&self) -> bool {
        !matches!(self, Self::Rows(_) | Self::Kept | Self::Kind | Self::Columns { .. } | Self::Column { .. })
    }
}

impl Fault {
    /// Code and SQL state of the client's error: `ER_NET_PACKET_TOO_LARGE`, `CR_SERVER_LOST`,
    /// `ER_NOT_SUPPORTED_YET`, `ER_UNKNOWN_ERROR` for tables that differ, `ER_MALFORMED_PACKET`.
    pub(super) const fn code(&self) -> (u16, [u8; 5]) {
        match self.wrong {
            Wrong::Bytes(WireError::TooLong { .. }) => (1153, *b"08S01"),
            Wrong::Cut => (2013, *b"HY000"),
            Wrong::Kept => (1235, *b"42000"),
            Wrong::Kind | Wrong::Columns { .. } | Wrong::Column { .. } => (1105, *b"HY000"),
            Wrong::Bytes(_) | Wrong::Rows(_) | Wrong::File | Wrong::MoreResults | Wrong::Definitions => {
                (1835, *b"HY000")
            }
        }
    }
}
