//! Connections to servers, on which the client is announced first where the server's row asks for
//! it.

use std::collections::HashMap;
use std::io;

use config::{Config, Endpoint, ProxyProtocol};
use net::names::Blamed;
use net::sock::Sock;
use wire::Peer;
use wire::proxy_header::{ProxyHeader, Version};

use crate::Worker;

/// The servers that get PROXY headers, and in which version.
#[derive(Debug)]
pub struct Announced(HashMap<Endpoint, Version>);

impl Announced {
    /// What the rows of `pointsman_servers` say.
    pub(crate) fn new(config: &Config) -> Self {
        let version = |options: &config::ServerOptions| match options.proxy_protocol {
            ProxyProtocol::Off => None,
            ProxyProtocol::V1 => Some((options.endpoint(), Version::V1)),
            ProxyProtocol::V2 => Some((options.endpoint(), Version::V2)),
        };
        Self(config.server_options.iter().filter_map(version).collect())
    }

    /// Whether `endpoint` gets headers.
    pub(crate) fn contains(&self, endpoint: &Endpoint) -> bool {
        self.0.contains_key(endpoint)
    }

    /// The bytes that a connection to `endpoint` begins with.
    pub fn header(&self, endpoint: &Endpoint, header: &ProxyHeader) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(version) = self.0.get(endpoint) {
            header.write(*version, &mut bytes);
        }
        bytes
    }
}

/// Connects to `endpoint` on behalf of `peer`; the caller keeps the deadline.
pub async fn connect(worker: &Worker, endpoint: &Endpoint, peer: Peer) -> io::Result<Sock> {
    let settings = worker.settings();
    let mut sock = worker.dialer.connect(&worker.shared.names, endpoint, &settings, Blamed::Server).await?;
    sock.write_all(&settings.announced.header(endpoint, &peer.header())).await?;
    Ok(sock)
}
