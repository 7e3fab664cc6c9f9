//! Asking servers, once, what they can do: a connection that ends after the greeting.

use std::io;
use std::sync::Arc;

use config::Endpoint;
use net::LOGIN_MESSAGE_BYTES_MAX;
use net::names::{Blamed, Keeping};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use upstream::Shared;
use upstream::is_ours;
use wire::frame::MessageReader;
use wire::proxy_header::ProxyHeader;
use wire::{Capabilities, Codec as _, packet};

use crate::limits::PROBES_MAX;

/// Asks all servers at once; clients that come before the answers wait for them from now on. A
/// server that does not answer within `mysql-connect_timeout_server` is known when the first
/// session logs in to it.
pub fn probe(shared: Arc<Shared>) -> impl Future<Output = ()> {
    shared.servers.set_asked(false);
    async move {
        let servers = shared.servers.order();
        probe_new(Arc::clone(&shared), servers).await;
        shared.servers.set_asked(true);
    }
}

/// Asks these, for which no client waits: others are known, or will be with the first session.
pub async fn probe_new(shared: Arc<Shared>, servers: Vec<Endpoint>) {
    let limit = shared.configuration().variables.connect_timeout_server;
    let places = Arc::new(Semaphore::new(PROBES_MAX));
    let mut probes = JoinSet::new();
    for endpoint in servers {
        let (shared, places) = (Arc::clone(&shared), Arc::clone(&places));
        probes.spawn(async move {
            // Never closed.
            let _place = places.acquire().await;
            let outcome = timeout(limit, ask(&shared, &endpoint)).await;
            match outcome.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(()) => {}
                Err(error) => tracing::warn!(server = %endpoint, %error, "a server does not answer"),
            }
        });
    }
    probes.join_all().await;
}

async fn ask(shared: &Shared, endpoint: &Endpoint) -> io::Result<()> {
    let header = shared.configuration().announced.header(endpoint, &ProxyHeader::Local);
    match endpoint {
        Endpoint::Tcp { host, port } => {
            let keeping = Keeping::new(shared.configuration().monitor());
            let mut stream = shared.names.dial(host, *port, keeping, is_ours, Blamed::Server).await?;
            stream.write_all(&header).await?;
            greeted(shared, endpoint, stream).await
        }
        Endpoint::Unix(path) => {
            let mut stream = UnixStream::connect(path).await?;
            stream.write_all(&header).await?;
            greeted(shared, endpoint, stream).await
        }
    }
}

/// Reads the greeting, or an error that stands in its place.
async fn greeted(shared: &Shared, endpoint: &Endpoint, mut stream: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut messages = MessageReader::new(LOGIN_MESSAGE_BYTES_MAX);
    let mut bytes = [0; 512];
    let payload = loop {
        if let Some(payload) = messages.message().map_err(io::Error::other)? {
            break payload;
        }
        match stream.read(&mut bytes).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => messages.feed(bytes.get(..n).unwrap_or_default()),
        }
    };
    if payload.first() == Some(&packet::Err::HEADER) {
        let error = packet::Err::decode(&payload, Capabilities::PROTOCOL_41).map_err(io::Error::other)?;
        let text = format!("error {}: {}", error.code, String::from_utf8_lossy(error.message));
        return Err(io::Error::other(text));
    }
    let greeting = packet::Greeting::decode(&payload, Capabilities::empty()).map_err(io::Error::other)?;
    shared.servers.learn(endpoint, &greeting);
    Ok(())
}
