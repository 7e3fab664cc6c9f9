//! Logins of the form: a cookie each, in memory, and the token that actions need.

use std::collections::HashMap;
use std::time::Instant;

use admin::Login;

use crate::limits::{LOGIN_TIME_MAX, LOGINS_MAX};

/// A value that cannot be guessed, as hexadecimal digits.
pub(crate) type Key = String;

/// All logins.
#[derive(Debug, Default)]
pub(crate) struct Logins(HashMap<Key, Entry>);

/// A login that goes on.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The client and its account.
    pub(crate) login: Login,
    /// What a request must name to change something.
    pub(crate) token: Key,
    /// Its end.
    pub(crate) until: Instant,
}

impl Logins {
    /// Begins a login at `now`; nothing if there are too many. `cookie` and `token` are random.
    pub(crate) fn begin(&mut self, login: Login, [cookie, token]: [Key; 2], now: Instant) -> Option<Entry> {
        self.0.retain(|_, entry| now < entry.until);
        if self.0.len() >= LOGINS_MAX {
            return None;
        }
        let entry = Entry { login, token, until: now + LOGIN_TIME_MAX };
        self.0.insert(cookie, entry.clone());
        Some(entry)
    }

    /// The login with this cookie, if it goes on at `now` and `is_current` says so of its account.
    pub(crate) fn find(
        &mut self,
        cookie: &str,
        now: Instant,
        is_current: impl FnOnce(&Login) -> bool,
    ) -> Option<Entry> {
        let entry = self.0.get(cookie)?;
        if now < entry.until && is_current(&entry.login) {
            return Some(entry.clone());
        }
        self.0.remove(cookie);
        None
    }

    /// Ends a login.
    pub(crate) fn end(&mut self, cookie: &str) {
        self.0.remove(cookie);
    }
}

/// A random key.
#[expect(clippy::expect_used, reason = "a process without random bytes must not let any client log in")]
pub(crate) fn random_key() -> Key {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the kernel's random generator works");
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
