//! What a session has set, left behind and is told: values that outlive the connection on which
//! they came about. No socket, no clock.
//!
//! - [`settings`]: what the client has set, to be said again elsewhere, and [`setting`], one of
//!   that; [`set`]: which statements set something; [`switches`]: which of that takes the place of
//!   what was set before; [`of_global`]: values that begin with the global one;
//! - [`pins`]: what cannot be said again elsewhere, and binds the session to a connection;
//!   [`marks`]: which statements do that;
//! - [`results`]: what later statements may ask about earlier ones, and [`substitute`]: putting the
//!   answer into a question;
//! - [`gtids`]: the last transactions that servers have told of; [`trackers`]: the packets that
//!   tell them;
//! - [`ids`]: columns that show ids of threads;
//! - [`overheard`]: what the proxy was told of a transaction in the client's place;
//! - [`typed`]: what a server remembers of the values of a prepared statement;
//! - [`words`]: the tokens of a statement.

pub(crate) mod gtids;
pub(crate) mod ids;
pub(crate) mod marks;
mod of_global;
pub(crate) mod overheard;
pub(crate) mod pins;
pub(crate) mod results;
pub(crate) mod set;
pub(crate) mod setting;
pub(crate) mod settings;
mod sql_mode;
pub(crate) mod substitute;
mod switches;
pub(crate) mod trackers;
pub(crate) mod typed;
pub(crate) mod without_writer;
mod words;

pub(crate) use pins::{Mark, Pin, Pins};
pub(crate) use results::Results;
pub(crate) use setting::Setting;
pub(crate) use settings::Settings;

/// The key of the setting that is `COM_SET_OPTION`.
pub(crate) const OPTION: &str = "option";

/// The key of the setting that is the current schema.
pub(crate) const SCHEMA: &str = "use";
