//! Backends: connections to servers, lent to sessions by the pool.

mod acquire;
mod connect;
mod login;

use config::Endpoint;

pub(crate) use acquire::{AcquireError, acquire};
pub(crate) use connect::{Dialer, OpenError};
pub(crate) use login::log_in;

use crate::sock::Sock;

/// A connection to a server, and the right to have it.
pub(crate) type Backend = pool::Lease<Endpoint, Sock>;
