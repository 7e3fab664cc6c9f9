//! What is known of servers, and what follows from it: when to check what, which server does not
//! answer, which one lags, and which hostgroups it belongs into.
//!
//! The crate is pure: it opens no sockets and knows neither clock nor random source. The caller
//! carries out checks: it asks [`Monitor::due`] what is to be done now and [`Monitor::next_due`]
//! when to ask again, and says with [`Monitor::observe`] what came of each check; the answer is
//! what has changed, each [`Event`] with its cause. Time is counted from any moment that stays the
//! same; time that goes backwards counts as time that stands still.
//!
//! - `plan`: what the operator wants: rows, pairs of hostgroups, intervals and limits;
//! - `cluster`: Group Replication, Galera, Aurora: what servers say of themselves and each other,
//!   and what follows for each of them;
//! - `replicas`: servers of pairs that the operator has not named: replicas of which primaries
//!   know, members of which an RDS cluster does;
//! - `placement`: which rows are in use in which hostgroups, from what the operator wants and what
//!   servers say of themselves;
//! - `feed`: transactions that a server has executed, as the reader of its binary log says;
//! - `watch`: what is known of one server;
//! - `schedule`: which checks are due, in a heap.
//!
//! What the operator wants ([`Plan`]) and what was observed are different types: nothing that was
//! observed finds its way back into the plan.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod cluster;
mod event;
mod feed;
mod finding;
mod monitor;
mod placement;
mod plan;
mod replicas;
mod schedule;
mod watch;

pub use cluster::{
    AlsoRead, AuroraLimits, AuroraMember, AuroraWord, Cluster, GaleraLimits, GaleraWord, GroupLimits,
    GroupMember, GroupWord, MemberState, Role, Spare, Topology, Word,
};
pub use event::{Change, Event};
pub use feed::{Feed, FeedError, LINE_BYTES_MAX, Line, RANGES_MAX};
pub use finding::{Finding, Lag, Told};
pub use monitor::{Conflict, Conflicts, Health, Monitor, Places, Writers};
pub use placement::{Member, place};
pub use plan::{Pace, Pair, Plan, Row, Settings};
pub use replicas::{Discover, Follower, Means, ReplicaWord};
pub use schedule::{Check, Order};
