//! Where clients connect.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::Balance;
use crate::row::Row;

/// Longest path of a Unix socket, in bytes: `sun_path` of unix(7) holds 108 with the closing zero
/// byte.
pub const UNIX_PATH_MAX_BYTES: usize = 107;

/// The port of a proxy where none is configured (the same as ProxySQL's).
const DEFAULT_PORT: u16 = 6033;

/// A place where clients connect, and what is done for them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Listener {
    /// Where to listen.
    pub address: Address,
    /// What is done for its clients.
    pub role: Role,
    /// The hostgroup whose servers they get; `None`: the users' rows decide. [`Role::Tcp`] has one,
    /// [`Role::Auto`] none.
    pub hostgroup: Option<u32>,
    /// How a server of that hostgroup is chosen; `None`: as the hostgroup's attributes say.
    pub strategy: Option<Strategy>,
    /// Most clients at a time; 0: as many as the proxy takes.
    pub max_connections: u32,
    /// Its own `mysql-connect_timeout_client`, if it has one.
    pub connect_timeout_client: Option<Duration>,
    /// Its own `mysql-connect_timeout_server`; only [`Role::Tcp`] has one.
    pub connect_timeout_server: Option<Duration>,
    /// Its own `mysql-connect_timeout_server_max`; only [`Role::Tcp`] has one.
    pub connect_timeout_server_max: Option<Duration>,
    /// Its own `mysql-client_host_error_counts`, if it has one.
    pub client_host_error_counts: Option<u32>,
}

impl Listener {
    /// The columns that end up in this type.
    #[cfg(test)]
    pub(crate) const COLUMNS: &[&str] = &[
        "address",
        "protocol",
        "hostgroup",
        "role",
        "strategy",
        "max_connections",
        "connect_timeout_client",
        "connect_timeout_server",
        "connect_timeout_server_max",
        "client_host_error_counts",
    ];

    /// The typed form of a row of `listeners`.
    pub(crate) fn from_row(row: &Row) -> Self {
        let role = match row.get("protocol") {
            Protocol::Tcp => Role::Tcp,
            Protocol::Mysql => row.get("role"),
        };
        let hostgroup: Option<u32> = row.get("hostgroup");
        let hostgroup = match role {
            Role::Tcp => Some(hostgroup.unwrap_or(0)),
            Role::Auto | Role::ReadWrite | Role::ReadOnly => hostgroup,
        };
        Self {
            address: row.get("address"),
            role,
            hostgroup,
            strategy: row.get("strategy"),
            max_connections: row.get("max_connections"),
            connect_timeout_client: row.get("connect_timeout_client"),
            connect_timeout_server: row.get("connect_timeout_server"),
            connect_timeout_server_max: row.get("connect_timeout_server_max"),
            client_host_error_counts: row.get("client_host_error_counts"),
        }
    }

    /// What it does with a connection.
    pub const fn protocol(&self) -> Protocol {
        match self.role {
            Role::Tcp => Protocol::Tcp,
            Role::Auto | Role::ReadWrite | Role::ReadOnly => Protocol::Mysql,
        }
    }
}

/// What a listener does for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// Rules, the split and the users' rows decide where each statement goes.
    #[default]
    Auto,
    /// All statements go to the servers that may be written to.
    ReadWrite,
    /// All statements go to the servers that are only read from.
    ReadOnly,
    /// Bytes go to a server and back, and nothing is read of them.
    Tcp,
}

impl Role {
    /// The word for it in `role`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ReadWrite => "read_write",
            Self::ReadOnly => "read_only",
            Self::Tcp => "tcp",
        }
    }
}

/// How a server of a listener's hostgroup is chosen, in the words of MySQL Router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// The first one that can be used, in the order of the table.
    FirstAvailable,
    /// The same, but one that has failed is not used again.
    NextAvailable,
    /// In turn.
    RoundRobin,
    /// In turn, and while none can be used a server of the hostgroup that these are the readers of.
    RoundRobinWithFallback,
    /// Of two chosen by weight the one that runs fewer statements.
    LeastLoaded,
}

impl Strategy {
    /// How the hostgroup chooses that this is the strategy for.
    pub const fn balance(self) -> Balance {
        match self {
            Self::FirstAvailable => Balance::FirstAvailable,
            Self::NextAvailable => Balance::NextAvailable,
            Self::RoundRobin | Self::RoundRobinWithFallback => Balance::RoundRobin,
            Self::LeastLoaded => Balance::LeastLoaded,
        }
    }

