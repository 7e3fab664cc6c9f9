//! A column whose values the proxy makes.

use crate::limits::{COUNTER_MAX, STEP_MAX, WORKER_MAX};

/// Ids of a segment, if nothing is said.
pub const SEGMENT_STEP_DEFAULT: u32 = 1_000;

/// [`SequenceKind::Snowflake::vibration`], if nothing is said: ids modulo 1,024 are even, and a
/// millisecond has 3,072 ids at least.
pub const VIBRATION_DEFAULT: u16 = 1_023;

/// Column of a table that gets an id from the proxy where a row has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Logical schema of the table.
    pub schema: String,
    /// Logical name of the table.
    pub table: String,
    /// The column.
    pub column: String,
    /// How ids are made.
    pub kind: SequenceKind,
}

/// How ids are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceKind {
    /// In segments: a counter in a table at the home of the schema gives so many ids at once.
    Segment {
        /// Ids of a segment, 1 to [`STEP_MAX`].
        step: u32,
    },
    /// From the time, the number of the worker and a counter, as ShardingSphere makes them.
    Snowflake {
        /// Number of the worker, 0 to [`WORKER_MAX`]: no two proxies have the same.
        worker: u16,
        /// Largest value with which the counter begins in a new millisecond, 0 to [`COUNTER_MAX`].
        /// Below the number of shards less one, tables sharded by the id fill unevenly.
        vibration: u16,
    },
}

impl SequenceKind {
    /// The word for it in files and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segment { .. } => "segment",
            Self::Snowflake { .. } => "snowflake",
        }
    }

    /// What is wrong with its numbers: the key of the file, and the message.
    pub(super) fn check(self) -> Option<(&'static str, String)> {
        match self {
            Self::Segment { step } if !(1..=STEP_MAX).contains(&step) => {
                Some(("step", format!("must be 1 to {STEP_MAX}")))
            }
            Self::Snowflake { worker, .. } if worker > WORKER_MAX => {
                Some(("worker", format!("must be 0 to {WORKER_MAX}")))
            }
            Self::Snowflake { vibration, .. } if vibration > COUNTER_MAX => {
                Some(("vibration", format!("must be 0 to {COUNTER_MAX}")))
            }
            _ => None,
        }
    }
}
