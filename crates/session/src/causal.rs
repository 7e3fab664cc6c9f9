//! Reads at replicas that see acknowledged writes.
//!
//! - [`tokens`]: the transactions that reads must see, by scope;
//! - [`applied`]: what replicas are known to have applied;
//! - [`own`]: the tokens of one session;
//! - [`clusters`]: the tokens of each cluster;
//! - [`question`]: the statement that asks a replica;
//! - [`lost`]: what a new primary lacks;
//! - [`untold`]: writes that no OK packet tells.
//!
//! A write's token is noted before its client gets the OK. So a read that comes behind the OK finds
//! the token in the scope.

pub mod applied;
pub mod clusters;
pub mod lost;
pub mod own;
pub mod question;
pub mod tokens;
pub mod untold;
