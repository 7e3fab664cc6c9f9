//! Free loopback ports.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};

/// First port that is handed out.
const PORT_FIRST: u16 = 10_000;
/// Number of ports to choose from: they end below 32768, where Linux starts to take ports for
/// outgoing connections, which would collide with a server that is restarted on its port.
const PORT_COUNT: u16 = 22_000;
/// Ports tried before giving up.
const TRIES_MAX: u32 = 1000;

/// A TCP port on 127.0.0.1 without a listener now.
///
/// It is not reserved. Ports are chosen at random so that two processes rarely choose the same.
///
/// # Errors
/// When 1000 ports in a row are taken.
pub fn free_port() -> std::io::Result<u16> {
    let mut last = None;
    for _ in 0..TRIES_MAX {
        let port = PORT_FIRST + random_below(PORT_COUNT);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into()))
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
