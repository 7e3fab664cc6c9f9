//! What clients see of tables: logical names in the place of physical ones.
//!
//! - [`Names`]: the physical names at the servers of one hostgroup, and what clients call them.

mod names;

pub use names::Names;
