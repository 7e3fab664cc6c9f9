//! The origin of a request: address of the client, port, encryption.

use std::net::IpAddr;

/// Where a request comes from, and where it arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The client.
    pub(crate) client: IpAddr,
    /// The port of the page.
    pub(crate) port: u16,
    /// Whether the connection is encrypted.
    pub(crate) is_tls: bool,
}

impl Origin {
    /// Whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.client.to_canonical().is_loopback()
    }
}
