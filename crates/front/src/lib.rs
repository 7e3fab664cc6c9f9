//! Clients before they have sessions: accepted, logged in, or refused. Clients of layer-4
//! listeners never have one.
//!
//! - **Accepting**: [`listeners`] bind and accept. An [`Arrival`] is a client on its way to its
//!   worker, with its places. In `queueing`, clients wait for a place.
//! - **Letting in**: [`receive`] reads the `header` of a proxy in front and has the client log in
//!   ([`login`]: greeting, TLS, `proof`); [`check`] asks a server whether it lets the user in.
//! - **Refusing**: `hosts` are addresses that fail, `refusals` the log of refused logins,
//!   `not_accepted` that of clients without a login; [`errors`] counts errors, [`audit`] writes
//!   records for the audit log. An [`ending`](mod@ending) is what the client is told.
//! - [`tunnel`]: bytes that are copied without a look at them.
//! - **Around it**: [`Worker`] is what one thread has, [`Shared`] what all have; [`About`] is what
//!   is known of a client. [`ClientHandle`] and [`ClientInbox`] are implemented above this crate:
//!   the handle of a client's task, and the way to a worker.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod about;
mod arrival;
pub mod audit;
pub mod check;
mod client;
pub mod ending;
pub mod errors;
mod handle;
mod header;
mod hosts;
pub mod limits;
mod listener;
pub mod listeners;
pub mod login;
mod not_accepted;
mod proof;
mod queueing;
mod refusals;
mod shared;
pub mod tunnel;
mod worker;

pub use about::About;
pub use arrival::{Arrival, Guest, Slots, Stream};
pub use client::receive;
pub use handle::{ClientHandle, Signal};
pub use listener::ClientInbox;
pub use proof::Claim;
pub use shared::Shared;
pub use worker::Worker;
