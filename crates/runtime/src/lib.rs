//! What sessions run on: workers and what their sessions share, controls of sessions and kills,
//! catalogs, limits, and the way in for the control plane. It knows nothing of how a session runs a
//! command.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod asking;
pub mod cached;
pub mod catalog;
pub mod causal;
pub mod control;
pub mod counted;
pub mod ddl;
pub mod decided;
pub mod descriptors;
pub mod directory;
pub mod explain;
pub mod findings;
pub mod followed;
pub mod fresh;
pub mod gates;
pub mod holders;
pub mod inspection;
pub mod interning;
pub mod invariant;
pub mod kill;
pub mod limited;
pub mod limits;
pub mod mail;
pub mod mirror;
pub mod prepared;
pub mod record;
pub mod remote;
pub mod routing;
pub mod scattered;
pub mod sequences;
pub mod shared;
pub mod siblings;
pub mod snapshot;
pub mod spans;
pub mod templates;
pub mod worker;

use ::session::{door, error, limit, relations, state, statement, texts, users};
use front::{audit, ending};
use net::{clock, exchange, keys, names, random, tls};
use observe::{counts, document, log_limit, logs};
