//! The PROXY header in front of a client's bytes: who it is, said by a proxy that is trusted.
//!
//! A connection from `mysql-proxy_protocol_networks` must begin with a header, and is not greeted
//! before: the protocol forbids to guess whether there is one. Exactly the header's bytes are read,
//! so that all that follows (a login, TLS, a tunnel) finds the socket as if there had been none.

use std::future::poll_fn;
use std::io;

use tokio::time::{Instant, timeout_at};
use wire::proxy_header::{HeaderError, Parsed, ProxyHeader, parse};

use crate::ending::Ending;
use crate::worker::Worker;
use net::sock::Sock;
use wire::Peer;

/// Why there is no header.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The connection is over. Port checks do that all the time, so it is not logged.
    #[error("the connection was closed")]
    Closed(#[from] io::Error),
    #[error("not a PROXY header")]
    Absent,
    #[error(transparent)]
    Malformed(#[from] HeaderError),
    #[error("no PROXY header within mysql-connect_timeout_client")]
    Late,
}

/// The client behind `peer`, whose socket this is: the one that its header names, if it has to send
/// one. What is no header, or comes later than `deadline`, ends the connection.
pub(crate) async fn client(
    worker: &Worker,
    sock: &mut Sock,
    peer: Peer,
    deadline: Instant,
) -> Result<Peer, Ending> {
    if !worker.upstream.settings().variables.proxy_protocol_networks.contain(peer.ip()) {
        return Ok(peer);
    }
    let header = timeout_at(deadline, read(sock)).await.unwrap_or(Err(Failure::Late));
    match header {
        Ok(ProxyHeader::Tcp(addresses)) => Ok(Peer::Tcp(addresses)),
        Ok(ProxyHeader::Local | ProxyHeader::Unknown) => Ok(peer),
        Err(failure) => {
            if !matches!(failure, Failure::Closed(_))
                && let Some(hidden) = worker.bad_headers.admit(worker.upstream.now())
            {
                tracing::warn!(%peer, %failure, hidden, "a connection from mysql-proxy_protocol_networks was closed");
            }
            Err(Ending::Silent)
        }
    }
}

async fn read(sock: &mut Sock) -> Result<ProxyHeader, Failure> {
    let mut bytes = Vec::new();
    loop {
        match parse(&bytes)? {
            Parsed::More(missing) => {
                let have = bytes.len();
                // Bounded: nothing is missing from a header that is too long to be read.
                bytes.resize(have + missing, 0);
                let rest = bytes.get_mut(have..).unwrap_or_default();
                let n = poll_fn(|cx| sock.poll_read(cx, rest)).await?;
                if n == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                bytes.truncate(have + n);
            }
            Parsed::Absent => return Err(Failure::Absent),
            Parsed::Complete { header, .. } => return Ok(header),
        }
    }
}
