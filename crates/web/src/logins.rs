//! Logins of the form: a cookie each, in memory, and the token that actions need.

use std::collections::HashMap;
use std::time::Instant;

use admin::Login;

use crate::limits::{ACCOUNT_LOGINS_MAX, LOGIN_TIME_MAX, LOGINS_MAX};

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
    /// Begins a login at `now`. `cookie` and `token` are random. Logins whose account is not
    /// current
    /// end; where there are too many, so does the oldest, first of the same account.
    pub(crate) fn begin(
        &mut self,
        login: Login,
        [cookie, token]: [Key; 2],
        now: Instant,
        is_current: impl Fn(&Login) -> bool,
    ) -> Entry {
        self.0.retain(|_, entry| now < entry.until && is_current(&entry.login));
        self.make_room(ACCOUNT_LOGINS_MAX, |other| other.who.user == login.who.user);
        self.make_room(LOGINS_MAX, |_| true);
        let entry = Entry { login, token, until: now + LOGIN_TIME_MAX };
        self.0.insert(cookie, entry.clone());
        entry
    }

    /// Ends the oldest login of a `kind` that has `limit` of them.
    fn make_room(&mut self, limit: usize, kind: impl Fn(&Login) -> bool) {
        let of_kind = || self.0.iter().filter(|(_, entry)| kind(&entry.login));
        if of_kind().count() < limit {
            return;
        }
        let oldest = of_kind().min_by_key(|(_, entry)| entry.until).map(|(cookie, _)| cookie.clone());
        oldest.map(|cookie| self.0.remove(&cookie));
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
pub(crate) fn random_key() -> Key {
    let digits = net::random::bytes::<32>().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
