//! A way from a proxy to a server that can be cut or frozen: as a whole, or only for the stream of
//! the binary log.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that are passed on at once.
const BUFFER_LEN: usize = 16 * 1024;
/// `COM_BINLOG_DUMP` and `COM_BINLOG_DUMP_GTID`.
const DUMPS: [u8; 2] = [0x12, 0x1e];

/// The two ends of a connection.
#[derive(Debug)]
struct Ends {
    proxy: TcpStream,
    server: TcpStream,
    /// It is cut: the end of the server stays open.
    is_cut: AtomicBool,
    /// It has asked for the binary log.
    is_dump: AtomicBool,
}

/// What the threads of a relay share.
#[derive(Debug, Default)]
struct Shared {
    all: Mutex<Vec<Arc<Ends>>>,
    /// The binary log is not passed on.
    is_frozen: Mutex<bool>,
    thawed: Condvar,
}

/// Takes connections at a port of its own.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Relay {
    /// Starts one in front of this server. It ends with the process.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let of_threads = Arc::clone(&shared);
        std::thread::spawn(move || {
            for proxy in listener.incoming().map_while(Result::ok) {
                // A server that is down refuses the connection, and so does the relay.
                let _ = connect(server, proxy, &of_threads);
            }
        });
        Self { address, shared }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Ends all connections of the proxy, and none of the server.
    pub(crate) fn cut(&self) {
        for ends in &*lock(&self.shared.all) {
            ends.is_cut.store(true, Ordering::SeqCst);
            // One that has ended before does not matter.
            let _ = ends.proxy.shutdown(Shutdown::Both);
        }
    }

    /// Ends the streams of the binary log, and no other connection.
    pub(crate) fn cut_log(&self) {
        for ends in &*lock(&self.shared.all) {
            if ends.is_dump.load(Ordering::SeqCst) {
                let _ = ends.proxy.shutdown(Shutdown::Both);
                let _ = ends.server.shutdown(Shutdown::Both);
            }
        }
    }

    /// Passes nothing on of the binary log until [`Self::thaw`]. Connections stay open.
    pub(crate) fn freeze_log(&self) {
        *lock(&self.shared.is_frozen) = true;
    }

    /// Ends a [`Self::freeze_log`]: what was held back is passed on.
    pub(crate) fn thaw(&self) {
        *lock(&self.shared.is_frozen) = false;
        self.shared.thawed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects a proxy with the server.
fn connect(server: SocketAddr, proxy: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    proxy.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (is_cut, is_dump) = (AtomicBool::new(false), AtomicBool::new(false));
    let ends = Arc::new(Ends { proxy, server, is_cut, is_dump });
    lock(&shared.all).push(Arc::clone(&ends));
    let (there, back, gate) = (Arc::clone(&ends), ends, Arc::clone(shared));
    std::thread::spawn(move || {
        let note = |bytes: &[u8]| {
            // A command is at the beginning of what is sent at once: the client waits for replies.
            if matches!(bytes, [_, _, _, 0, command, ..] if DUMPS.contains(command)) {
                there.is_dump.store(true, Ordering::SeqCst);
            }
        };
        let _ = pass_on(&there.proxy, &there.server, note);
        if !there.is_cut.load(Ordering::SeqCst) {
            let _ = there.server.shutdown(Shutdown::Both);
        }
    });
    std::thread::spawn(move || {
        let hold = |_: &[u8]| {
            if back.is_dump.load(Ordering::SeqCst) {
                let frozen = gate.thawed.wait_while(lock(&gate.is_frozen), |is_frozen| *is_frozen);
                drop(frozen.unwrap_or_else(PoisonError::into_inner));
            }
        };
        let _ = pass_on(&back.server, &back.proxy, hold);
        let _ = back.proxy.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Passes on what comes until one of both has ended, with a look at it before.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream, look: impl Fn(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_LEN];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        look(&buffer[..n]);
        to.write_all(&buffer[..n])?;
    }
}
