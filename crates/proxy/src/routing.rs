//! Finding out what statements are and where they go.
//!
//! - [`facts`](fn@facts::facts): what matters of a statement's shape;
//! - [`routes`]: what the configuration says, compiled once for all workers.

pub(crate) mod facts;
#[expect(dead_code, reason = "workers ask it as soon as sessions can change servers")]
pub(crate) mod routes;
