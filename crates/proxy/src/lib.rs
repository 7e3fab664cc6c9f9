//! The data plane: workers, sessions of clients, the relay between clients and servers, and drain.
//!
//! A [`Proxy`] is started from a [`config::Config`] and runs on its own threads until it is told to
//! drain. The file `ARCHITECTURE.md` follows a query through the modules.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod asking;
mod cached;
mod catalog;
mod causal;
mod client;
mod control;
mod counted;
mod ddl;
mod descriptors;
mod directory;
mod explain;
mod findings;
mod followed;
mod fresh;
mod gates;
mod holders;
mod inspection;
mod interning;
mod invariant;
mod kill;
mod limited;
mod limits;
mod mail;
mod mirror;
mod patience;
mod proxy;
mod record;
mod remote;
mod routing;
mod sequences;
mod session;
mod shared;
mod siblings;
mod snapshot;
mod spans;
#[cfg(feature = "memory")]
pub mod stage;
mod stored;
mod templates;
mod worker;

use ::session::{door, error, limit, relations, state, statement, texts, users};
use front::{audit, ending, tunnel};
use net::{clock, exchange, keys, names, random, relay, sock, throttle, tls};
use observe::{counts, document, log_limit, logs};

pub use descriptors::too_few_descriptors;
pub use front::listeners::ListenError;
pub use net::random::gather_entropy;
#[cfg(feature = "memory")]
pub use net::sock::memory;
pub use net::tls::{TlsError, check as check_tls};
pub use proxy::{Proxy, StartError};
pub use remote::Remote;
pub use route::RuleError;
pub use routing::routes::check as check_rules;
