//! What the data plane tells about itself.
//!
//! - [`rows`]: the rows of statistics, which the control plane reads;
//! - [`digests`]: what is counted of statements by their text without values.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod digests;
pub mod rows;
