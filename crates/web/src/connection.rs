//! A connection of a browser: TLS or not, and the requests that come over it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use admin::Settings;
use admin::http::Service;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::limits::{BUFFER_BYTES_MAX, CLIENTS_MAX, REQUEST_TIME_MAX};
use crate::origin::Origin;
use crate::places::Place;
use crate::router;
use crate::site::Site;
use crate::timed::Timed;

/// The first byte of a client that speaks TLS: a handshake record.
const TLS_HANDSHAKE: u8 = 22;

/// The page as a service of HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Page(Arc<Site>);

impl Page {
    /// The page `site`.
    pub(crate) const fn new(site: Arc<Site>) -> Self {
        Self(site)
    }
}

impl Service for Page {
    const NAME: &'static str = "the page of operators (admin-web_enabled)";
    const CLIENTS_MAX: usize = CLIENTS_MAX;

    fn addresses(&self, settings: &Settings) -> Vec<SocketAddr> {
        settings.web_addresses().to_vec()
    }

    async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        let site = Arc::clone(&self.0);
        let Some(_place) = Place::take(&site, peer.ip()) else {
            tracing::debug!(client = %peer.ip(), "too many connections to the page");
            return;
        };
        let mut first = [0];
        let peeked = timeout(REQUEST_TIME_MAX, stream.peek(&mut first)).await;
        if !matches!(peeked, Ok(Ok(1))) {
            return;
        }
        let port = stream.local_addr().map_or(0, |local| local.port());
        let origin = |is_tls| Origin { client: peer.ip(), port, is_tls };
        if first != [TLS_HANDSHAKE] {
            return requests(stream, self.0, origin(false)).await;
        }
        let Some(tls) = self.0.plane.tls() else { return };
        match timeout(REQUEST_TIME_MAX, TlsAcceptor::from(tls).accept(stream)).await {
            Ok(Ok(stream)) => requests(stream, self.0, origin(true)).await,
            Ok(Err(error)) => tracing::debug!(%error, "a viewer of the page: no TLS"),
            Err(_) => tracing::debug!("a viewer of the page: TLS took too long"),
        }
    }
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    site: Arc<Site>,
    origin: Origin,
) {
    let service = service_fn(|request| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(router::answer(&site, origin, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(Timed::new(stream)), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a viewer of the page is gone");
    }
}
