//! An address that admins connect to.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Address;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, UnixListener};
use wire::Capabilities;

use super::commands;
use super::connection::{BoxedStream, Connection, Peer, error_packet};
use super::shared::Shared;
use crate::answer::AdminError;
use crate::limits::{ACCEPT_PAUSE, CLIENTS_MAX, LISTEN_BACKLOG};

/// A listener that is bound, before anybody is accepted.
pub(super) struct Bound {
    socket: Socket,
    address: Address,
    file: Option<RemoveOnDrop>,
}

/// The file of a Unix socket, removed when its listener ends.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Bound {
    /// Binds `address`; an error names it.
    pub(super) fn new(address: &Address) -> io::Result<Self> {
        let bound = match address {
            Address::Tcp(tcp) => bind_tcp(*tcp),
            Address::Name { host, port } => net::listen::first(host, *port, bind_tcp),
            Address::Unix(path) => bind_unix(path),
        };
        bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))
    }

    /// The address it really has.
    pub(super) fn address(&self) -> io::Result<Address> {
        let port = self.socket.local_addr()?.as_socket();
        Ok(port.map_or_else(|| self.address.clone(), Address::Tcp))
    }

    /// Accepts clients for ever. Dropping the future closes the listener.
    pub(super) async fn serve(self, shared: Arc<Shared>) {
        let Self { socket, address, file } = self;
        let acceptor = if file.is_some() {
            UnixListener::from_std(socket.into()).map(Acceptor::Unix)
        } else {
            TcpListener::from_std(socket.into()).map(Acceptor::Tcp)
        };
        let acceptor = match acceptor {
            Ok(acceptor) => acceptor,
            Err(error) => return tracing::error!(%error, %address, "the admin port cannot be listened on"),
        };
        loop {
            match acceptor.accept().await {
                Ok((stream, peer)) => welcome(&shared, stream, peer),
                Err(error) => {
                    tracing::warn!(%error, %address, "an admin could not be accepted");
                    if error.kind() != io::ErrorKind::ConnectionAborted {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        }
    }
}

/// Gives a client its task, or tells it that there are too many.
fn welcome(shared: &Arc<Shared>, mut stream: BoxedStream, peer: Peer) {
    if let Some(place) = shared.clients.admit() {
        let connection = Connection::new(stream, peer);
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let _place = place;
            commands::serve(&shared, connection).await;
        });
        return;
    }
    let error = AdminError {
        code: 1040,
        state: *b"08004",
        message: format!("Too many connections (the admin port serves {CLIENTS_MAX})"),
    };
    // One write into a fresh socket, whose buffer takes it.
    tokio::spawn(async move {
        let packet = error_packet(&error, 0, Capabilities::empty());
        let _ = tokio::time::timeout(ACCEPT_PAUSE, stream.write_all(&packet)).await;
    });
}

enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    async fn accept(&self) -> io::Result<(BoxedStream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Fails for a client that is gone already, which its task will notice.
                let socket = SockRef::from(&stream);
                let _ = socket.set_tcp_nodelay(true).and_then(|()| socket.set_keepalive(true));
                Ok((Box::new(stream), Peer::Tcp(canonical(peer))))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), Peer::Local))
            }
        }
    }
}

/// An IPv4 address as such, also where the listener is an IPv6 one: accounts that are local only
/// shall be.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn bind_tcp(address: SocketAddr) -> io::Result<Bound> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // Restarting must not wait for connections of the previous run to time out.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    Ok(Bound { socket, address: Address::Tcp(address), file: None })
}

fn bind_unix(path: &Path) -> io::Result<Bound> {
    // A socket without a listener is left over from a run that was killed.
    let is_socket = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    let file = Some(RemoveOnDrop(path.to_owned()));
    listener.set_nonblocking(true)?;
    // Passwords decide, as on the socket that a server has.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    let address = Address::Unix(path.to_owned());
    Ok(Bound { socket: std::os::fd::OwnedFd::from(listener).into(), address, file })
}
