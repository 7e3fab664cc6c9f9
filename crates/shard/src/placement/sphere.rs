//! Functions of ShardingSphere, by Java's arithmetic.

mod auto_interval;
mod cut_mod;
mod hash_mod;
mod inline;
mod java;

pub use auto_interval::AutoInterval;
pub use cut_mod::CutMod;
pub use hash_mod::HashMod;
pub use inline::Inline;
pub(crate) use java::{long_hash, text_hash};
