//! What a statement over sharded tables becomes: [`plan`](mod@plan) says where it goes and with
//! which text, [`merge`] makes one reply of those of several shards. Pure: no socket, no clock, no
//! random source.
//!
//! Where rows are, a [`shard::Layout`] knows. [`define`] has what servers say about the tables.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod define;
pub mod limits;
pub mod load;
pub mod merge;
pub mod plan;
pub mod seen;
pub mod stored;

/// The example of the README, which is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
