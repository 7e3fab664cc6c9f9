//! Listeners: addresses that clients connect to, and the task that hands each client to a worker.
//!
//! One task per listener, on the control runtime, accepts and gives every client to the worker with
//! the fewest sessions. MySQL sessions are few and long, so an even spread is worth more than the
//! hop between threads that it costs once per connection.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Address, Listener};
use net::tune;
use pool::Quota;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::{Instant, sleep};
use wire::proxy_header::Addresses;

use crate::arrival::{Arrival, Guest, Stream};
use crate::audit;
use crate::limits::{ACCEPT_PAUSE, LISTEN_BACKLOG, QUEUE_LOOK};
use crate::queueing;
use crate::shared::Shared;
use session::error::{ClientError, NoPlace};
use upstream::descriptors::Purpose;
use wire::Peer;

/// The way for clients to a worker.
pub trait ClientInbox: Send + Sync + 'static {
    /// Whether there is still a worker behind it.
    fn is_alive(&self) -> bool;

    /// Sessions on the worker or on their way to it.
    fn sessions(&self) -> usize;

    /// Hands over a client that has connected.
    fn send_client(&self, arrival: Arrival);
}

/// A listener that is bound, before anybody is accepted.
#[derive(Debug)]
pub struct Bound {
    socket: ListenSocket,
    config: Arc<Listener>,
    clients: Arc<Quota>,
}

/// A listening socket, registered with the runtime that accepts from it.
#[derive(Debug)]
enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener, RemoveOnDrop),
}

/// The file of a Unix socket, removed when its listener ends.
#[derive(Debug)]
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Bound {
    /// Binds the listener's address, which processes that do the same may have as well if `beside`.
    /// Its clients have their places in `clients`.
    pub(crate) fn new(config: &Listener, clients: &Arc<Quota>, beside: bool) -> io::Result<Self> {
        let socket = match &config.address {
            Address::Tcp(address) => ListenSocket::Tcp(bind_tcp(*address, beside)?),
            Address::Name { host, port } => {
                ListenSocket::Tcp(net::listen::first(host, *port, |address| bind_tcp(address, beside))?)
            }
            Address::Unix(path) => ListenSocket::Unix(bind_unix(path)?, RemoveOnDrop(path.clone())),
        };
        let address = match &socket {
            ListenSocket::Tcp(listener) => Address::Tcp(listener.local_addr()?),
            ListenSocket::Unix(_, file) => Address::Unix(file.0.clone()),
        };
        let (config, clients) = (Arc::new(Listener { address, ..config.clone() }), Arc::clone(clients));
        Ok(Self { socket, config, clients })
    }

    /// The listener with the address that it really has: with port 0 in the configuration the
    /// kernel has chosen one.
    pub(crate) fn config(&self) -> Listener {
        Listener::clone(&self.config)
    }

    /// Where its clients have their places.
    pub(crate) const fn clients(&self) -> &Arc<Quota> {
        &self.clients
    }

    /// Accepts clients for ever. Dropping the future closes the listener.
    pub(crate) async fn serve(self, shared: Arc<Shared>, workers: Arc<[impl ClientInbox]>) {
        let Self { socket, config, clients } = self;
        loop {
            match socket.accept(&shared).await {
                Ok((stream, peer)) => hand_over(stream, peer, (&config, &clients), &shared, &workers),
                Err(error) => {
                    shared.not_accepted.note(&config.address, &error);
                    // The client was gone already; anything else is a lack of descriptors or
                    // memory, which takes time.
                    if error.kind() != io::ErrorKind::ConnectionAborted {
                        sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        }
    }
}

fn bind_tcp(address: SocketAddr, beside: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if beside {
        socket.set_reuse_port(true)?;
    }
    // Restarting must not wait for connections of the previous run to time out.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    // A socket without a listener is left over from a run that was killed.
    let is_socket = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    // The proxy checks passwords itself; like a server's socket, its file is open to every local
    // user.
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path, everybody)?;
    Ok(listener)
}

impl ListenSocket {
    /// The next client, on a socket that belongs to no runtime: its worker registers it with its
    /// own.
    async fn accept(&self, shared: &Shared) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                let stream = stream.into_std()?;
                // Fails for a client that is gone already, which its worker will notice.
                let _ = tune(&SockRef::from(&stream), &shared.upstream.configuration().variables);
                let here = stream.local_addr()?;
                Ok((Stream::Tcp(stream), Peer::Tcp(Addresses::new(peer, here))))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream.into_std()?), Peer::Local))
            }
        }
    }
}

