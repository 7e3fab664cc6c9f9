//! Taps: what looks at a client's reply on its way, or changes it.
//!
//! A reply is cut into segments, and each segment passes the taps in one order, which is that of
//! `session/segments.rs` of the crate `proxy`. This crate has the taps that few replies need, a
//! file each. A reply without any of them costs one branch per segment.
//!
//! - [`cache_fill`]: copying a reply for the query cache;
//! - [`columns`]: telling that a prepared statement has other columns;
//! - [`compare`]: the reply to a statement and the one to its mirrored copy;
//! - `elsewhere`: a copied reply that comes from the cache of another proxy;
//! - [`errors`]: errors that name sessions, statements and limits of the proxy;
//! - [`listing`]: ids of connections in rows;
//! - [`tally`]: what is counted of a reply that is compared;
//! - [`withhold`]: replies that the client gets as a whole, or not at all.
//!
//! [`Taps`] are those of one command.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod cache_fill;
pub mod columns;
pub mod compare;
mod elsewhere;
pub mod errors;
mod limits;
pub mod listing;
pub mod tally;
mod taps;
pub mod withhold;

pub use taps::{Sessions, Taps, WorkerParts};
