//! Where a statement goes, and why: query rules, verdicts, read/write split, the firewall, injected
//! SQL, explanations. Pure: no socket, no clock, no random source; times and random numbers come in
//! as arguments.
//!
//! [`Rules`] are compiled from the rows of the configuration. Each worker asks its own
//! [`Verdicts`], which remember what the rules say about a digest; [`route`](fn@route) adds what
//! the session and its transaction, the firewall and the search for injected SQL have to say.
//! [`explain`](fn@explain) takes the same steps and keeps a record of them.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
#![allow(clippy::doc_markdown, reason = "ProxySQL, MySQL and MariaDB are names, not code")]

mod cache;
mod caching;
mod chain;
mod explain;
mod fast;
mod firewall;
mod hits;
mod injection;
pub mod limits;
mod pattern;
mod plan;
mod query;
pub mod reader;
mod record;
mod route;
mod rule;
mod rules;
mod split;
mod tables;
mod verdict;
mod verdicts;

pub use caching::{CacheDefaults, CachePolicy};
pub use explain::{Candidate, Explanation, Lookup, MustSee, Peek, Situation, Step, Writes, explain};
pub use firewall::{Asked, Firewall, Ruling};
pub use hits::Hits;
pub use injection::{Injections, Sighting};
pub use pattern::Engine;
pub use plan::StatementPlan;
pub use query::{Caller, Mirror, Query, Statement};
pub use record::{Miss, Record};
pub use route::{
    Account, Answer, Branches, ByListener, Cached, Hold, Route, Routed, Session, Target, Ways, Why,
    no_readers, route,
};
pub use rule::{Extras, RuleError};
pub use rules::{Options, Rules};
pub use split::{Pairs, Reason, Side, Split, split};
pub use sql::hint::{AccessMode, Hints};
pub use tables::{KnownTables, Tables, may_quote_names};
pub use verdict::{Multiplex, Source, Verdict};
pub use verdicts::{Decision, Verdicts};

/// The example of the README, which is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
