//! Ids for the rows of tables that are spread.
//!
//! - [`Segment`]: ids at hand, of a counter that all proxies share;
//! - [`store`]: the table that has the counters, and the statements for it;
//! - [`Snowflake`]: ids from the time, without a server.

mod segment;
mod snowflake;
pub mod store;

pub use segment::{Backwards, Segment};
pub use snowflake::{Ahead, Snowflake};
