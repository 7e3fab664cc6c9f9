//! A client, from its first byte to its last: this is the task that a worker runs for each.

pub(crate) mod login;

use std::rc::Rc;

use config::Protocol;

use crate::arrival::Arrival;
use crate::control::Signal;
use crate::ending::say_goodbye;
use crate::session::Session;
use crate::sock::Sock;
use crate::tunnel;
use crate::worker::{Registered, Worker};

/// Serves one client until either side ends the connection.
pub(crate) async fn serve(worker: Rc<Worker>, registered: Registered, arrival: Arrival) {
    registered.control.attach().await;
    let Arrival { stream, peer, protocol, hostgroup, slot } = arrival;
    let sock = match stream.into_sock() {
        Ok(sock) => sock,
        Err(error) => return tracing::warn!(%error, %peer, "a client's socket could not be registered"),
    };
    match protocol {
        Protocol::Tcp => {
            // Boxed, so that the larger session does not decide what a tunnel's task takes, and vice versa.
            Box::pin(tunnel::serve(&worker, &registered.control, sock, hostgroup)).await;
        }
        Protocol::Mysql => serve_mysql(worker, &registered, sock, peer).await,
    }
    drop(slot);
}

async fn serve_mysql(
    worker: Rc<Worker>,
    registered: &Registered,
    mut sock: Sock,
    peer: crate::arrival::Peer,
) {
    let deadline = worker.shared.variables.connect_timeout_client;
    // The login is boxed: its buffers and states are gone when the session begins.
    let login = Box::pin(login::login(&worker, &mut sock, peer));
    let login = registered.control.until(Signal::Drain, tokio::time::timeout(deadline, login)).await;
    let identity = match login {
        Ok(Ok(Ok(identity))) => identity,
        Ok(Ok(Err(ending))) => return Box::pin(say_goodbye(&worker, sock, ending)).await,
        // Too late, or the proxy ends: there is nothing that this client would understand.
        Ok(Err(_)) | Err(_) => return,
    };
    let mut session = Session::new(worker, Rc::clone(&registered.control), sock, identity);
    let ending = session.run().await;
    let (worker, sock) = session.into_parts();
    Box::pin(say_goodbye(&worker, sock, ending)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an idle client costs beside its sockets' kernel memory; design budget 1.2 KB.
    #[test]
    fn the_task_of_a_client_stays_small() {
        fn size<A, B, C, F: Future>(_: impl Fn(A, B, C) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size(serve);
        assert!(bytes <= 1024, "the future of a client has {bytes} bytes");
    }

    #[test]
    fn endings_stay_small() {
        assert!(size_of::<crate::ending::Ending>() <= 64);
    }
}
