//! TLS of the client, with another implementation of streams than the one under test.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wire::packet::SslRequest;
use wire::{Capabilities, Codec as _};

use super::{Client, ClientError, Options, ServerInfo, login};
use crate::packets::Packets;

/// The name that certificates have to be for.
pub(crate) const SERVER_NAME: &str = "localhost";

impl<S: AsyncRead + AsyncWrite + Unpin> Client<TlsStream<S>> {
    /// Logs in over TLS on a stream that is connected already. The target in `options` says whether
    /// the password may be shown: that of a Unix socket stands for yes.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ClientError::Io`] when the handshake fails.
    pub async fn over_tls(
        stream: S,
        options: &Options,
        config: Arc<ClientConfig>,
    ) -> Result<Self, ClientError> {
        // Servers want to see it in the login as well, and the schema in the request already.
        let mut capabilities = options.capabilities | Capabilities::SSL;
        capabilities.set(Capabilities::CONNECT_WITH_DB, options.schema.is_some());
        let options = options.clone().capabilities(capabilities);
        let mut packets = Packets::new(stream);
        let server = login::read_greeting(&mut packets).await?;
        let mut packets = encrypt(packets, &server, &options, config).await?;
        let status = login::login(&mut packets, &server, &options).await?;
        Ok(Self { packets, server, status })
    }
}

/// Asks for TLS behind the greeting, and speaks it.
pub(crate) async fn encrypt<S: AsyncRead + AsyncWrite + Unpin>(
    mut packets: Packets<S>,
    server: &ServerInfo,
    options: &Options,
    config: Arc<ClientConfig>,
) -> io::Result<Packets<TlsStream<S>>> {
    let capabilities = (options.wanted() | Capabilities::SSL) & server.capabilities;
    let request =
        SslRequest { capabilities, max_packet: 1 << 30, collation: options.collation.to_le_bytes()[0] };
    packets.write(&request.encode(capabilities)).await?;
    let seq = packets.next_seq();
    let (stream, unread) = packets.into_parts();
    if !unread.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes between the greeting and TLS"));
    }
    let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
    let stream = TlsConnector::from(config).connect(name, stream).await?;
    let mut packets = Packets::new(stream);
    packets.expect_seq(seq);
    Ok(packets)
}
