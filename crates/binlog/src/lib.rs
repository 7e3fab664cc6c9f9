//! The binary log of MariaDB and MySQL, as a server streams it to a replica.
//!
//! Network bytes go in; facts come out: which transaction changed which tables. No row is read.
//! From the wire up:
//!
//! - [`Reader`]: packets behind `COM_BINLOG_DUMP` in, [`Event`]s out, with bounded memory;
//! - [`Transactions`]: events in, whole [`Transaction`]s and other [`Fact`]s out;
//! - [`request`]: what a replica sends in front of the stream.
//!
//! The crate is pure: no socket, no clock, no random source. No bytes make it panic. Bytes that are
//! not understood are never skipped in silence: they end the stream with [`Broken`], or they make a
//! fact that says that every table may have changed.
//!
//! Sources: "Binlog event" pages of MariaDB's "Replication protocol", `libs/mysql/binlog/event` of
//! MySQL, and what servers send.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod checksum;
mod error;
mod event;
mod events;
pub mod fuzzing;
mod header;
mod kind;
mod payload;
mod reader;
pub mod request;
mod transactions;
mod xid;

pub use checksum::Checksum;
pub use error::Broken;
pub use event::{Begin, Change, Event, Logged, Statement};
pub use reader::Reader;
pub use transactions::{Fact, How, Position, Table, Tables, Transaction, Transactions, Why};
pub use xid::Xid;
