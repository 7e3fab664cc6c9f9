//! The users that may log in, and the decoys that answer for those that do not exist.

mod user;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use config::in_turns;
use wire::auth::{Credential, caching_sha2};

use crate::limit::{Limit, Rates};
use crate::limits::DECOYS_MAX;

pub use user::{Options, User};

/// Fills bytes with unpredictable ones.
pub type Random = fn(&mut [u8]);

/// All users, by name.
#[derive(Debug)]
pub struct Users {
    random: Random,
    by_name: HashMap<Arc<[u8]>, Arc<User>>,
    decoys: Vec<Arc<User>>,
    /// Kept when users change: a name goes on to have the same decoy as long as there are as many.
    decoy_choice: RandomState,
}

impl Users {
    /// The active users that clients may log in as. Rows have been validated: a password that does
    /// not parse cannot occur, and would only make its user unknown.
    pub fn new(rows: &[config::User], random: Random) -> Self {
        Self::made_of(rows, |_| None, RandomState::new(), random)
    }

    /// The same with other rows. Users that stay keep what was learned about them, and the count of
    /// their connections.
    #[must_use]
    pub fn replaced_by(&self, rows: &[config::User]) -> Self {
        Self::made_of(rows, |name| self.by_name.get(name), self.decoy_choice.clone(), self.random)
    }

    fn made_of<'a>(
        rows: &[config::User],
        before: impl Fn(&[u8]) -> Option<&'a Arc<User>>,
        decoy_choice: RandomState,
        random: Random,
    ) -> Self {
        let active = rows.iter().filter(|row| row.active);
        let for_servers = in_turns(active.clone().filter(|row| row.backend));
        let for_servers: HashSet<&str> = for_servers.map(|row| row.username.as_str()).collect();
        let usable = active.filter(|row| row.frontend);
        let by_name: HashMap<_, _> = in_turns(usable)
            .filter_map(|row| {
                let credential = row.credential().ok()?;
                let additional = row.additional_credential().transpose().ok()?;
                let name: Arc<[u8]> = row.username.as_bytes().into();
                let for_servers = for_servers.contains(row.username.as_str());
                let before = before(&name);
                let limit = before.and_then(|before| before.limit.as_ref());
                let limit = Limit::of_user(&name, rates(row), limit);
                let mut user = User::new(Arc::clone(&name), credential, for_servers, row);
                (user.additional, user.limit) = (additional, limit);
                let user = match before {
                    Some(before) => user.after(before),
                    None => Arc::new(user),
                };
                Some((name, user))
            })
            .collect();
        // A random choice, because the order is.
        let decoys = by_name.values().filter_map(|user| decoy(user, random)).take(DECOYS_MAX).collect();
        Self { random, by_name, decoys, decoy_choice }
    }

    /// Frees their memory, in turns with other threads.
    pub fn free(self) {
        in_turns(self.by_name).for_each(drop);
    }

    /// Has them have as many clients, connections to servers and statements as their rows say, also
    /// those of before they were changed.
    pub fn enforce(&self, before: &Self) {
        let is_unlimited = |name| self.by_name.get(name).is_some_and(|user| user.limit.is_none());
        let limited = in_turns(before.by_name.values()).filter(|user| is_unlimited(&user.name));
        limited.filter_map(|user| user.limit.as_ref()).for_each(Limit::lift);
        in_turns(self.by_name.values()).for_each(|user| user.enforce());
    }

    /// All users, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<User>> {
        self.by_name.values()
    }

    /// The user called `name`, or a decoy that no client can log in as.
    ///
    /// A decoy has a random password of the same kind as some real user's, always the same kind for
    /// one name: neither the messages of a login nor their timing tell whether a name exists.
    pub fn find(&self, name: &[u8]) -> Arc<User> {
        if let Some(user) = self.by_name.get(name) {
            return Arc::clone(user);
        }
        let hash = usize::try_from(self.decoy_choice.hash_one(name) >> 32).unwrap_or(0);
        let chosen = hash.checked_rem(self.decoys.len()).and_then(|index| self.decoys.get(index));
        chosen.map_or_else(
            || Arc::new(User::decoy(Credential::Native(bytes(self.random)), Arc::default())),
            Arc::clone,
        )
    }
}

/// How many statements the user may run.
fn rates(row: &config::User) -> Rates {
    Rates { max_qps: row.attributes.max_qps, max_concurrent: row.attributes.max_concurrent }
}

fn bytes<const N: usize>(random: Random) -> [u8; N] {
    let mut bytes = [0; N];
    random(&mut bytes);
    bytes
}

/// A user with a random password of the kind that `user` has; none for an empty password.
fn decoy(user: &User, random: Random) -> Option<Arc<User>> {
    let credential = match &user.credential {
        Credential::Empty => return None,
        Credential::Clear(_) => Credential::Clear(bytes::<32>(random).to_vec()),
        Credential::Native(_) => Credential::Native(bytes(random)),
        Credential::CachingSha2(_) => {
            let mut stored = b"$A$005$".to_vec();
            // Neither zeros nor high bytes, as in the salts of servers.
            stored.extend(bytes::<20>(random).map(|byte| byte % 127 + 1));
            stored.extend([b'.'; 43]);
            Credential::CachingSha2(caching_sha2::Stored::parse(&stored).ok()?)
        }
    };
    Some(Arc::new(User::decoy(credential, Arc::clone(&user.wants_password))))
}

#[cfg(test)]
mod tests;
