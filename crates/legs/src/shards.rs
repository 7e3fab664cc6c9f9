//! What a session has at shards, beside the leg at each of them.

pub mod command;
pub mod prepared;
pub mod role;
pub mod savepoints;
pub mod splitting;
pub mod values;
pub mod warnings;
