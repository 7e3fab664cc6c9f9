//! A client that has logged in: its account, its rights, its cookie.

use std::time::Instant;

use admin::{Login, Rights};
use net::clock::{millis, unix_ms};
use serde_json::{Value, json};

use crate::logins::{Entry, Key};

/// A client that has logged in.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    /// The account.
    pub(crate) login: Login,
    /// The cookie and what belongs to it; nothing for a password with each request.
    pub(crate) cookie: Option<(Key, Entry)>,
}

impl Viewer {
    /// Whether the account may change something.
    pub(crate) fn is_admin(&self) -> bool {
        self.login.who.rights == Rights::Admin
    }

    /// The same account with the view of a statistics account.
    pub(crate) fn as_stats(&self) -> Self {
        let mut viewer = self.clone();
        viewer.login.who.rights = Rights::Stats;
        viewer
    }

    /// What a client is told of its login.
    pub(crate) fn json(&self) -> Value {
        let (token, expires_ms) = self.cookie.as_ref().map_or((None, None), |(_, entry)| {
            let left = entry.until.saturating_duration_since(Instant::now());
            (Some(&entry.token), Some(unix_ms().saturating_add(millis(left))))
        });
        json!({
            "user": self.login.who.user,
            "rights": if self.is_admin() { "admin" } else { "stats" },
            "csrf": token,
            "expires_ms": expires_ms,
        })
    }
}
