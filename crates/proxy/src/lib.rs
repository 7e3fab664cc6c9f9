//! The data plane: sessions of clients, the relay between clients and servers, start and drain.
//! Workers, and what sessions share, are in [`runtime`]; what a session has at one place is in
//! [`legs`].
//!
//! A [`Proxy`] is started from a [`config::Config`] and runs on its own threads until it is told to
//! drain. The file `ARCHITECTURE.md` follows a query through the modules.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod client;
mod proxy;
mod session;
#[cfg(feature = "memory")]
pub mod stage;

use ::session::{error, limit, state, statement};
use front::{audit, ending, tunnel};
use net::{clock, exchange, keys, names, relay, sock, tls};
use observe::counts;

pub use front::listeners::ListenError;
pub use net::random::gather_entropy;
#[cfg(feature = "memory")]
pub use net::sock::memory;
pub use net::tls::{TlsError, check as check_tls};
pub use proxy::{Proxy, StartError};
pub use route::RuleError;
pub use runtime::descriptors::too_few_descriptors;
pub use runtime::remote::Remote;
pub use runtime::routing::routes::check as check_rules;
