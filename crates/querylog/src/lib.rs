//! Logs of statements, ProxySQL's query log (JSON or binary) and a slow log in MySQL's form, and
//! ProxySQL's audit log of clients that come and go.
//!
//! A worker asks its [`Policy`] whether a statement that is over belongs into a log; only then it
//! makes a [`Record`] and [offers](QueryLog::offer) it, which never waits: a bounded queue takes
//! it, or it is dropped and counted. One thread writes what is in the queue. A disk that is full or
//! slow costs records, which are counted, and nothing else.
//!
//! The newest records may be kept in memory as well ([`Recent`]), for an admin to look at.
//!
//! What is written is decided by pure pieces: [`policy`] (what is logged), [`json`], [`binary`],
//! [`slow`] and [`audit`] (a record's bytes), `numbers` (names of files). The rest are a file
//! (`output`) and the thread (`writer`).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod audit;
pub mod binary;
mod clock;
pub mod json;
mod limits;
mod numbers;
mod output;
pub mod policy;
mod queue;
mod recent;
mod record;
mod settings;
pub mod slow;
mod writer;

pub use audit::{AuditEvent, AuditRecord, Port};
pub use clock::Zone;
pub use limits::{QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX};
pub use policy::{Logs, Policy, Sampler};
pub use queue::{Counts, LateError, QueryLog};
pub use recent::Recent;
pub use record::{Event, Outcome, Record, Target};
pub use settings::{Format, LogFile, Settings};
