//! Merge of the replies of several shards into the reply of one server.
//!
//! Each shard executes the whole statement, so its rows come in the wanted order. The select list
//! ends with *hidden* columns: the sort keys in a form that compares as the server compares them.
//! The proxy picks the smallest head row, and cuts the hidden columns off.
//!
//! - [`Order`]: the hidden keys and how they compare;
//! - [`Columns`]: where the visible part of a row ends, and where its keys are;
//! - [`Merge`]: which shard's row is next;
//! - [`Window`]: LIMIT and OFFSET over the merged rows;
//! - [`Summary`]: one OK packet out of those of all shards.

mod columns;
mod form;
mod key;
mod order;
mod pick;
mod summary;
mod window;

pub use columns::{Columns, ColumnsError, Protocol};
pub use key::{Key, KeyError};
pub use order::{Direction, Order, Part};
pub use pick::{Merge, Step};
pub use summary::Summary;
pub use window::{Fate, Window};
