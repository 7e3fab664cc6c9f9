//! A server as the pool keeps it: where it is, and what its row says about talking to it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use config::{Endpoint, Server};

/// A server that sessions get connections to. Displayed as its [`Endpoint`].
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it is reached.
    pub endpoint: Endpoint,
    /// Whether connections use TLS, or do not come about.
    pub use_ssl: bool,
    /// Whether the compressed protocol is spoken to it, if it can.
    pub compression: bool,
    /// Whether it was noted that it cannot.
    uncompressed: Arc<AtomicBool>,
    /// How often it was seen to have another `max_allowed_packet` than before.
    packet_limit: Arc<AtomicU32>,
}

impl AsRef<Endpoint> for Target {
    fn as_ref(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Target {
    /// The target that a row of `mysql_servers` describes.
    pub fn new(server: &Server) -> Self {
        let Server { use_ssl, compression, .. } = *server;
        Self { use_ssl, compression, ..Self::at(server.endpoint()) }
    }

    /// The server at `endpoint`, to be found in the pool.
    pub fn at(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            use_ssl: false,
            compression: false,
            uncompressed: Arc::default(),
            packet_limit: Arc::default(),
        }
    }

    /// Takes note of the server not speaking the compressed protocol; whether that is news.
    pub(crate) fn note_uncompressed(&self) -> bool {
        !self.uncompressed.swap(true, Ordering::Relaxed)
    }

    /// How often it was seen to have another `max_allowed_packet` than before.
    pub(crate) fn packet_limit(&self) -> u32 {
        self.packet_limit.load(Ordering::Relaxed)
    }

    /// It has another `max_allowed_packet`, which connections that are open go on without.
    pub(crate) fn note_packet_limit(&self) {
        self.packet_limit.fetch_add(1, Ordering::Relaxed);
    }
}

/// The same server, whatever its row says.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint
    }
}

impl Eq for Target {}

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.endpoint.hash(state);
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}
