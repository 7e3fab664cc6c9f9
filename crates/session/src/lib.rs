//! What a session has and needs, as values and decisions. Pure: no socket, no clock, no random
//! source; times come in as arguments.
//!
//! - [`addresses`]: how many clients there are from each address;
//! - [`cached`]: what answers of the query cache depend on;
//! - [`causal`]: reads at replicas that see acknowledged writes;
//! - [`change`](mod@change): what a statement changes for those behind it;
//! - [`committed`]: what a transaction over several servers has come to;
//! - [`definitions`]: what a client was told of a prepared statement, and with its executions;
//! - [`places`]: the prepared statements that a connection has, [`homes`]: where they live;
//! - [`door`]: what a listener says about where statements go;
//! - [`error`]: errors that the proxy makes itself;
//! - [`identity`]: who a client is;
//! - [`last`]: what statements may ask about those before them, and [`ran`]: what those did;
//! - [`limit`]: limits of users and query rules;
//! - [`relations`]: what is behind the names of tables; [`remembered`]: for how long;
//! - [`state`]: what a session has set, left behind and is told;
//! - [`statement`]: the statements that the proxy has to understand;
//! - [`texts`]: texts of prepared statements;
//! - [`tier`]: query caches one behind the other;
//! - [`turn`]: whether a session comes before others that wait for a connection;
//! - [`unanswered`]: what may have become of a statement whose server was lost;
//! - [`unjudged`]: routines and tables that may hide something;
//! - [`users`]: the users that may log in.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod addresses;
pub mod cached;
pub mod causal;
pub mod change;
pub mod committed;
pub mod definitions;
pub mod door;
pub mod error;
pub mod homes;
pub mod identity;
pub mod last;
pub mod limit;
pub mod limits;
pub mod link;
pub mod places;
pub mod ran;
pub mod relations;
pub mod remembered;
pub mod state;
pub mod statement;
pub mod texts;
pub mod tier;
pub mod turn;
pub mod unanswered;
pub mod unjudged;
pub mod users;
