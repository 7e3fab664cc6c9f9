//! Backends: connections to servers, lent to sessions by the pool.

mod acquire;
mod announce;
mod batch;
mod connect;
mod connection;
mod copies;
mod entry;
mod failures;
mod handed;
mod idle_state;
mod initial;
mod internal_query;
mod keeper;
mod kept;
mod key;
mod lend;
mod line;
mod login;
mod login_state;
mod open;
mod passport;
mod pipeline;
mod place;
mod plan;
mod punctual;
mod search;
mod setup;
mod share;
mod spare;
mod statements;
mod target;
mod times;
mod turn;
mod unhealthy;
mod warm;

pub(crate) use acquire::{AcquireError, Found, Full, Whom, acquire, until_broken_off};
pub(crate) use announce::{Announced, connect};
pub(crate) use batch::Candidate;
pub(crate) use connect::{Dialer, OpenError, is_ours};
pub(crate) use connection::{Connection, QUIT};
pub(crate) use copies::{Copies, CopyLogin};
pub(crate) use idle_state::{Asker, Left};
pub(crate) use initial::InitConnects;
use internal_query::drain_reply;
pub(crate) use internal_query::{InternalQuery, Reply, internal_query};
pub(crate) use kept::{Kept, part};
pub(crate) use lend::{Ahead, DOES_NOT_HAVE_IT, Purpose};
pub(crate) use login_state::LOST_AT_MARIADB;
pub(crate) use open::{open, open_in};
pub(crate) use passport::{Passport, query};
pub(crate) use pipeline::{Crossed, Expected, Owner, Progress, Segment};
pub(crate) use place::{InLine, Place, take};
pub(crate) use punctual::{Punctual, Run};
pub(crate) use setup::{Refused, Setup, Taken};
pub(crate) use spare::take_at_once;
pub(crate) use statements::{Execution, Known, Origin, Wanted};
pub(crate) use target::Target;
pub(crate) use times::Times;
pub(crate) use turn::Turn;
pub(crate) use warm::Warmth;

/// A connection to a server, and the right to have it. In a box: it changes hands often, and most
/// clients wait without one.
pub(crate) type Backend = Box<pool::Lease<Target, Connection>>;
