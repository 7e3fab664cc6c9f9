//! What a statement is, from its text alone: no socket, no clock, no random source.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod bytes;
pub mod digest;
pub mod spooky;

pub use digest::{Digest, Options};
