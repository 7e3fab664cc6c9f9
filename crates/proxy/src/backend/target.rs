//! A server as the pool keeps it: where it is, and what its row says about talking to it.

use std::fmt;

use config::Endpoint;

/// A server that sessions get connections to. Displayed as its [`Endpoint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Where it is reached.
    pub(crate) endpoint: Endpoint,
    /// Whether connections use TLS, or do not come about.
    pub(crate) use_ssl: bool,
}

impl Target {
    /// The target that a row of `mysql_servers` describes.
    pub(crate) fn new(server: &config::Server) -> Self {
        Self { endpoint: server.endpoint(), use_ssl: server.use_ssl }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}
