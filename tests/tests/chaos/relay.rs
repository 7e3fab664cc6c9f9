//! The way from the proxy to a server, which can be interrupted without the server noticing.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::watch;

use super::net::move_to;

/// Bytes that are forwarded at once.
const BUFFER: usize = 16 * 1024;

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are forwarded.
    Open,
    /// They stay where they are until the way is open again: a network that forwards nothing.
    Held,
    /// Connections break, and no new ones come about.
    Cut,
    /// There is no relay any more.
    Over,
}

/// A relay on a thread of its own.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    way: watch::Sender<Way>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens on a free port of `address` for connections to `target`; both are in this network
    /// namespace, if one is given.
    pub(crate) fn to(target: SocketAddr, address: Ipv4Addr, namespace: Option<OwnedFd>) -> Self {
        let (way, seen) = watch::channel(Way::Open);
        let (sender, port) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            if let Some(namespace) = namespace {
                move_to(&namespace).expect("root may do that");
            }
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
            runtime.block_on(async {
                let listener = TcpListener::bind((address, 0)).await.expect("a free port");
                sender
                    .send(listener.local_addr().expect("it is bound").port())
                    .expect("somebody waits for it");
                accept(listener, target, seen).await;
            });
        });
        let port = port.recv().expect("the thread says its port");
        Self { port, way, thread: Some(thread) }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set(Way::Over);
        if let Some(thread) = self.thread.take() {
            // What it has to say it has printed.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, mut way: watch::Receiver<Way>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = way.wait_for(|way| *way == Way::Over) => return,
        };
        let Ok((from, _)) = accepted else { continue };
        tokio::spawn(connect(from, target, way.clone()));
    }
}

async fn connect(from: TcpStream, target: SocketAddr, mut way: watch::Receiver<Way>) {
    if !passes(&mut way).await {
        return;
    }
    let Ok(to) = TcpStream::connect(target).await else { return };
    let _ = (from.set_nodelay(true), to.set_nodelay(true));
    let ((from_in, from_out), (to_in, to_out)) = (from.into_split(), to.into_split());
    // Each ends the other: what is left of a connection is of no use.
    tokio::select! {
        () = forward(from_in, to_out, way.clone()) => {}
        () = forward(to_in, from_out, way) => {}
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = way.wait_for(|way| matches!(way, Way::Cut | Way::Over)) => return,
        };
        let n = read.unwrap_or(0);
        if n == 0 || !passes(&mut way).await || to.write_all(&buffer[..n]).await.is_err() {
            // The end is not forwarded either while nothing is forwarded.
            passes(&mut way).await;
            return;
        }
    }
}

/// Waits while nothing is forwarded; false if nothing ever will be.
async fn passes(way: &mut watch::Receiver<Way>) -> bool {
    way.wait_for(|way| *way != Way::Held).await.is_ok_and(|way| *way == Way::Open)
}
