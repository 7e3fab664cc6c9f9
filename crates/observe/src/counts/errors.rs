//! Errors of servers and of the proxy, by their maker, user, client, schema and number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use sql::secrets::without_passwords;

use crate::limits::ERRORS_MAX;

/// What has made an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Maker {
    /// The server with this id of the pool.
    Server(u64),
    /// The proxy, for a session in this hostgroup; [`NO_HOSTGROUP`](crate::rows::NO_HOSTGROUP) for
    /// one in none.
    Proxy(u32),
}

/// What errors are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// What has made it.
    pub maker: Maker,
    /// The name of the user; empty where none has logged in.
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
    /// The text of the last one.
    pub message: Vec<u8>,
}

/// The errors of one worker; at most [`ERRORS_MAX`] kinds of them.
#[derive(Debug, Default)]
pub struct Errors(HashMap<Key, Seen>);

impl Errors {
    /// Forgets those of servers for which `is_known` is false: they are not shown, and take the
    /// place of others.
    pub fn forget_servers(&mut self, is_known: impl Fn(u64) -> bool) {
        self.0.retain(|key, _| match key.maker {
            Maker::Server(id) => is_known(id),
            Maker::Proxy(_) => true,
        });
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
        // Servers quote statements.
        seen.message.extend_from_slice(&without_passwords(message));
    }

    /// All of them; with `reset` they are forgotten.
    pub fn list(&mut self, reset: bool) -> Vec<(Key, Seen)> {
        if reset { self.0.drain().collect() } else { self.0.clone().into_iter().collect() }
    }
}
