//! Which session is behind a server's thread.
//!
//! A server shows its connections by its own ids, clients know theirs by the proxy's. This book,
//! shared by all workers, translates. It is written when a connection to a server is opened or
//! closed and read when a list of threads is shown, never for a statement.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use config::Endpoint;
use net::lock;

use crate::limits::BOOK_SHARDS;

/// The sessions whose connections have one thread id, on different servers: hardly ever more than
/// one. Connections change hands often, so whose they are is said without the book.
type Namesakes = Vec<(Endpoint, Arc<AtomicU32>)>;

/// Threads of servers that belong to sessions of this proxy.
#[derive(Debug, Default)]
pub struct Threads {
    shards: [Mutex<HashMap<u32, Namesakes>>; BOOK_SHARDS],
}

impl Threads {
    /// Notes that `session` has opened the connection that `endpoint` calls `id`.
    pub(crate) fn enter(self: &Arc<Self>, endpoint: &Endpoint, id: u32, session: u32) -> Thread {
        let mut shard = self.shard(id);
        let namesakes = shard.entry(id).or_default();
        // A server that has restarted counts from 1 again, maybe before the old connection is seen
        // to be gone.
        namesakes.retain(|(other, _)| other != endpoint);
        let session = Arc::new(AtomicU32::new(session));
        namesakes.push((endpoint.clone(), Arc::clone(&session)));
        Thread { threads: Arc::clone(self), id, session }
    }

    /// The session whose connection `endpoint` calls `id`.
    pub fn session(&self, endpoint: &Endpoint, id: u32) -> Option<u32> {
        let shard = self.shard(id);
        let (_, session) = shard.get(&id)?.iter().find(|(other, _)| other == endpoint)?;
        Some(session.load(Ordering::Relaxed))
    }

    /// What `endpoint` calls the connection of `session`. Goes through all connections: only
    /// statements that [name sessions](session::statement::Own::Naming) ask.
    pub fn thread(&self, endpoint: &Endpoint, session: u32) -> Option<u32> {
        self.shards.iter().find_map(|shard| {
            let shard = lock(shard);
            let is_its = |(other, owner): &(Endpoint, Arc<AtomicU32>)| {
                owner.load(Ordering::Relaxed) == session && other == endpoint
            };
            shard.iter().find_map(|(&thread, namesakes)| namesakes.iter().any(is_its).then_some(thread))
        })
    }

    fn shard(&self, id: u32) -> MutexGuard<'_, HashMap<u32, Namesakes>> {
        let [first, ..] = &self.shards;
        lock(self.shards.get(id as usize % BOOK_SHARDS).unwrap_or(first))
    }
}

/// A connection in the book; it leaves when this is dropped.
#[derive(Debug)]
pub struct Thread {
    threads: Arc<Threads>,
    id: u32,
    session: Arc<AtomicU32>,
}

impl Thread {
    /// The server's id.
    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    /// The connection is another session's from now on.
    pub(crate) fn pass_to(&self, session: u32) {
        self.session.store(session, Ordering::Relaxed);
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let mut shard = self.threads.shard(self.id);
        let Some(namesakes) = shard.get_mut(&self.id) else { return };
        // It is not there if a newer connection has its number.
        namesakes.retain(|(_, session)| !Arc::ptr_eq(session, &self.session));
        if namesakes.is_empty() {
            shard.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port: 3306 }
    }

    #[test]
    fn the_same_id_on_two_servers_is_two_threads() {
        let threads = Arc::new(Threads::default());
        let (a, b) = (server("a"), server("b"));
        let first = threads.enter(&a, 7, 100);
        let second = threads.enter(&b, 7, 200);
        assert_eq!((first.id(), second.id()), (7, 7));
        assert_eq!((threads.session(&a, 7), threads.session(&b, 7)), (Some(100), Some(200)));
        assert_eq!(threads.session(&a, 8), None);
        assert_eq!((threads.thread(&a, 100), threads.thread(&b, 200)), (Some(7), Some(7)));
        assert_eq!(threads.thread(&a, 200), None);
        drop(first);
        assert_eq!((threads.session(&a, 7), threads.session(&b, 7)), (None, Some(200)));
        drop(second);
        assert!(threads.shard(7).is_empty(), "nothing is left");
    }

    #[test]
    fn a_connection_that_changes_hands_is_the_other_sessions() {
        let threads = Arc::new(Threads::default());
        let server = server("a");
        let thread = threads.enter(&server, 7, 100);
        thread.pass_to(200);
        assert_eq!((threads.session(&server, 7), threads.thread(&server, 100)), (Some(200), None));
        drop(thread);
        assert!(threads.shard(7).is_empty(), "nothing is left");
    }

    #[test]
    fn an_id_that_comes_again_belongs_to_the_newer_session() {
        let threads = Arc::new(Threads::default());
        let server = server("restarted");
        let old = threads.enter(&server, 1, 100);
        let new = threads.enter(&server, 1, 200);
        drop(old);
        assert_eq!(threads.session(&server, 1), Some(200));
        drop(new);
        assert_eq!(threads.session(&server, 1), None);
    }
}
