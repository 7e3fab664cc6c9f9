//! The admin port: ProxySQL's tables, layers, commands and variables over SQLite.
//!
//! An admin connection's text goes to the one thread that owns SQLite; that thread understands it,
//! does it, and gives an [`Answer`] back. What it needs of the running proxy it asks a
//! [`DataPlane`](observe::plane::DataPlane) for.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
#![allow(clippy::doc_markdown, reason = "ProxySQL, MySQL and SQLite are names, not code")]

mod accounts;
mod answer;
pub mod basic;
mod boot;
mod chatter;
mod checksum;
mod command;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod engine;
mod events;
mod files;
mod health;
mod hint;
mod history;
pub mod http;
mod layers;
mod limits;
mod port;
mod program;
mod rest;
mod retry;
mod scheduler;
mod server;
mod settings;
mod show;
mod stats;
mod store;
mod tables;
mod tries;
mod versions;
mod who;

/// What the admin port calls its version: programs for ProxySQL compare it with ProxySQL's, so it
/// begins as that one's, with our own behind it.
pub const VERSION: &str = concat!("2.7.2-pointsman-", env!("CARGO_PKG_VERSION"));

pub use accounts::{Login, LoginRefused};
pub use answer::{AdminError, Answer, Cell};
pub use boot::{BootError, Booted, Claim, Imported, Start, boot, import, saved_in};
pub use engine::{Asked, Engine};
pub use layers::{Module, Move};
pub use port::Port;
pub use server::Clients;
pub use settings::Settings;
pub use store::{Store, StoreError, disk_file};
pub use tries::{Tries, Try};
pub use who::{Rights, Who};
