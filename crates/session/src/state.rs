//! What a session has set, left behind and is told: values that outlive the connection on which
//! they came about. No socket, no clock.
//!
//! - [`settings`]: what the client has set, to be said again elsewhere, and [`setting`], one of
//!   that; [`set`]: which statements set something; `switches`: which of that takes the place of
//!   what was set before; `of_global`: a value that begins with the global one;
//! - [`pins`]: what cannot be said again elsewhere, and binds the session to a connection;
//!   [`marks`]: which statements do that;
//! - [`results`]: what later statements may ask about earlier ones, and [`substitute`]: putting the
//!   answer into a question;
//! - [`gtids`]: the last transactions that servers have told of; [`trackers`]: the packets that
//!   tell them;
//! - [`ids`]: columns that show ids of threads;
//! - [`tracked`]: what the proxy was told of a transaction in the client's place;
//! - [`typed`]: what a server remembers of the values of a prepared statement;
//! - `words`: the tokens of a statement.

pub mod gtids;
pub mod ids;
pub mod marks;
mod of_global;
pub mod own_connection;
pub mod pins;
pub mod results;
pub mod set;
pub mod setting;
pub mod settings;
pub mod substitute;
mod switches;
pub mod tracked;
pub mod trackers;
pub mod typed;
pub mod without_writer;
mod words;

pub use pins::{Mark, Pin, Pins};
pub use results::Results;
pub use setting::Setting;
pub use settings::Settings;

/// The key of the setting that is `COM_SET_OPTION`.
pub const OPTION: &str = "option";

/// The key of the setting that is the current schema.
pub const SCHEMA: &str = "use";
