//! What a session has and needs, as values and decisions. Pure: no socket, no clock, no random
//! source; times come in as arguments.
//!
//! - [`error`]: errors that the proxy makes itself;
//! - [`state`]: what a session has set, left behind and is told;
//! - [`statement`]: the statements that the proxy has to understand;
//! - [`texts`]: texts of prepared statements.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod error;
pub mod limits;
pub mod state;
pub mod statement;
pub mod texts;
