//! Names of hosts to listen on.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::channel;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::limits::LISTEN_NAME_TIME_MAX;

/// Binds the first address of `host` that can be bound, as ProxySQL and MySQL Router do. Waits for
/// the resolver, up to `LISTEN_NAME_TIME_MAX`, without stopping other tasks of the runtime.
///
/// # Errors
///
/// The name cannot be resolved, which the text says, or none of its addresses can be bound: the
/// error of the last one.
pub fn first<T>(host: &str, port: u16, bind: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let name = (host.to_owned(), port);
    let look_up = move || name.to_socket_addrs().map(Iterator::collect);
    let addresses = blocking(|| within(LISTEN_NAME_TIME_MAX, look_up));
    first_of(addresses, bind)
}

/// Binds the first of `addresses` that can be bound.
fn first_of<T>(
    addresses: io::Result<Vec<SocketAddr>>,
    bind: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let unresolved = |why: &dyn std::fmt::Display| format!("the name cannot be resolved: {why}");
    let addresses = addresses.map_err(|error| io::Error::new(error.kind(), unresolved(&error)))?;
    let mut outcome = Err(io::Error::new(io::ErrorKind::NotFound, unresolved(&"it has no address")));
    for bound in addresses.into_iter().map(bind) {
        outcome = bound;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// What `look_up` returns on a thread of its own, if it does within `limit`. The thread of a
/// resolver that hangs ends when that returns.
fn within<T: Send + 'static>(
    limit: Duration,
    look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, answer) = channel();
    std::thread::Builder::new().name("resolve".to_owned()).spawn(move || {
        // The wait may be over.
        let _ = sender.send(look_up());
    })?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {limit:?}"));
    answer.recv_timeout(limit).unwrap_or_else(|_| Err(late()))
}

/// Runs `wait`, which blocks its thread, where other tasks of the thread go on elsewhere.
fn blocking<T>(wait: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_first_address_that_can_be_bound_is() {
        let bind = |address: SocketAddr| match address.port() {
            1 => Err(io::Error::from(io::ErrorKind::AddrNotAvailable)),
            2 => Err(io::Error::from(io::ErrorKind::AddrInUse)),
            port => Ok(port),
        };
        let first = |ports: &[u16]| first_of(Ok(ports.iter().copied().map(at).collect()), bind);
        assert_eq!(first(&[1, 3, 4]).unwrap(), 3);
        assert_eq!(first(&[1, 2]).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(first(&[]).unwrap_err().to_string().ends_with("it has no address"));
    }

    #[test]
    fn an_error_says_that_the_name_was_not_resolved() {
        let failed = first_of(Err(io::Error::other("unknown host")), |_| Ok(()));
        assert_eq!(failed.unwrap_err().to_string(), "the name cannot be resolved: unknown host");
    }

    #[test]
    fn a_resolver_that_hangs_is_not_waited_for() {
        let (hang, until) = channel::<()>();
        let late = within(Duration::ZERO, move || until.recv().map_err(io::Error::other));
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(hang);
        assert_eq!(within(Duration::MAX, || Ok(7)).unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ip_addresses_are_names_that_need_no_resolver() {
        assert_eq!(first("127.0.0.1", 5, Ok).unwrap(), at(5));
    }
}
