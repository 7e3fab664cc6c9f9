//! Letting a client in that has connected, from its first byte to the end of its login.

use std::rc::Rc;

use config::{Listener, Role};
use tokio::time::{Instant, timeout_at};
use wire::{Capabilities, Peer};

use crate::arrival::{Arrival, Guest, Slots};
use crate::audit;
use crate::ending::{Ending, say_goodbye};
use crate::errors::note_refusal;
use crate::handle::{ClientHandle, Signal};
use crate::header;
use crate::login::{self, LoggedIn};
use crate::tunnel;
use crate::worker::Worker;
use net::sock::Sock;
use observe::counts::Counter;
use session::addresses::Place;
use session::door::Door;
use session::error::ClientError;

/// Lets a client in that has come to a listener for sessions: its socket, its login, and its
/// places, which are given back on drop. A client of a listener for tunnels is served here.
pub async fn receive(
    worker: &Worker,
    handle: &impl ClientHandle,
    arrival: Arrival,
) -> Option<(Sock, Box<LoggedIn>, Slots)> {
    let Arrival { stream, guest } = arrival;
    handle.about().set_peer(guest.peer);
    let counts = &worker.upstream.counts;
    let sock = match stream.into_sock() {
        Ok(mut sock) => {
            sock.count_in(Rc::clone(&counts.clients));
            sock
        }
        Err(error) => {
            tracing::warn!(%error, peer = %guest.peer, "a client's socket could not be registered");
            return None;
        }
    };
    let listener = &*guest.listener;
    match listener.role {
        Role::Tcp => {
            // Boxed: a tunnel takes more than a login, of which there may be thousands at once.
            Box::pin(serve_tcp(worker, handle, sock, guest.peer, listener)).await;
            audit::note_end(worker, handle, None);
            None
        }
        Role::Auto | Role::ReadWrite | Role::ReadOnly => {
            let logged_in = log_in(worker, handle, sock, guest.peer, listener).await;
            if !matches!(logged_in, Err(Refused::Blameless)) {
                note_host(worker, &guest.peer, listener, logged_in.is_err());
            }
            let Ok((sock, logged_in)) = logged_in else {
                counts.note(Counter::ClientsAborted);
                return None;
            };
            // Of whom it is the session knows all that matters; thousands of them wait.
            let Guest { slots, .. } = *guest;
            Some((sock, logged_in, slots))
        }
    }
}

async fn serve_tcp(
    worker: &Worker,
    handle: &impl ClientHandle,
    mut sock: Sock,
    peer: Peer,
    listener: &Listener,
) {
    let deadline = login_deadline(worker, listener);
    let client = header::client(worker, &mut sock, peer, deadline);
    // A connection without the PROXY header that it must begin with gets no server.
    if let Ok(Ok(client)) = handle.until(Signal::Drain, client).await {
        handle.about().set_peer(client);
        let _place = match place_of(worker, client) {
            Ok(place) => place,
            Err(ending) => return Box::pin(say_goodbye(&worker.upstream.net, sock, ending)).await,
        };
        if let Some(spoke) = tunnel::serve(worker, handle, sock, client, listener).await {
            // All that is known here of a login is whether there was one.
            note_host(worker, &peer, listener, !spoke);
        }
    }
}

/// When a client that comes now must have logged in.
fn login_deadline(worker: &Worker, listener: &Listener) -> Instant {
    let of_all = || worker.upstream.settings().variables.connect_timeout_client;
    Instant::now() + listener.connect_timeout_client.unwrap_or_else(of_all)
}

/// Why a client was not let in.
#[derive(Debug, Clone, Copy)]
enum Refused {
    /// It has not come through its login.
    Failed,
    /// There was no place for it, or the proxy ends.
    Blameless,
}

/// Logs a client in, and says what there is to say to one that is not let in.
async fn log_in(
    worker: &Worker,
    handle: &impl ClientHandle,
    mut sock: Sock,
    peer: Peer,
    listener: &Listener,
) -> Result<(Sock, Box<LoggedIn>), Refused> {
    let (deadline, door) = (login_deadline(worker, listener), Door::new(listener));
    // Boxed: a wait with a deadline takes room for twice what it waits for.
    let login = Box::pin(async {
        let client = Box::pin(header::client(worker, &mut sock, peer, deadline)).await?;
        handle.about().set_peer(client);
        let place = place_of(worker, client)?;
        let mut logged_in = login::login(worker, handle.id(), &mut sock, client, door, deadline).await?;
        logged_in.identity.place = place;
        Ok(logged_in)
    });
    let outcome = handle.until(Signal::Drain, timeout_at(deadline, login)).await;
    handle.about().set_tls(sock.is_encrypted());
    match outcome {
        Ok(Ok(Ok(logged_in))) => Ok((sock, logged_in)),
        Ok(Ok(Err(ending))) => {
            audit::note_end(worker, handle, Some(&ending));
            let why = if matches!(ending, Ending::NoPlace(_)) { Refused::Blameless } else { Refused::Failed };
            Box::pin(say_goodbye(&worker.upstream.net, sock, ending)).await;
            Err(why)
        }
        // Too late, or the proxy ends: there is nothing that this client would understand.
        Ok(Err(_)) => {
            audit::note_late_login(worker, handle);
            Err(Refused::Failed)
        }
        Err(_) => {
            audit::note_end(worker, handle, None);
            Err(Refused::Blameless)
        }
    }
}

/// A place among the clients of this address, if these are limited; `Err` is what to tell a client
/// that gets none.
fn place_of(worker: &Worker, client: Peer) -> Result<Option<Box<Place>>, Ending> {
    let max = worker.upstream.settings().variables.max_connections_per_address;
    let Some(ip) = client.ip().filter(|_| max > 0) else { return Ok(None) };
    let place = worker.shared.addresses.take(ip, max);
    place.map(|place| Some(Box::new(place))).ok_or_else(|| {
        let error = ClientError::TooManyFromAddress { address: ip, max };
        note_refusal(&worker.upstream.counts, Some(ip), None, &error);
        Ending::no_place(&error, 0, Capabilities::empty())
    })
}

/// Takes note of whether a connection from an address has failed. Who connects for others fails for
/// them, too, and is not to be locked out.
fn note_host(worker: &Worker, peer: &Peer, listener: &Listener, failed: bool) {
    let (settings, shared) = (worker.upstream.settings(), &worker.shared);
    if !settings.variables.proxy_protocol_networks.contain(peer.ip()) {
        shared.hosts.note(peer.ip(), listener, failed, &settings.variables, shared.upstream.uptime());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client costs that has connected and says nothing; anybody may do so.
    #[test]
    fn a_login_that_has_begun_stays_small() {
        fn size<A, B, C, F: Future>(_: impl Fn(A, B, C) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size(login_size);
        assert!(bytes <= 2048, "the future of a login has {bytes} bytes");
    }

    async fn login_size(worker: Rc<Worker>, mut sock: Sock, peer: Peer) {
        let _ = login::login(&worker, 0, &mut sock, peer, Door::default(), Instant::now()).await;
    }

    #[test]
    fn endings_stay_small() {
        assert!(size_of::<Ending>() <= 64);
    }
}
