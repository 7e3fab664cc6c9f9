//! Sockets with their layers, and what they need: certificates, keys, names of servers, parked
//! bytes.
//!
//! A [`Sock`](sock::Sock) hides what a connection is made of: TCP, a Unix socket or memory; TLS;
//! compression. [`Local`] holds the buffers that the sockets of one thread share.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod clock;
pub mod exchange;
mod flow;
pub mod keys;
mod limits;
pub mod listen;
mod local;
mod lock;
pub mod names;
pub mod random;
pub mod relay;
pub mod sock;
pub mod throttle;
pub mod tls;
mod tune;

pub use flow::Flow;
pub use limits::{LOGIN_MESSAGE_BYTES_MAX, SCRATCH_BYTES};
pub use local::Local;
pub use lock::lock;
pub use tune::tune;
