//! The admin port: ProxySQL's tables, layers, commands and variables over SQLite.
//!
//! An admin connection's text goes to the one thread that owns SQLite; that thread understands it, does it, and gives an
//! [`Answer`] back. What it needs of the running proxy it asks a [`DataPlane`] for.

#![allow(clippy::doc_markdown, reason = "ProxySQL, MySQL and SQLite are names, not code")]

mod answer;
mod layers;
mod plane;
mod store;
mod who;

pub use answer::{AdminError, Answer, Cell};
pub use layers::{Module, Move};
pub use plane::{
    ClientHost, CommandCounter, DataPlane, FreeConnection, Order, PoolServer, Process, ServerError,
    UserConnections,
};
pub use store::{Store, StoreError};
pub use who::{Rights, Who};
