//! The firewall: which statements a user may send at all, by lists of digests.
//!
//! `mysql_firewall_whitelist_users` says what is done with statements that are on no list, by user
//! and client address; `mysql_firewall_whitelist_rules` is the lists. For a client the row of its
//! user and its address holds, else that of the user without an address; a user without a row has
//! none of his statements pass that is not listed, as in ProxySQL.
//!
//! A statement that is listed costs one look-up, by a hash of which the caller's part is known
//! beforehand. This is not a part of remembered [verdicts](crate::Verdicts): those do not depend on
//! the client's address, and are not asked where there are no rules.

use std::collections::HashMap;
use std::sync::Arc;

use config::{FirewallMode, FirewallRule, FirewallUser, digest_number, in_turns};

use crate::query::{Caller, hash_of_names};

/// The address of clients that have none, as they come by a Unix socket: ProxySQL's.
const LOCAL: &str = "localhost";

/// What the firewall knows of a statement: what has no `digest` is on no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The hash of its digest; nothing if there is none, or if it does not say all that a server
    /// would do.
    pub digest: Option<u64>,
    /// The state behind the last query rule.
    pub flag: u32,
}

/// What the firewall says about a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ruling {
    /// It passes.
    #[default]
    Passes,
    /// It is on no list, and passes (`DETECTING`).
    Detected,
    /// It is on no list, and is refused (`PROTECTING`).
    Refused,
}

/// The firewall, compiled: immutable, shared by all workers.
#[derive(Debug)]
pub struct Firewall {
    /// What is said to clients whose statements are refused.
    message: Arc<str>,
    users: HashMap<Box<[u8]>, Modes>,
    /// The statements on lists, by [`place_of`] them.
    listed: HashMap<u64, Vec<Listed>>,
}

/// The rows of one user by their address; under the empty one what holds for all other addresses.
type Modes = HashMap<Box<str>, FirewallMode>;

/// A statement of a user in a schema.
#[derive(Debug)]
struct Listed {
    user: Box<[u8]>,
    schema: Box<[u8]>,
    asked: (u64, u32),
    /// The addresses of the rows with it.
    addresses: Vec<Box<str>>,
    /// It passes wherever the client is: the user has no rows with addresses.
    everywhere: bool,
}

impl Listed {
    fn is(&self, user: &[u8], schema: &[u8], asked: (u64, u32)) -> bool {
        self.asked == asked && *self.user == *user && *self.schema == *schema
    }
}

/// Why the firewall says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding<'a> {
    /// The address of the user's row that holds, and its mode; nothing if the user has none.
    row: Option<(&'a str, FirewallMode)>,
    /// Whether the statement is listed for that row.
    listed: bool,
    /// Whether it could be.
    has_digest: bool,
}

impl Firewall {
    /// The firewall of these rows, of which those that are not active do not count. `message` is
    /// what clients are told.
    pub fn new(users: &[FirewallUser], rules: &[FirewallRule], message: &str) -> Self {
        let mut firewall = Self { message: message.into(), users: HashMap::new(), listed: HashMap::new() };
        for row in in_turns(users).filter(|row| row.active) {
            let modes = firewall.users.entry(row.username.as_bytes().into()).or_default();
            modes.insert(row.client_address.as_str().into(), row.mode);
        }
        for row in in_turns(rules).filter(|row| row.active) {
            // One that cannot be read was refused with the configuration.
            if let Some(digest) = digest_number(&row.digest) {
                firewall.list(row, digest);
            }
        }
        firewall
    }

    fn list(&mut self, row: &FirewallRule, digest: u64) {
        let (user, schema) = (row.username.as_bytes(), row.schemaname.as_bytes());
        let asked = (digest, row.flag_in);
        let all = self.listed.entry(place_of(hash_of_names(user, schema), asked)).or_default();
        let at = all.iter().position(|listed| listed.is(user, schema, asked)).unwrap_or_else(|| {
            let (user, schema) = (user.into(), schema.into());
            all.push(Listed { user, schema, asked, addresses: Vec::new(), everywhere: false });
            all.len() - 1
        });
        let has_addresses =
            self.users.get(user).is_some_and(|modes| modes.keys().any(|address| !address.is_empty()));
        if let Some(listed) = all.get_mut(at) {
            listed.everywhere |= row.client_address.is_empty() && !has_addresses;
            listed.addresses.push(row.client_address.as_str().into());
        }
    }

