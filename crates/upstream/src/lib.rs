//! Connections to servers, lent to sessions by the pool: opened, logged in to, set up, shared, and
//! what waits for them.
//!
//! - **To have one**: `acquire` asks the pool for a `place`, `search` looks among idle
//!   ones, `connect` opens and `login` logs in; `failures` are what a client is
//!   told; `whom` it is for.
//! - **What is sent**: `connection` is the socket and its `pipeline` of replies; `setup` and
//!   `lend` make a connection what a session needs, by a `plan`; each command of it has a
//!   `purpose`, one asks for the `last_id`. `statements` are those prepared there, `ledger` says
//!   who has them. `quit` ends a connection.
//! - **Idle ones**: `kept` by `pool_key`; `warm` opens some before they are needed; `copies`
//!   are those of mirrored statements.
//! - **Waiting**: `line` and `handed`; a `batch` is several sessions' statements
//!   over one connection; `keeper` looks after all that wait.
//! - **Around it**: `worker` is what one thread has, `shared` what all have; `configuration`
//!   what an operator wants; `servers` what servers can do; `calls` is what is above this crate.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod acquire;
mod announce;
mod batch;
mod batch_history;
mod calls;
mod choosing;
mod configuration;
mod connect;
mod connection;
mod copies;
mod defaults;
pub mod descriptors;
mod entry;
mod failures;
mod handed;
mod idle_state;
mod initial;
mod internal_query;
mod keeper;
mod kept;
mod key;
mod last_id;
pub mod ledger;
mod lend;
pub mod limits;
mod line;
mod login;
mod login_state;
mod open;
mod pipeline;
mod place;
mod plan;
mod pool_key;
mod purpose;
mod quit;
mod requests;
mod search;
pub mod servers;
mod setup;
mod share;
mod shared;
mod statements;
mod target;
pub mod threads;
mod times;
mod tunnel;
mod unhealthy;
mod warm;
mod whom;
mod worker;

pub use acquire::{Found, acquire, note_client, until_broken_off};
use announce::Announced;
pub use announce::connect;
pub use batch::Candidate;
use batch_history::BatchHistory;
pub use batch_history::Run;
pub use calls::{Avoid, Doubts, Holders, Siblings};
pub use choosing::{candidates, hostgroups, limit, readiness};
pub use configuration::{Configuration, Local};
pub use connect::{Dialer, OpenError, is_ours};
pub use connection::Connection;
use copies::Copies;
pub use copies::CopyLogin;
pub use defaults::Defaults;
pub use failures::{AcquireError, is_about_schema};
pub use idle_state::{Asker, Left};
use initial::InitConnects;
pub use internal_query::{InternalQuery, Reply, ask, ask_in_front, drain_reply, internal_query};
pub use kept::Kept;
pub use lend::take_at_once;
pub use login_state::LOST_AT_MARIADB;
pub use open::{open, open_in};
pub use pipeline::{Crossed, Expected, Owner, Pipeline, Progress, Segment};
pub use place::{InLine, Place, take};
pub use pool_key::{PoolKey, query};
pub use purpose::{Ahead, DOES_NOT_HAVE_IT, Purpose};
pub use quit::{QUIT, part};
use setup::AcceptedSettings;
pub use setup::{Refused, Setup};
pub use shared::Shared;
pub use statements::{Execution, Known, Origin, closing};
pub use target::Target;
pub use times::Times;
pub use tunnel::{Copied, End, Tunnel};
use warm::Warmth;
pub use whom::{Full, Whom};
pub use worker::Worker;

/// A connection to a server, and the right to have it. In a box: it changes hands often, and most
/// clients wait without one.
pub type Backend = Box<pool::Lease<Target, Connection>>;
