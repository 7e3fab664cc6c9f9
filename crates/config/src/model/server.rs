//! A row of `mysql_servers`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::row::{Row, from_row};
use crate::schema::{MYSQL_SERVERS, Scalar};

/// One server in one hostgroup. `Default` has the table's defaults and no host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The hostgroup that this row belongs to.
    pub hostgroup_id: u32,
    /// A DNS name, an IP address, or with port 0 the path of a Unix socket.
    pub hostname: String,
    /// The TCP port; 0 says that `hostname` is the path of a Unix socket.
    pub port: u16,
    /// The port of a reader of its binary log, which says what it has executed; 0: there is none.
    pub gtid_port: u16,
    /// What the operator wants to be done with this server.
    pub status: ServerStatus,
    /// The share of new connections relative to the hostgroup's other servers; 0 gets none.
    pub weight: u32,
    /// Most connections to this row at a time.
    pub max_connections: u32,
    /// A server that lags more is passed over; zero: it may lag.
    pub max_replication_lag: Duration,
    /// A server that is slower is passed over; zero: the variable's limit.
    pub max_latency: Duration,
    /// Connections to it use TLS, or do not come about.
    pub use_ssl: bool,
    /// Whether the compressed protocol is spoken to this server, if it can.
    pub compression: bool,
    /// Free text.
    pub comment: String,
}

from_row!(Server, MYSQL_SERVERS, {
    hostgroup_id,
    hostname,
    port,
    gtid_port,
    status,
    weight,
    max_connections,
    max_replication_lag,
    max_latency = "max_latency_ms",
    use_ssl,
    compression,
    comment,
});

impl Server {
    /// The row of `mysql_servers` that says this.
    pub fn row(&self) -> Row {
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let cells = [
            ("hostgroup_id", Scalar::Int(self.hostgroup_id.into())),
            ("hostname", Scalar::Text(self.hostname.clone())),
            ("port", Scalar::Int(self.port.into())),
            ("gtid_port", Scalar::Int(self.gtid_port.into())),
            ("status", Scalar::Text(self.status.name().to_owned())),
            ("weight", Scalar::Int(self.weight.into())),
            ("max_connections", Scalar::Int(self.max_connections.into())),
            ("max_replication_lag", Scalar::Int(seconds(self.max_replication_lag))),
            ("max_latency_ms", Scalar::Int(milliseconds(self.max_latency))),
            ("use_ssl", Scalar::Bool(self.use_ssl)),
            ("compression", Scalar::Bool(self.compression)),
            ("comment", Scalar::Text(self.comment.clone())),
        ];
        let presets = Row::presets(&MYSQL_SERVERS);
        cells.into_iter().fold(presets, |row, (name, cell)| row.with(name, cell))
    }

    /// Where the server is reached.
    pub fn endpoint(&self) -> Endpoint {
        endpoint(&self.hostname, self.port)
    }

    /// Where the reader of its binary log is reached, if it has one.
    pub fn gtid_reader(&self) -> Option<Endpoint> {
        (self.gtid_port > 0 && self.port > 0).then(|| endpoint(&self.hostname, self.gtid_port))
    }
}

/// What the two columns mean together.
pub(super) fn endpoint(hostname: &str, port: u16) -> Endpoint {
    match port {
        0 => Endpoint::Unix(PathBuf::from(hostname)),
        port => Endpoint::Tcp { host: hostname.to_owned(), port },
    }
}

/// The state of a server that the operator asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ServerStatus {
    /// In use.
    #[default]
    Online,
    /// Out of use because of failures; a healthy server comes back by itself.
    Shunned,
    /// Finishes the work it has and gets no new connections.
    OfflineSoft,
    /// Out of use at once.
    OfflineHard,
}

impl ServerStatus {
    /// The word for it in `mysql_servers`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Shunned => "SHUNNED",
            Self::OfflineSoft => "OFFLINE_SOFT",
            Self::OfflineHard => "OFFLINE_HARD",
        }
    }
}

/// How to reach a server. Displayed as `db1:3306`, `[::1]:3306` or `/run/mysqld/mysqld.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// A DNS name or an IP address (without brackets), and a port.
    Tcp {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Whether it is displayed as this text.
    pub fn is_displayed_as(&self, text: &str) -> bool {
        match self {
            Self::Tcp { host, port } if !host.contains(':') => text
                .rsplit_once(':')
                .is_some_and(|(name, number)| name == host && number.parse() == Ok(*port)),
            _ => self.to_string() == text,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_the_server_does() {
        let server = Server {
            hostgroup_id: 3,
            hostname: "db1".to_owned(),
            port: 3307,
            gtid_port: 3310,
            status: ServerStatus::OfflineSoft,
            weight: 4,
            max_connections: 5,
            max_replication_lag: Duration::from_secs(6),
            max_latency: Duration::from_millis(7),
            use_ssl: true,
            compression: false,
            comment: "x".to_owned(),
        };
        assert_eq!(Server::from_row(&server.row()), server);
        assert_eq!(Server::from_row(&Server::default().row()), Server::default());
    }

    #[test]
    fn port_zero_means_a_unix_socket() {
        let tcp = Server { hostname: "db1".to_owned(), ..Server::default() };
        assert_eq!(tcp.endpoint().to_string(), "db1:3306");
        let v6 = Server { hostname: "::1".to_owned(), ..Server::default() };
        assert_eq!(v6.endpoint().to_string(), "[::1]:3306");
        let unix = Server { hostname: "/run/m.sock".to_owned(), port: 0, ..Server::default() };
        assert_eq!(unix.endpoint(), Endpoint::Unix(PathBuf::from("/run/m.sock")));
        assert_eq!(unix.endpoint().to_string(), "/run/m.sock");
        for server in [&tcp, &v6, &unix] {
            let endpoint = server.endpoint();
            assert!(endpoint.is_displayed_as(&endpoint.to_string()));
            for other in ["db1:3307", "db2:3306", "db1", "::1:3306", "/run/m.sock:0", ""] {
                assert!(!endpoint.is_displayed_as(other), "{endpoint} as {other}");
            }
        }
    }
}
