//! A way to a server whose bytes come late.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const BUFFER: usize = 16 * 1024;
/// Pieces that are on their way at most.
const PIECES_MAX: usize = 4_096;

/// Takes connections at a port of its own.
#[derive(Debug)]
pub(crate) struct Link {
    address: SocketAddr,
}

impl Link {
    /// Starts one in front of this server, whose bytes come so late. It ends with the process.
    pub(crate) fn start(server: SocketAddr, late: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that has ended is not connected with any more.
                if connect(server, client, late).is_err() {
                    break;
                }
            }
        });
        Self { address }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Connects a client with the server.
fn connect(server: SocketAddr, client: TcpStream, late: Duration) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (sender, pieces) = sync_channel(PIECES_MAX);
    std::thread::spawn(move || deliver(&pieces, client, late));
    std::thread::spawn(move || {
        let (mut server, mut buffer) = (server, vec![0; BUFFER]);
        while let Ok(n @ 1..) = server.read(&mut buffer) {
            if sender.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// Writes each piece when it is due.
fn deliver(pieces: &Receiver<(Instant, Vec<u8>)>, mut client: TcpStream, late: Duration) {
    for (came, bytes) in pieces {
        std::thread::sleep((came + late).saturating_duration_since(Instant::now()));
        if client.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
