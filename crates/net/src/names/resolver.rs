//! The system's resolver, asked on threads of its own: it may take half a minute for a name, and
//! no login is to stand behind that.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use crate::lock;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::limits::NAMES_AT_ONCE_MAX;

/// What a resolver says, as soon as it does.
pub(super) type Saying = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Threads that wait for the system's resolver: none until there is a name to look up.
#[derive(Debug, Default)]
pub(super) struct Resolver(Mutex<Option<Runtime>>);

impl Resolver {
    /// The addresses of a host, with port 0.
    pub(super) fn look_up(self: Arc<Self>, host: String) -> Saying {
        Box::pin(async move {
            let looking =
                self.threads()?.spawn_blocking(move || Ok((host.as_str(), 0).to_socket_addrs()?.collect()));
            looking.await.map_err(io::Error::other)?
        })
    }

    fn threads(&self) -> io::Result<Handle> {
        let mut threads = lock(&self.0);
        if let Some(threads) = &*threads {
            return Ok(threads.handle().clone());
        }
        // Nothing but its threads for blocking work is used of it.
        let new = Builder::new_current_thread()
            .max_blocking_threads(NAMES_AT_ONCE_MAX)
            .thread_name("resolver")
            .build()?;
        Ok(threads.insert(new).handle().clone())
    }
}

impl Drop for Resolver {
    /// Does not wait for those that still wait.
    fn drop(&mut self) {
        if let Some(threads) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_where_no_other_thread_may_block() {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            // The one thread that others would have.
            let (release, held) = std::sync::mpsc::channel::<()>();
            let blocked = tokio::task::spawn_blocking(move || held.recv().unwrap());
            let found = Arc::new(Resolver::default()).look_up("127.0.0.1".to_owned()).await.unwrap();
            assert_eq!(found, [SocketAddr::from(([127, 0, 0, 1], 0))]);
            release.send(()).unwrap();
            blocked.await.unwrap();
        });
    }
}
