//! Errors that servers answered, by server, user, client, schema and number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::limits::ERRORS_MAX;

/// What errors are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The pool's id of the server.
    pub server: u64,
    /// The name of the user.
    pub user: Arc<[u8]>,
    /// The client's address; `None` for a Unix socket.
    pub client: Option<IpAddr>,
    /// The session's schema.
    pub schema: Option<Rc<[u8]>>,
    /// The number of the error.
    pub code: u16,
}

/// What is known of errors that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// How often it was answered.
    pub count: u64,
    /// Seconds of Unix time.
    pub first: u64,
    /// The same of the last one.
    pub last: u64,
    /// What the server said last.
    pub message: Vec<u8>,
}

/// The errors of one worker; at most [`ERRORS_MAX`] kinds of them.
#[derive(Debug, Default)]
pub struct Errors(HashMap<Key, Seen>);

impl Errors {
    /// Forgets those of servers for which `is_known` is false: nobody is shown them, and they take
    /// the place of others.
    pub fn forget_servers(&mut self, is_known: impl Fn(u64) -> bool) {
        self.0.retain(|key, _| is_known(key.server));
    }

    /// Counts an error at `now`, in seconds of Unix time.
    pub fn note(&mut self, key: Key, message: &[u8], now: u64) {
        if self.0.len() >= ERRORS_MAX && !self.0.contains_key(&key) {
            return;
        }
        let seen = self.0.entry(key).or_insert_with(|| Seen { first: now, ..Seen::default() });
        seen.count += 1;
        seen.last = now;
        seen.message.clear();
        seen.message.extend_from_slice(message);
    }

    /// All of them; with `reset` they are forgotten.
    pub fn list(&mut self, reset: bool) -> Vec<(Key, Seen)> {
        if reset { self.0.drain().collect() } else { self.0.clone().into_iter().collect() }
    }
}
