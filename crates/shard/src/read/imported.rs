//! What a file of another proxy says.

use std::fmt;

use super::problem::{Place, Problem};
use crate::layout::Layout;

/// Everything that a file says about sharding, and what it leaves to other settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Where clients connect, `host:port` or `:port`, if a file says it.
    pub address: Option<(Place, String)>,
    /// Keys of the mapping `pointsman`, which the other proxy does not have, and their texts.
    pub own: Vec<(Place, String, String)>,
    /// Groups of servers, in the order of the file.
    pub sources: Vec<Source>,
    /// Users of the proxy.
    pub users: Vec<User>,
    /// Layouts: one for all users, or one for each.
    pub scopes: Vec<Scope>,
    /// Tables that may not be read or written without a condition on the key.
    pub audits: Vec<Audit>,
    /// Keys that have no counterpart and need none.
    pub left_out: Vec<Problem>,
}

/// Servers with the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where the file names it.
    pub place: Place,
    /// Name in the file.
    pub name: String,
    /// Hostgroup for writing.
    pub hostgroup: u32,
    /// Hostgroup for reading, if there are servers only for that.
    pub reader_hostgroup: Option<u32>,
    /// Schema of its tables, if the file says it once for all.
    pub schema: Option<String>,
    /// User at the servers.
    pub user: String,
    /// Password at the servers.
    pub password: Secret,
    /// Servers for writing, then those for reading.
    pub servers: Vec<Server>,
    /// Most connections to each server.
    pub max_connections: Option<u32>,
    /// Whether connections have to be encrypted.
    pub tls: bool,
}

/// Server of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Share of the reads; the server that is written to has none.
    pub read_weight: Option<u32>,
}

/// User of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password.
    pub password: Secret,
    /// Logical schemas that the user may use; all if there are none.
    pub schemas: Vec<String>,
}

/// Layout, and for which users it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Names of users; all users if there are none.
    pub users: Vec<String>,
    /// The layout.
    pub layout: Layout,
    /// Logical schema that all its tables are in, if the file says it once for all.
    pub schema: Option<String>,
    /// Where the file says it.
    pub place: Place,
}

/// Table that may not be read or written without a condition on the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Logical schema and name of the table.
    pub table: [String; 2],
    /// Whether a hint lifts the rule.
    pub hint_lifts: bool,
}

/// Text that must not be seen in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
