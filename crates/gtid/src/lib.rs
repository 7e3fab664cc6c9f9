//! Transactions by their GTIDs, of MySQL and of MariaDB.
//!
//! - [`mysql`]: `uuid:number`, sets of ranges;
//! - [`mariadb`]: `domain-server-sequence`, positions with one number for each domain;
//! - [`Gtid`]: one of either kind; [`Origin`]: what counts it; [`Highest`]: the highest number of
//!   each origin.
//!
//! The crate is pure: it knows texts and numbers, no server.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod either;
pub mod mariadb;
pub mod mysql;

pub use either::{Gtid, Highest, ORIGINS_MAX, Origin};

/// What is no GTID, or no range of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GtidError {
    /// Not 32 hexadecimal digits, with or without hyphens.
    #[error("not a UUID")]
    Source,
    /// Not a tag: too long, or with other characters than letters, digits and underscores.
    #[error("not a tag")]
    Tag,
    /// Not a number, 0, or a range whose end is before its beginning.
    #[error("not a range of transaction numbers")]
    Range,
    /// Not the three numbers of `domain-server-sequence`.
    #[error("not a domain, a server and a sequence number")]
    MariaDb,
}
