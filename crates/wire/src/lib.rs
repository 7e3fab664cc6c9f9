//! The MySQL client/server protocol as values and pure functions: bytes in, values or decisions
//! out.
//!
//! Nothing here reads a socket, a clock or a random source, so everything can be tested and fuzzed
//! byte by byte, and no input can make it panic: decoders return [`WireError`] on any bytes that
//! are not what they expect. The layers, from the wire up:
//!
//! - [`frame`]: packets of at most 2^24-1 bytes with sequence ids, and the messages made of them;
//! - [`codec`]: the bounds-checked [`Reader`](codec::Reader), the writers, and the [`Codec`]
//!   contract that every packet and command type implements;
//! - [`packet`]: what servers send, and the login; [`command`]: what clients send after it;
//! - [`proxy_header`]: the PROXY protocol's words about a client, in front of everything else;
//! - [`auth`]: proofs of the login methods, for both sides;
//! - [`compress`]: the compressed protocol below the packets;
//! - [`reply`]: finds where an answer ends by looking at packet headers only, which is all that a
//!   proxy needs to know about a result that it does not look into;
//! - [`rows`]: reads the rows of a reply that the proxy has asked for itself.
//!
//! Protocol facts come from MySQL's "Client/Server Protocol" chapter of the source documentation
//! and from MariaDB's "Client/Server Protocol" pages; each type says where its layout is described.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod auth;
pub mod capabilities;
pub mod codec;
pub mod command;
pub mod compress;
pub mod error;
pub mod frame;
pub mod fuzzing;
pub mod packet;
mod peer;
pub mod proxy_header;
pub mod reply;
pub mod rows;
pub mod status;

pub use capabilities::Capabilities;
pub use codec::Codec;
pub use error::WireError;
pub use peer::Peer;
pub use status::StatusFlags;

/// The example of the README, which is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