    /// Whether there is another hostgroup for when none of the first can be used.
    pub const fn falls_back(self) -> bool {
        matches!(self, Self::RoundRobinWithFallback)
    }
}

/// What a listener does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Clients log in to the proxy, which understands what they say.
    #[default]
    Mysql,
    /// Bytes are copied to a server of one hostgroup and back, and nothing is read of them.
    Tcp,
}

/// An address to listen on. Displayed and parsed as `127.0.0.1:6033`, `[::1]:6033`, `name:6033` or
/// `/run/pointsman.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP socket; port 0 lets the system choose one.
    Tcp(SocketAddr),
    /// A TCP socket at the first address of a name that can be bound.
    Name {
        /// The name, which is resolved when the address is bound.
        host: String,
        /// The port; 0 lets the system choose one.
        port: u16,
    },
    /// A Unix socket: an absolute path of at most [`UNIX_PATH_MAX_BYTES`] bytes.
    Unix(PathBuf),
}

impl Address {
    /// Its port, if it has one.
    pub(crate) const fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(address) => Some(address.port()),
            Self::Name { port, .. } => Some(*port),
            Self::Unix(_) => None,
        }
    }
}

impl Default for Address {
    fn default() -> Self {
        Self::Tcp((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT).into())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Name { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A text that is no address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// Neither an IP address or a name with a port, nor an absolute path.
    #[error(
        "`{0}` is no address: write 127.0.0.1:6033, [::1]:6033, name:6033 or the absolute path of a Unix socket"
    )]
    Malformed(String),
    /// The path does not fit into the system's socket address.
    #[error(
        "the Unix socket path `{path}` has {} bytes, at most {UNIX_PATH_MAX_BYTES} are possible",
        path.len()
    )]
    PathTooLong {
        /// The path.
        path: String,
    },
    /// The path holds a zero byte, where the system would end it.
    #[error("the Unix socket path {0:?} holds a zero byte")]
    PathWithNul(String),
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if text.starts_with('/') {
            return unix_path(text).map(Self::Unix);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        let malformed = || InvalidAddress::Malformed(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        match host {
            // The one name that means the same everywhere.
            "localhost" => Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into())),
            host if is_name(host) => Ok(Self::Name { host: host.to_owned(), port }),
            _ => Err(malformed()),
        }
    }
}

/// Whether `text` can be the name of a host, and is no IPv4 address that has a mistake.
pub(crate) fn is_name(text: &str) -> bool {
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit());
    !numeric && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// `text` as the path of a Unix socket, if the system can take it as one.
pub(crate) fn unix_path(text: &str) -> Result<PathBuf, InvalidAddress> {
    if text.len() > UNIX_PATH_MAX_BYTES {
        return Err(InvalidAddress::PathTooLong { path: text.to_owned() });
    }
    if text.contains('\0') {
        return Err(InvalidAddress::PathWithNul(text.to_owned()));
    }
    Ok(PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in
            ["127.0.0.1:6033", "0.0.0.0:0", "[::1]:6033", "[fe80::1%2]:6033", "db-1.x_y.org:0", "/run/x.sock"]
        {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!(Address::default().to_string(), "0.0.0.0:6033");
        assert_eq!("localhost:1".parse::<Address>().unwrap().to_string(), "127.0.0.1:1");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "127.0.0.1",
            "::1:6033",
            "127.0.0.1:65536",
            "127.0.0.256:6033",
            "127.0.0.1.:6033",
            "name",
            "name:",
            "name:65536",
            "na me:6033",
            "name/:6033",
            "x.sock",
            ":6033",
            ".:6033",
        ] {
            assert_eq!(text.parse::<Address>(), Err(InvalidAddress::Malformed(text.to_owned())));
        }
    }

    #[test]
    fn unix_paths_fit_the_socket_address() {
        let longest = format!("/{}", "x".repeat(UNIX_PATH_MAX_BYTES - 1));
        assert!(longest.parse::<Address>().is_ok());
        let longer = format!("{longest}x");
        assert_eq!(longer.parse::<Address>(), Err(InvalidAddress::PathTooLong { path: longer.clone() }));
        assert!(matches!("/a\0b".parse::<Address>(), Err(InvalidAddress::PathWithNul(_))));
    }
}
