//! What an operator configures: typed rows and variables, the file formats they come from, and
//! strict validation.
//!
//! A file is a `pointsman.toml`, a `proxysql.cnf`, a `mysqlrouter.conf`, kingshard's YAML or one of
//! ShardingSphere-Proxy; its content tells which. The latter may come as a folder.
//! [`load`] reads it and gives back either the whole [`Config`] or every problem found in the file,
//! never a part of it.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
#![allow(clippy::doc_markdown, reason = "ProxySQL, MySQL and MariaDB are names, not code")]

mod bind;
mod draft;
mod file;
mod formats;
pub mod json;
mod leave_out;
pub mod manual;
mod model;
mod nearest;
mod password;
mod problem;
mod row;
pub mod schema;
mod tree;
mod turns;

use std::path::Path;

pub use draft::{Change, Changed, Checked, Draft, RowProblem, RowReader, SqlCell};
pub use model::{
    Address, AdminVariables, AuroraHostgroups, AuthPlugin, Balance, BehindIn, CacheMode, CacheScope,
    CacheSettings, CausalReads, CheckLogins, ClusterHostgroups, Config, Credentials, Endpoint, FastRoute,
    FirewallMode, FirewallRule, FirewallUser, HostgroupAttributes, HostgroupSettings, InvalidAddress,
    InvalidCredentials, InvalidNetworks, Isolation, Listener, LogFormat, MonitorVariables, MysqlVariables,
    Network, Networks, PointsmanVariables, Protocol, ProxyProtocol, QueryRule, ReplicationHostgroups, Role,
    Rows, Server, ServerOptions, ServerStatus, ServerTls, ServersDefaults, ShardTransactions, SpiffeId,
    SqliFingerprint, Strategy, TlsParams, TrackGtids, UNIX_PATH_MAX_BYTES, User, UserAttributes, WritersRead,
    digest_number, is_sqli_fingerprint,
};
pub use nearest::{mistakes, suggestion};
pub use problem::{Problem, Problems};
pub use row::Row;
pub use turns::{Turns, in_turns, same_in_turns};

/// A configuration that may be used, and what its author should know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The whole configuration.
    pub config: Config,
    /// The rows that it was made from, those without effect as well.
    pub draft: Draft,
    /// What is accepted but deserves attention, one line each: known settings that do nothing yet,
    /// users whose hostgroup has no server.
    pub warnings: Vec<String>,
    /// Those of the warnings that name a row or a setting without effect: it cannot be used.
    pub left_out: Vec<String>,
    /// Whether a row that cannot be used is left out, with a warning, instead of an error.
    pub lenient: bool,
}

/// What becomes of a setting that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The file is refused.
    Strict,
    /// In a file of another program (`proxysql.cnf`, `mysqlrouter.conf`) it is left out, with a
    /// warning, wherever that program starts. A `pointsman.toml` is refused.
    Lenient,
}

/// Reads the configuration file at `path`, in any format.
pub fn load(path: &Path, strictness: Strictness) -> Result<Loaded, Problems> {
    bind::bind(parsed(path, strictness)?, path, strictness)
}

/// Reads what is at `path`: a file, or the folder of ShardingSphere-Proxy's files.
fn parsed(path: &Path, strictness: Strictness) -> Result<formats::Parsed, Problems> {
    let failed =
        |path: &Path, error: file::Unreadable| Problems::one(Problem::new(path, error.line, error.message));
    if path.is_dir() {
        let files = file::read_folder(path).map_err(|(path, error)| failed(&path, error))?;
        return formats::yaml::folder(&files, path).ok_or_else(|| {
            let message = "is a folder without files of ShardingSphere-Proxy".to_owned();
            Problems::one(Problem::new(path, 0, message))
        });
    }
    let text = file::read(path).map_err(|error| failed(path, error))?;
    Ok(formats::read(&text, path, strictness))
}

/// Reads the rows of the configuration file at `path`, in any format. Each is judged by itself, and
/// not how they go together: the file may be one of several that make a configuration.
pub fn read_rows(path: &Path) -> Result<Draft, Problems> {
    bind::rows(parsed(path, Strictness::Strict)?, path)
}

/// Parses rows that [`Draft::sections_to_cnf`] has written. Each is judged by itself; see
/// [`read_rows`].
pub fn parse_rows(text: &str, origin: &Path) -> Result<Draft, Problems> {
    bind::rows(formats::read_own_rows(text, origin), origin)
}

/// Parses the `text` of a configuration file, in any format. `origin` is the name of the file in
/// messages, and its folder is the one that `@include` looks in.
pub fn parse(text: &str, origin: &Path) -> Result<Loaded, Problems> {
    bind::bind(formats::read(text, origin, Strictness::Strict), origin, Strictness::Strict)
}
