//! What the query cache has to know of a session, and what a session has to ask for it.

pub mod fresh;
pub mod peek;
pub mod said;
pub mod tables;
