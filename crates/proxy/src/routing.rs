//! Finding out what statements are and where they go.
//!
//! - [`routes`]: what the configuration says, compiled once for all workers.

#[expect(dead_code, reason = "workers ask it as soon as sessions can change servers")]
pub(crate) mod routes;
