//! A way to a server that can be cut: then the proxy has lost its connections, and the server has
//! not.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The two ends of a connection.
#[derive(Debug)]
struct Ends {
    proxy: TcpStream,
    server: TcpStream,
    /// It is cut: the end of the server stays open.
    is_cut: AtomicBool,
}

/// All connections.
type All = Arc<Mutex<Vec<Arc<Ends>>>>;

/// Takes connections at a port of its own.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    all: All,
}

impl Relay {
    /// Starts one in front of this server. It ends with the process.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let all = All::default();
        let connections = Arc::clone(&all);
        std::thread::spawn(move || {
            for proxy in listener.incoming().map_while(Result::ok) {
                connect(server, proxy, &connections).unwrap_or_else(|error| panic!("{server}: {error}"));
            }
        });
        Self { address, all }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Ends all connections of the proxy, and none of the server.
    pub(crate) fn cut(&self) {
        for ends in &*self.all.lock().unwrap_or_else(PoisonError::into_inner) {
            ends.is_cut.store(true, Ordering::SeqCst);
            // One that has ended before does not matter.
            let _ = ends.proxy.shutdown(Shutdown::Both);
        }
    }
}

/// Connects a proxy with the server.
fn connect(server: SocketAddr, proxy: TcpStream, all: &All) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    proxy.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ends = Arc::new(Ends { proxy, server, is_cut: AtomicBool::new(false) });
    let (there, back) = (Arc::clone(&ends), Arc::clone(&ends));
    std::thread::spawn(move || {
        let _ = io::copy(&mut &there.proxy, &mut &there.server);
        if !there.is_cut.load(Ordering::SeqCst) {
            let _ = there.server.shutdown(Shutdown::Both);
        }
    });
    std::thread::spawn(move || {
        let _ = io::copy(&mut &back.server, &mut &back.proxy);
        let _ = back.proxy.shutdown(Shutdown::Both);
    });
    all.lock().unwrap_or_else(PoisonError::into_inner).push(ends);
    Ok(())
}