    /// What is said to clients whose statements are refused.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What it says about a statement that `caller` sends from `client_addr`, which is empty for a
    /// Unix socket.
    pub fn rule(&self, caller: &Caller, client_addr: &str, asked: Asked) -> Ruling {
        let listed = self.find(caller, asked);
        if listed.is_some_and(|listed| listed.everywhere) {
            return Ruling::Passes;
        }
        self.weigh(listed, caller, client_addr, asked).ruling()
    }

    /// The reasons of that, in words.
    pub(crate) fn why(&self, caller: &Caller, client_addr: &str, asked: Asked) -> String {
        self.weigh(self.find(caller, asked), caller, client_addr, asked).text()
    }

    /// What clients are told, to be kept.
    pub(crate) fn refusal(&self) -> Arc<str> {
        Arc::clone(&self.message)
    }

    /// Whether there are statements of a user at this address that do not simply pass.
    pub fn watches(&self, user: &[u8], client_addr: &str) -> bool {
        self.row(user, client_addr).is_none_or(|(_, mode)| mode != FirewallMode::Off)
    }

    /// The row that holds: its address and its mode.
    fn row(&self, user: &[u8], client_addr: &str) -> Option<(&str, FirewallMode)> {
        let client_addr = if client_addr.is_empty() { LOCAL } else { client_addr };
        let modes = self.users.get(user)?;
        let row = modes.get_key_value(client_addr).or_else(|| modes.get_key_value(""))?;
        Some((&**row.0, *row.1))
    }

    fn find(&self, caller: &Caller, asked: Asked) -> Option<&Listed> {
        let asked = (asked.digest?, asked.flag);
        let all = self.listed.get(&place_of(caller.hash_of_names(), asked))?;
        all.iter().find(|listed| listed.is(caller.user(), caller.schema(), asked))
    }

    fn weigh(
        &self,
        listed: Option<&Listed>,
        caller: &Caller,
        client_addr: &str,
        asked: Asked,
    ) -> Finding<'_> {
        let row = self.row(caller.user(), client_addr);
        let address = row.map_or("", |(address, _)| address);
        Finding {
            row,
            listed: listed.is_some_and(|listed| listed.addresses.iter().any(|at| **at == *address)),
            has_digest: asked.digest.is_some(),
        }
    }
}

impl Finding<'_> {
    /// What follows.
    pub(crate) fn ruling(&self) -> Ruling {
        match self.row.map_or(FirewallMode::Protecting, |(_, mode)| mode) {
            FirewallMode::Off => Ruling::Passes,
            _ if self.listed => Ruling::Passes,
            FirewallMode::Detecting => Ruling::Detected,
            FirewallMode::Protecting => Ruling::Refused,
        }
    }

    /// The reasons, in words.
    pub(crate) fn text(&self) -> String {
        let whose = match self.row {
            None => "the user has no row, as with PROTECTING".to_owned(),
            Some(("", mode)) => format!("{} for the user", mode.name()),
            Some((address, mode)) => format!("{} for the user at {address}", mode.name()),
        };
        match self {
            Self { row: Some((_, FirewallMode::Off)), .. } => whose,
            Self { listed: true, .. } => format!("{whose}; listed"),
            Self { has_digest: true, .. } => format!("{whose}; not listed"),
            Self { .. } => format!("{whose}; its digest, if any, does not say all that a server would do"),
        }
    }
}

impl Ruling {
    /// A word for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Detected => "detected",
            Self::Refused => "refused",
        }
    }
}

/// Where the list of a statement is looked for: a hash of all that has to be the same.
fn place_of(names: u64, (digest, flag): (u64, u32)) -> u64 {
    (names ^ (u64::from(flag) << 32)).rotate_left(32) ^ digest
}

#[cfg(test)]
mod tests;
