//! Counts how often a client waits for its server: a relay that looks at which side speaks.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest piece that is passed on at once.
const PIECE_BYTES: usize = 64 << 10;

/// Who has spoken last on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Client,
    Server,
}

/// A relay on a port of its own. Its threads end with their connections, and the last one with the
/// process.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    trips: Arc<Mutex<usize>>,
}

impl Relay {
    /// Starts a relay to a port on loopback.
    pub(crate) fn start(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let trips = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&trips);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).unwrap();
                relay(&client, &server, &counted);
            }
        });
        Self { port, trips }
    }

    /// Its port.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// How often clients have begun to speak after the server had spoken: what a packet in two
    /// pieces does not change.
    pub(crate) fn trips(&self) -> usize {
        *self.trips.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes bytes on in both directions, on two threads.
fn relay(client: &TcpStream, server: &TcpStream, trips: &Arc<Mutex<usize>>) {
    let last = Arc::new(Mutex::new(Speaker::Client));
    let [to_client, to_server] = [client, server].map(|socket| {
        socket.set_nodelay(true).unwrap();
        socket.try_clone().unwrap()
    });
    for (speaker, mut from, mut to) in [
        (Speaker::Client, client.try_clone().unwrap(), to_server),
        (Speaker::Server, server.try_clone().unwrap(), to_client),
    ] {
        let (last, trips) = (Arc::clone(&last), Arc::clone(trips));
        std::thread::spawn(move || {
            let mut piece = vec![0; PIECE_BYTES];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                let before =
                    std::mem::replace(&mut *last.lock().unwrap_or_else(PoisonError::into_inner), speaker);
                if (before, speaker) == (Speaker::Server, Speaker::Client) {
                    *trips.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                }
                if to.write_all(&piece[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}
