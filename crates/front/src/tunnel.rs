//! Layer 4: bytes are copied in both directions and nothing is looked at.
//!
//! Listeners with `protocol = "tcp"` work this way; so do sessions of users with
//! `fast_forward = 1`, and others once a command never ends (a binary log dump). It is also the
//! floor that the benchmark measures everything else against.

use std::future::poll_fn;

use config::Listener;
use tokio::time::timeout;

use crate::handle::{ClientHandle, Signal};
use crate::worker::Worker;
use net::sock::Sock;
use session::door::Door;
use upstream::{AcquireError, Backend, Copied, End, Full, Target, Times, Tunnel, Whom, acquire, connect};
use wire::Peer;

/// Connects a client of a layer-4 listener to a server and copies until either side closes. False
/// if the client has left without a word to the server; `None` if it got none.
pub(crate) async fn serve(
    worker: &Worker,
    handle: &impl ClientHandle,
    mut client: Sock,
    peer: Peer,
    listener: &Listener,
) -> Option<bool> {
    let (hostgroup, instead) = Door::new(listener).way(&worker.pairs());
    let times = Times::at(listener, &worker.upstream.settings().variables);
    let whom = Whom { times: Some(&times), ..Whom::default() };
    let open = async |target: &Target| Ok(connect(&worker.upstream, &target.endpoint, peer).await?.into());
    let acquiring = async {
        handle.about().set_hostgroup(hostgroup);
        let full = if instead.is_some() { Full::Elsewhere } else { Full::TryAgain };
        let found = acquire(&worker.upstream, hostgroup, full, whom, None, &open).await;
        let (Err(AcquireError::Proxy(_)), Some(instead)) = (&found, instead) else { return found };
        handle.about().set_hostgroup(instead);
        acquire(&worker.upstream, instead, Full::TryAgain, whom, None, &open).await
    };
    let mut backend = match handle.until(Signal::Drain, acquiring).await {
        Ok(Ok(found)) => found.backend,
        Ok(Err(AcquireError::Proxy(error))) => {
            tracing::warn!(%peer, error = %error.logged(), "a layer-4 client got no server");
            return None;
        }
        Ok(Err(AcquireError::Server(_))) | Err(_) => return None,
    };
    handle.about().set_backend(Some(&backend));
    if let Some(limit) = listener.connect_timeout_client {
        let spoken = timeout(limit, first_word(worker, &mut client, &mut backend));
        match handle.until(Signal::Stop, spoken).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Some(false),
            Err(_) => return Some(true),
        }
    }
    let end = resume(worker, handle, &mut client, &mut backend, Vec::new(), Copied::Stream).await;
    Some(!end.was_silent)
}

/// Copies what the server says until the client has spoken, or one of them has ended.
async fn first_word(worker: &Worker, client: &mut Sock, backend: &mut Backend) {
    let mut tunnel = Tunnel::new(Vec::new(), Copied::Stream);
    poll_fn(|cx| {
        let mut scratch = worker.upstream.net.scratch.borrow_mut();
        tunnel.poll_first_word(cx, &mut scratch, client, backend.connection_mut().sock_mut())
    })
    .await;
}

/// Copies until no side is left to copy to, or the worker says stop, beginning with bytes that the
/// client has sent already.
pub async fn resume(
    worker: &Worker,
    handle: &impl ClientHandle,
    client: &mut Sock,
    backend: &mut Backend,
    first: Vec<u8>,
    copied: Copied,
) -> End {
    handle.set_tunnel(None);
    let mut tunnel = Tunnel::new(first, copied);
    let both = poll_fn(|cx| {
        let mut scratch = worker.upstream.net.scratch.borrow_mut();
        let turn = |is_clients: bool| handle.set_tunnel(is_clients.then(|| worker.upstream.now()));
        let rate = worker.rate_to_client();
        tunnel.poll(cx, &mut scratch, client, backend.connection_mut().sock_mut(), rate, turn)
    });
    // A signal means that the time is up: there is nothing to say at layer 4.
    let _ = handle.until(Signal::Stop, both).await;
    tunnel.end()
}
