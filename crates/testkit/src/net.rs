//! Free loopback ports.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::IntoRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// First port that is handed out.
const PORT_FIRST: u16 = 10_000;
/// Number of ports to choose from: they end below 32768, where Linux starts to take ports for
/// outgoing connections, which would collide with a server that is restarted on its port.
const PORT_COUNT: u16 = 22_000;
/// Ports tried before giving up.
const TRIES_MAX: u32 = 1000;

/// A TCP port on 127.0.0.1 without a listener now.
///
/// No other call gets it, in any process of this machine, until this process ends: between the
/// choice and the start of the server, and while a server that was ended is started again, nothing
/// listens at it.
///
/// # Errors
/// When 1000 ports in a row are taken.
pub fn free_port() -> std::io::Result<u16> {
    let mut last = None;
    for _ in 0..TRIES_MAX {
        let port = PORT_FIRST + random_below(PORT_COUNT);
        match reserve(port).and_then(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, port))) {
            Ok(_) => return Ok(port),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into()))
}

/// Takes the name of the port among abstract sockets. It stays open until the process ends, and is
/// free again then whatever the end.
fn reserve(port: u16) -> std::io::Result<()> {
    let name = SocketAddr::from_abstract_name(format!("pointsman-port-{port}"))?;
    let _open = UnixListener::bind_addr(&name)?.into_raw_fd();
    Ok(())
}

/// A random number below `limit`. The standard library seeds its hash maps at random, which is all
/// we need.
fn random_below(limit: u16) -> u16 {
    let random = RandomState::new().build_hasher().finish() % u64::from(limit);
    u16::try_from(random).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_chosen_once() {
        let port = free_port().unwrap();
        assert_eq!(reserve(port).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    }

    #[test]
    fn ports_can_be_bound_and_differ() {
        let held: Vec<TcpListener> =
            (0..20).map(|_| TcpListener::bind(("127.0.0.1", free_port().unwrap())).unwrap()).collect();
        let mut ports: Vec<u16> = held.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), held.len());
        assert!(ports.iter().all(|port| (PORT_FIRST..PORT_FIRST + PORT_COUNT).contains(port)));
    }
}
