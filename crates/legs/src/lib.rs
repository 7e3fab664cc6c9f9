//! Legs: what a session has at one place, at home or at a shard, and what a command needs there.
//!
//! A [`Leg`](leg::Leg) has the [state] of the session there, its [connections](links), and
//! what is known of the command that runs there, the [flight]. Its functions get a command
//! to a connection that fits it. What drives commands, answers from the query cache and runs
//! statements over several legs is in the crate `proxy`.
//!
//! - [`entry`]: where the session runs, [`io`] and [`client`]: the client's end; [`phase`]: what is
//!   done next for a command, [`stop`]: why it goes no further;
//! - [`backlog`]: the command that has come and is not sent yet, [`upload`]: the rest of a large
//!   one, [`pipelined`]: those behind the one that runs;
//! - [`reach`]: a connection that fits; [`switch`]: getting to its hostgroup, [`without_writer`],
//!   [`without_schema`]: where that is not there; [`idle`]: connections that others may have,
//!   [`bound`]: those that they may not;
//! - [`catch_up`], [`causal`], [`causal_ahead`], [`causal_question`]: what a read must see;
//!   [`followed`]: sessions that follow a server's binary log;
//! - [`statement`], [`prepare`], [`reuse`], [`parts`], [`close`]: prepared statements;
//! - [`last`], [`last_result`], [`kept_error`], [`retold`], [`correction`]: what is asked about the
//!   statement before;
//! - [`relations`], [`routines`]: what is behind the names in a statement, [`cache`]: and for the
//!   query cache;
//! - [`part`]: what was read of a reply, [`hidden`]: a reply that is withheld; [`reply`]: replies
//!   of the proxy's own, [`last_words`](mod@last_words): what a server says out of turn;
//! - [`measure`](mod@measure), [`digest`], [`trace`], [`traced`], [`warnings`], [`internal`]: what
//!   is told of all this;
//! - [`shards`]: what a session has at shards; [`facts`]: functions over the parts that they name.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod backlog;
pub mod bound;
pub mod cache;
pub mod catch_up;
pub mod causal;
pub mod causal_ahead;
pub mod causal_question;
pub mod client;
pub mod close;
pub mod correction;
pub mod digest;
pub mod entry;
pub mod facts;
pub mod flight;
pub mod followed;
pub mod hidden;
pub mod idle;
pub mod internal;
pub mod io;
pub mod kept_error;
pub mod last;
pub mod last_result;
pub mod last_words;
pub mod leg;
pub mod links;
pub mod measure;
pub mod part;
pub mod parts;
pub mod phase;
pub mod pipelined;
pub mod prepare;
pub mod reach;
pub mod relations;
pub mod reply;
pub mod retold;
pub mod reuse;
pub mod routines;
pub mod shards;
pub mod state;
pub mod statement;
pub mod stop;
pub mod switch;
pub mod trace;
pub mod traced;
pub mod upload;
pub mod warnings;
pub mod without_schema;
pub mod without_writer;
