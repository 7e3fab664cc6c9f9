//! The query cache.
//!
//! - [`Cache`]: all of it that the workers of a process share;
//! - [`Key`]: what a reply is a function of, as 128 bits of a keyed hash;
//! - [`Answer`]: a stored reply and the forms in which clients get it;
//! - [`Store`]: answers by key within a budget of bytes, evicted by S3-FIFO;
//! - [`Near`]: a worker's own first level, read without atomic writes;
//! - [`Versions`]: when tables were changed, so that an answer older than a write is not served;
//! - [`Timeline`]: which moments there were in the past, for answers that are from before;
//! - [`Source`]: a server whose binary log is followed, and as of when the cache is exact;
//! - [`Sources`]: which servers are followed;
//! - [`Following`]: what its transactions change, and when they are visible;
//! - [`Name`]: what answers are invalidated by;
//! - [`Flush`]: what operators flush;
//! - [`Catalog`]: what was learnt of the definitions of tables, and which tables a write changes;
//! - [`Definition`]: what a server tells of a table, and how it is asked;
//! - [`Proven`]: which accounts have run which digests;
//! - [`Memo`]: what a worker has found out with both about a digest;
//! - [`Flights`]: equal queries that run once;
//! - [`HitRates`]: by rule and digest, whether few lookups hit;
//! - [`Doorkeeper`]: keys that come for the second time, where few lookups hit;
//! - [`Refusal`]: why a statement's answer is not cached;
//! - [`NotStored`]: why a reply was not stored;
//! - [`Cause`]: why an answer became too old;
//! - [`stats`]: counters by rule and digest;
//! - [`advice`]: what a cache would be good for.
//!
//! The crate is pure: it opens no sockets and knows neither clock nor random source. Times are
//! milliseconds from any moment that stays the same, and come in as arguments.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod advice;
mod answer;
mod cache;
mod catalog;
mod cause;
mod clock;
mod definition;
mod doorkeeper;
mod flights;
mod flush;
mod following;
mod hit_rates;
mod key;
mod memo;
mod name;
mod near;
mod not_stored;
mod proven;
mod refusal;
mod size;
mod source;
mod sources;
pub mod stats;
mod store;
mod timeline;
mod versions;
mod writing;

pub use answer::{Answer, Form, RowCounts};
pub use cache::{Cache, Captured};
pub use catalog::{Catalog, Learnt, Reading, Sight, Written};
pub use cause::Cause;
pub use clock::Clock;
pub use definition::{Definition, question};
pub use doorkeeper::Doorkeeper;
pub use flights::{Flights, Joined, Leader, Outcome, Waiter};
pub use flush::Flush;
pub use following::{Change, Following, Position, TooMany};
pub use hit_rates::HitRates;
pub use key::{Key, KeyBuilder, Keys};
pub use memo::{About, Memo, Said, Validity};
pub use name::Name;
pub use near::Near;
pub use not_stored::NotStored;
pub use proven::{PROOF_PASSED_ON_MS, Proven, ProvenBy};
pub use refusal::{Refusal, depends_on_values};
pub use source::{Counters as SourceCounters, DEMAND_US, Demand, Source, Waiting};
pub use sources::{SourceRow, Sources};
pub use store::{Hit, Life, Lookup, Miss, Seen, Store, Usage};
pub use timeline::Timeline;
pub use versions::{Moment, Scope, Versions, Write};
pub use writing::Writing;
