//! A row of `pointsman_servers`.

use super::Endpoint;
use super::server::endpoint;
use crate::row::from_row;
use crate::schema::POINTSMAN_SERVERS;

/// What ProxySQL's tables have no column for, about one server in all its hostgroups. `Default` has
/// the table's defaults and no host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// The server's host name in `mysql_servers`.
    pub hostname: String,
    /// Its port there.
    pub port: u16,
    /// The PROXY header that it is sent at the beginning of every connection.
    pub proxy_protocol: ProxyProtocol,
    /// Free text.
    pub comment: String,
}

from_row!(ServerOptions, POINTSMAN_SERVERS, { hostname, port, proxy_protocol, comment, });

impl ServerOptions {
    /// Where the server is reached.
    pub fn endpoint(&self) -> Endpoint {
        endpoint(&self.hostname, self.port)
    }
}

/// Whether a server is told the client's address, and in which version of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ProxyProtocol {
    /// It is not.
    #[default]
    Off,
    /// By a line of text.
    V1,
    /// By a binary header.
    V2,
}
