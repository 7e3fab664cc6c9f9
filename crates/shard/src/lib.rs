//! Which servers hold the rows of a sharded table: functions from keys to shards, and layouts.
//! Pure: no socket, no clock, no random source.
//!
//! A [`Placement`] says which shards have all rows that meet the [`Condition`]s of a statement. It
//! names fewer than all only if the comparison is exact: [`Key::compared`] decides. Where a whole
//! statement goes, the crate `planner` says.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
#![allow(clippy::doc_markdown, reason = "kingshard, ShardingSphere and MyCat are names, not code")]

mod calendar;
mod condition;
mod dump;
pub mod groovy;
mod key;
mod layout;
pub mod limits;
pub mod pattern;
pub mod placement;
mod prune;
pub mod read;
pub mod sequence;
mod value;

pub use calendar::{Date, DateTime};
pub use condition::{Condition, KeyRange, Test};
pub use key::{ColumnType, Key, KeyKind};
pub use layout::{
    Draft, Group, Home, Invalid, Layout, Node, SEGMENT_STEP_DEFAULT, Sequence, SequenceKind, Subject, Table,
    TableKind, Unique, VIBRATION_DEFAULT,
};
pub use placement::Placement;
pub use prune::{Prune, Reason, Shard, Shards};
pub use value::Value;

/// The example of the README, which is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
