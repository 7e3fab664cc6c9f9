//! Taps: what looks at a client's reply on its way, or changes it.
//!
//! - [`columns`]: telling that a prepared statement has other columns;
//! - [`compare`]: the reply to a statement and the one to its mirrored copy;
//! - [`listing`]: ids of connections in rows.

pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod listing;