fn hand_over(
    stream: Stream,
    peer: Peer,
    (config, clients): (&Arc<Listener>, &Arc<Quota>),
    shared: &Arc<Shared>,
    workers: &Arc<[impl ClientInbox]>,
) {
    if shared.hosts.refuse(peer.ip(), config, &shared.upstream.configuration().variables) {
        return audit::note_turned_away(shared, &peer, None);
    }
    if let Err(too_few) = Purpose::Client.check(stream.descriptor()) {
        let error = ClientError::NoDescriptor(too_few);
        shared.not_accepted.note(&config.address, &error.logged());
        return refuse_all(shared, &stream, &peer, &error);
    }
    let Some(slot) = clients.take() else {
        return refuse_all(
            shared,
            &stream,
            &peer,
            &ClientError::ListenerFull { max: config.max_connections },
        );
    };
    let listener = Arc::clone(config);
    if let Some(all) = shared.clients.take() {
        let guest = Guest { peer, listener, slots: (all, Some(slot)) };
        return send(Arrival { stream, guest: Box::new(guest) }, workers);
    }
    let variables = &shared.upstream.configuration().variables;
    let patience = variables.client_queue_timeout;
    let Some(line) =
        queueing::line(&shared.clients, patience, variables.client_queue_size, shared.upstream.uptime())
    else {
        let error = ClientError::TooManyConnections { max: shared.clients.max(), why: NoPlace::Refused };
        return refuse_all(shared, &stream, &peer, &error);
    };
    let (shared, workers, deadline) = (Arc::clone(shared), Arc::clone(workers), Instant::now() + patience);
    tokio::spawn(async move {
        let left = async {
            while !stream.is_closed() {
                sleep(QUEUE_LOOK).await;
            }
        };
        let turn = tokio::select! {
            biased;
            () = left => return shared.note_refused(),
            turn = queueing::turn(&shared.clients, line, deadline) => turn,
        };
        match turn {
            Ok(all) => {
                let guest = Guest { peer, listener, slots: (all, Some(slot)) };
                send(Arrival { stream, guest: Box::new(guest) }, &workers);
            }
            Err(why) => {
                let error = ClientError::TooManyConnections { max: shared.clients.max(), why };
                refuse_all(&shared, &stream, &peer, &error);
            }
        }
    });
}

/// Tells a client that there are as many as may be.
fn refuse_all(shared: &Shared, stream: &Stream, peer: &Peer, error: &ClientError) {
    shared.note_refused();
    audit::note_turned_away(shared, peer, Some(error));
    refuse(stream, error);
}

/// Hands a client to the worker that has the fewest.
fn send(arrival: Arrival, workers: &[impl ClientInbox]) {
    // There is one: `mysql-threads` is at least 1, and workers end after listeners.
    if let Some(worker) =
        workers.iter().filter(|worker| worker.is_alive()).min_by_key(|worker| worker.sessions())
    {
        worker.send_client(arrival);
    }
}

/// Tells a client that it cannot be served. The socket is fresh, so its buffer takes the packet.
fn refuse(stream: &Stream, error: &ClientError) {
    let packet = error.to_packet(0, wire::Capabilities::empty());
    let _ = match stream {
        Stream::Tcp(stream) => SockRef::from(stream).send(&packet),
        Stream::Unix(stream) => SockRef::from(stream).send(&packet),
        #[cfg(feature = "memory")]
        Stream::Memory(_) => Ok(0),
    };
}
