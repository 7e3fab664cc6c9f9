//! Backends: connections to servers, lent to sessions by the pool.

mod acquire;
mod connect;
mod link;
mod login;
mod open;

use config::Endpoint;

pub(crate) use acquire::{AcquireError, acquire};
pub(crate) use connect::{Dialer, OpenError};
pub(crate) use link::Link;
pub(crate) use open::open;

/// A connection to a server, and the right to have it.
pub(crate) type Backend = pool::Lease<Endpoint, Link>;
