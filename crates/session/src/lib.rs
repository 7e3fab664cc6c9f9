//! What a session has and needs, as values and decisions. Pure: no socket, no clock, no random
//! source; times come in as arguments.
//!
//! - [`addresses`]: how many clients there are from each address;
//! - [`door`]: what a listener says about where statements go;
//! - [`error`]: errors that the proxy makes itself;
//! - [`identity`]: who a client is;
//! - [`limit`]: limits of users and query rules;
//! - [`state`]: what a session has set, left behind and is told;
//! - [`statement`]: the statements that the proxy has to understand;
//! - [`texts`]: texts of prepared statements;
//! - [`turn`]: whether a session comes before others that wait for a connection;
//! - [`users`]: the users that may log in.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod addresses;
pub mod door;
pub mod error;
pub mod identity;
pub mod limit;
pub mod limits;
pub mod state;
pub mod statement;
pub mod texts;
pub mod turn;
pub mod users;
