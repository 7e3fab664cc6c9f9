//! What an operator configures: typed rows and variables, the two file formats they come from, and
//! strict validation.
//!
//! A file is either `pointsman.toml` or a `proxysql.cnf`; its content tells which. [`load`] reads it and
//! gives back either the whole [`Config`] or every problem found in the file, never a part of it.

#![allow(clippy::doc_markdown, reason = "ProxySQL, MySQL and MariaDB are names, not code")]

mod bind;
mod file;
mod formats;
pub mod manual;
mod model;
mod nearest;
mod password;
mod problem;
mod row;
pub mod schema;
mod tree;

use std::path::Path;

pub use model::{
    Address, AuthPlugin, CheckLogins, Config, Endpoint, InvalidAddress, InvalidNetworks, Listener,
    MysqlVariables, Network, Networks, PointsmanVariables, Protocol, ProxyProtocol, Server, ServerOptions,
    ServerStatus, ServerTls, TlsParams, UNIX_PATH_MAX_BYTES, User,
};
pub use problem::{Problem, Problems};

/// A configuration that may be used, and what its author should know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The whole configuration.
    pub config: Config,
    /// What is accepted but deserves attention, one line each: known settings that do nothing yet, users
    /// whose hostgroup has no server.
    pub warnings: Vec<String>,
}

/// Reads the configuration file at `path`, in either format.
pub fn load(path: &Path) -> Result<Loaded, Problems> {
    let text =
        file::read(path).map_err(|error| Problems::one(Problem::new(path, error.line, error.message)))?;
    parse(&text, path)
}

/// Parses the `text` of a configuration file, in either format. `origin` is the name of the file in
/// messages, and its folder is the one that `@include` looks in.
pub fn parse(text: &str, origin: &Path) -> Result<Loaded, Problems> {
    bind::bind(formats::read(text, origin), origin)
}
