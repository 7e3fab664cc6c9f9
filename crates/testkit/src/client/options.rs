//! How a client connects and what it announces.

use std::net::SocketAddr;
use std::path::PathBuf;

use wire::Capabilities;
use wire::compress::Method;

/// What a client announces by default, as far as the server has it: everything this client can
/// handle.
pub const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF);

/// `utf8mb4_general_ci`, which MySQL and MariaDB both have.
const COLLATION: u16 = 45;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An address.
    Tcp(SocketAddr),
    /// A Unix socket, over which clear passwords may travel.
    Unix(PathBuf),
}

/// How to connect.
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) target: Target,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) schema: Option<String>,
    pub(super) capabilities: Capabilities,
    pub(super) collation: u16,
    pub(super) auth_plugin: Option<String>,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) compression: Option<Method>,
}

impl Options {
    /// Connects over TCP.
    pub fn tcp(address: SocketAddr, user: &str, password: &str) -> Self {
        Self::new(Target::Tcp(address), user, password)
    }

    /// Connects over a Unix socket.
    pub fn unix(path: impl Into<PathBuf>, user: &str, password: &str) -> Self {
        Self::new(Target::Unix(path.into()), user, password)
    }

    fn new(target: Target, user: &str, password: &str) -> Self {
        Self {
            target,
            user: user.to_owned(),
            password: password.to_owned(),
            schema: None,
            capabilities: CAPABILITIES,
            collation: COLLATION,
            auth_plugin: None,
            attributes: vec![("_client_name".to_owned(), "testkit".to_owned())],
            compression: None,
        }
    }

    /// Where it connects over TCP; `None` for a Unix socket.
    pub const fn address(&self) -> Option<SocketAddr> {
        match self.target {
            Target::Tcp(address) => Some(address),
            Target::Unix(_) => None,
        }
    }

    /// Names the first schema in the login.
    #[must_use]
    pub fn schema(mut self, schema: &str) -> Self {
        self.schema = Some(schema.to_owned());
        self
    }

    /// Announces these capabilities, as far as the server has them. Schema, plugin and attributes
    /// follow them.
    #[must_use]
    pub const fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Names this collation in the login instead of `utf8mb4_general_ci` (45). Only
    /// `COM_CHANGE_USER` has room for ids above 255; a login then has the lower byte, as that of
    /// MySQL's own client library.
    #[must_use]
    pub const fn collation(mut self, collation: u16) -> Self {
        self.collation = collation;
        self
    }

    /// Starts the login with this method instead of the server's.
    #[must_use]
    pub fn auth_plugin(mut self, plugin: &str) -> Self {
        self.auth_plugin = Some(plugin.to_owned());
        self
    }

    /// Speaks the compressed protocol with this method, if the server does.
    #[must_use]
    pub const fn compression(mut self, method: Method) -> Self {
        self.compression = Some(method);
        self
    }

    /// What is announced, as far as the server has it.
    pub(super) fn wanted(&self) -> Capabilities {
        self.capabilities
            | match self.compression {
                None => Capabilities::empty(),
                Some(Method::Zlib) => Capabilities::COMPRESS,
                Some(Method::Zstd { .. }) => Capabilities::ZSTD_COMPRESSION,
            }
    }

    /// The level of zstd for the login packet.
    pub(super) const fn zstd_level(&self) -> Option<u8> {
        match self.compression {
            Some(Method::Zstd { level }) => Some(level),
            _ => None,
        }
    }

    /// Sends these connection attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &[(&str, &str)]) -> Self {
        self.attributes =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self
    }
}
