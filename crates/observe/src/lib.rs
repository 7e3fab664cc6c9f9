//! What the data plane tells about itself.
//!
//! - [`broken`]: invariants that did not hold;
//! - [`counts`]: what a worker counts;
//! - [`digests`]: what is counted of statements by their text without values;
//! - [`document`]: documents about sessions;
//! - [`log_limit`]: messages that are logged once in a while only;
//! - [`logs`]: the logs, and what the configuration says about them;
//! - [`plane`]: what the control plane asks the data plane;
//! - [`rows`]: the rows of statistics, which the control plane reads;
//! - [`running`]: the statement that a session runs.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod broken;
pub mod counts;
pub mod digests;
pub mod document;
pub mod limits;
pub mod log_limit;
pub mod logs;
pub mod plane;
pub mod rows;
pub mod running;

/// Whole microseconds; a time that is too long is the longest.
pub const fn micros(time: std::time::Duration) -> u64 {
    // Without the division of 128 bits of `as_micros`: it is counted for each statement.
    time.as_secs().saturating_mul(1_000_000).saturating_add(time.subsec_micros() as u64)
}
