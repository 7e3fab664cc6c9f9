//! Statements over tables that are split over servers.
//!
//! A session has one [leg](legs::leg::Leg) at home, and one for each shard's hostgroup that its
//! statements have used. They run commands by the same functions: each leg has its own connections,
//! splits reads from writes at its shard, and outlives its servers. Those of one statement run at
//! the same time, for clients that are not there. A statement that names no sharded table runs at
//! home as if there were no shards.
//!
//! - [`inner`]: legs at shards, and having one run a command;
//! - [`plan`](mod@plan): where a statement goes, [`way`]: and what is done with it;
//!   [`definitions`]: learning what its tables are, [`stored`]: and what is behind its names;
//! - [`defining`]: definitions of tables of several nodes; [`naming`]: what texts name;
//! - [`one`]: statements for one shard, [`straight`]: those that come again, [`many`]: for several
//!   shards ([`runners`], [`relaying`], [`moment`], [`gated`]), [`limited`]: changes of their first
//!   rows, [`load`]: files;
//! - [`dispatch`]: whether a command runs at home, [`planned`]: having it run where its plan says;
//! - [`execute`]: commands about prepared statements, [`sites`]: where these are;
//! - [`explain`]: where a statement goes, written down; [`fields`]: `COM_FIELD_LIST`;
//!   [`gathered`]: what `SHOW WARNINGS` tells of several shards;
//!   [`ids`]: ids of sequences, [`last_id`]: what `LAST_INSERT_ID()` is;
//! - [`transaction`]: transactions that reach shards, [`lost`]: those that end unasked,
//!   [`autocommit`]: what does not end them;
//! - [`done`]: what has come of a command; [`facts`]: what statements need to know of the session,
//!   [`reading`]: what their reading depends on; [`legs::shards`]: what a session has at shards.

mod autocommit;
mod defining;
mod definitions;
pub(super) mod dispatch;
mod done;
mod execute;
pub(super) mod explain;
mod facts;
mod fields;
mod gated;
mod gathered;
mod ids;
pub(super) mod inner;
mod last_id;
mod limited;
mod load;
mod lost;
mod many;
mod moment;
mod naming;
mod one;
mod plan;
mod planned;
mod reading;
mod relaying;
mod runners;
mod sites;
mod stored;
pub(super) mod straight;
mod transaction;
mod way;
