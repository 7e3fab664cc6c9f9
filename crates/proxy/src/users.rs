//! The users that may log in, and the decoys that answer for those that do not exist.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use config::in_turns;
use pool::{Quota, Share};
use tokio::time::Instant;
use wire::auth::{Credential, Secret, caching_sha2};

use crate::limit::{Limit, Rates};
use crate::limits::{DECOYS_MAX, VOUCHED_FOR, VOUCHED_SCHEMAS_MAX};
use crate::random;
use crate::stats::UserConnections;

/// All users, by name.
#[derive(Debug)]
pub(crate) struct Users {
    by_name: HashMap<Vec<u8>, Arc<User>>,
    decoys: Vec<Arc<User>>,
    /// Kept when users change: a name goes on to have the same decoy as long as there are as many.
    decoy_choice: RandomState,
}

/// One row of `mysql_users`, and what was learned about its password.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a row, independent of each other")]
pub(crate) struct User {
    pub(crate) name: Vec<u8>,
    pub(crate) credential: Credential,
    /// A second password that is as good.
    pub(crate) additional: Option<Credential>,
    pub(crate) default_hostgroup: u32,
    /// Whether rules do not lead out of a transaction.
    pub(crate) transaction_persistent: bool,
    /// Whether hints in the comments of statements count.
    pub(crate) hints: bool,
    pub(crate) default_schema: Option<Vec<u8>>,
    pub(crate) max_connections: u32,
    /// How many statements it may run.
    pub(crate) limit: Option<Limit>,
    /// How many connections to servers it may have; `u32::MAX`: any number.
    max_backends: u32,
    /// Whether the proxy may log in to servers as this user: its row, or another one of the same name, says so.
    pub(crate) for_servers: bool,
    /// Whether clients must use TLS.
    pub(crate) use_ssl: bool,
    is_decoy: bool,
    /// Whether it is the monitor's.
    pub(crate) is_own: bool,
    connections: Arc<Quota>,
    /// Its connections to servers, from the first one on.
    backends: OnceLock<Arc<Quota>>,
    /// What a full exchange has shown: from then on a proof is enough.
    learned: Mutex<Option<Learned>>,
    /// Schemas (`None`: none at all) that a server has let this user into, and when.
    accepted: Mutex<HashMap<Option<Box<[u8]>>, Instant>>,
    /// Whether a server has asked for more than the hash in the table. A decoy shares this with the user whose kind it
    /// has, so that the messages of a login do not tell them apart.
    wants_password: Arc<AtomicBool>,
}

/// What a user with a hash once proved with the password itself. Kept in memory only.
#[derive(Debug, Clone)]
struct Learned {
    /// SHA256(SHA256(password)), to check fast exchanges with.
    digest: [u8; 32],
    /// What servers want to see; a fast exchange shows less.
    secret: Secret,
}

impl Users {
    /// The active users that clients may log in as. Rows have been validated: a password that does not parse
    /// cannot occur, and would only make its user unknown.
    pub(crate) fn new(rows: &[config::User]) -> Self {
        Self::made_of(rows, |_| None, RandomState::new())
    }

    /// The same with other rows. Users that stay keep what was learned about them, and the count of their connections.
    pub(crate) fn replaced_by(&self, rows: &[config::User]) -> Self {
        Self::made_of(rows, |name| self.by_name.get(name), self.decoy_choice.clone())
    }

    fn made_of<'a>(
        rows: &[config::User],
        before: impl Fn(&[u8]) -> Option<&'a Arc<User>>,
        decoy_choice: RandomState,
    ) -> Self {
        let active = rows.iter().filter(|row| row.active);
        let for_servers = in_turns(active.clone().filter(|row| row.backend));
        let for_servers: HashSet<&str> = for_servers.map(|row| row.username.as_str()).collect();
        let usable = active.filter(|row| row.frontend);
        let by_name: HashMap<_, _> = in_turns(usable)
            .filter_map(|row| {
                let credential = Credential::parse(row.password.as_bytes()).ok()?;
                let additional = row.attributes.additional_password.as_deref().map(Credential::parse);
                let additional = additional.transpose().ok()?;
                let name = row.username.clone().into_bytes();
                let for_servers = for_servers.contains(row.username.as_str());
                let before = before(&name);
                let limit = before.and_then(|before| before.limit.as_ref());
                let limit = Limit::of_user(&name, rates(row), limit);
                let user =
                    User { additional, limit, ..User::new(name.clone(), credential, for_servers, row) };
                let user = match before {
                    Some(before) => user.after(before),
                    None => Arc::new(user),
                };
                Some((name, user))
            })
            .collect();
        // A random choice, because the order is.
        let decoys = by_name.values().filter_map(|user| decoy(user)).take(DECOYS_MAX).collect();
        Self { by_name, decoys, decoy_choice }
    }

    /// Frees their memory, in turns with other threads.
    pub(crate) fn free(self) {
        in_turns(self.by_name).for_each(drop);
    }

    /// Has them have as many clients and connections to servers as their rows say, also those of before they were changed.
    pub(crate) fn enforce(&self) {
        for user in in_turns(self.by_name.values()) {
            user.connections.allow(user.max_connections);
            if let Some(backends) = user.backends.get() {
                backends.allow(user.max_backends);
            }
        }
    }

    /// All users, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<User>> {
        self.by_name.values()
    }

    /// How many clients each user has, in no order.
    pub(crate) fn connections(&self) -> Vec<UserConnections> {
        let row = |user: &Arc<User>| UserConnections {
            user: String::from_utf8_lossy(&user.name).into_owned(),
            connections: user.connections(),
            max: user.max_connections,
        };
        self.by_name.values().map(row).collect()
    }

    /// The user called `name`, or a decoy that nobody can log in as.
    ///
    /// A decoy has a random password of the same kind as some real user's, always the same kind for one name:
    /// neither the messages of a login nor their timing tell whether a name exists.
    pub(crate) fn find(&self, name: &[u8]) -> Arc<User> {
        if let Some(user) = self.by_name.get(name) {
            return Arc::clone(user);
        }
        let hash = usize::try_from(self.decoy_choice.hash_one(name) >> 32).unwrap_or(0);
        let chosen = hash.checked_rem(self.decoys.len()).and_then(|index| self.decoys.get(index));
        chosen.map_or_else(
            || Arc::new(User::decoy(Credential::Native(random::bytes()), Arc::default())),
            Arc::clone,
        )
    }
}

/// How many statements the user may run.
fn rates(row: &config::User) -> Rates {
    Rates { max_qps: row.attributes.max_qps, max_concurrent: row.attributes.max_concurrent }
}

/// How many connections to servers the user may have.
fn max_backends(row: &config::User) -> u32 {
    row.attributes.max_backend_connections.map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX))
}

/// A user with a random password of the kind that `user` has; none for an empty password.
fn decoy(user: &User) -> Option<Arc<User>> {
    let credential = match &user.credential {
        Credential::Empty => return None,
        Credential::Clear(_) => Credential::Clear(random::bytes::<32>().to_vec()),
        Credential::Native(_) => Credential::Native(random::bytes()),
        Credential::CachingSha2(_) => {
            let mut stored = b"$A$005$".to_vec();
            stored.extend(random::nonce());
            stored.extend([b'.'; 43]);
            Credential::CachingSha2(caching_sha2::Stored::parse(&stored).ok()?)
        }
    };
    Some(Arc::new(User::decoy(credential, Arc::clone(&user.wants_password))))
}

impl User {
    /// What the row says about where statements go.
    pub(crate) const fn route_account(&self) -> route::Account {
        route::Account {
            default_hostgroup: self.default_hostgroup,
            transaction_persistent: self.transaction_persistent,
            listener: None,
        }
    }

    /// A user of the proxy's own, whom no client can log in as.
    pub(crate) fn of_monitor(name: &str, password: &str) -> Arc<Self> {
        let credential = match password {
            "" => Credential::Empty,
            password => Credential::Clear(password.as_bytes().to_vec()),
        };
        let user = Self::new(name.as_bytes().to_vec(), credential, true, &config::User::default());
        Arc::new(Self { is_own: true, ..user })
    }

    fn new(name: Vec<u8>, credential: Credential, for_servers: bool, row: &config::User) -> Self {
        Self {
            name,
            credential,
            default_hostgroup: row.default_hostgroup,
            transaction_persistent: row.transaction_persistent,
            hints: row.attributes.hints,
            default_schema: row.default_schema.clone().map(String::into_bytes),
            max_connections: row.max_connections,
            limit: None,
            max_backends: max_backends(row),
            for_servers,
            use_ssl: row.use_ssl,
            additional: None,
            is_decoy: false,
            is_own: false,
            connections: Quota::new(row.max_connections),
            backends: OnceLock::new(),
            learned: Mutex::new(None),
            accepted: Mutex::default(),
            wants_password: Arc::default(),
        }
    }

    fn decoy(credential: Credential, wants_password: Arc<AtomicBool>) -> Self {
        Self {
            name: Vec::new(),
            credential,
            additional: None,
            default_hostgroup: 0,
            transaction_persistent: true,
            hints: true,
            default_schema: None,
            max_connections: 0,
            limit: None,
            max_backends: 0,
            for_servers: false,
            use_ssl: false,
            is_decoy: true,
            is_own: false,
            connections: Arc::default(),
            backends: OnceLock::new(),
            learned: Mutex::new(None),
            accepted: Mutex::default(),
            wants_password,
        }
    }

    /// This user, with what is known of it from `before`, when it was configured otherwise; `before` itself if it was not.
    fn after(mut self, before: &Arc<Self>) -> Arc<Self> {
        let same_password = self.credential == before.credential && self.additional == before.additional;
        let same = same_password
            && self.route_account() == before.route_account()
            && self.hints == before.hints
            && self.default_schema == before.default_schema
            && self.max_connections == before.max_connections
            && self.limit.as_ref().map(Limit::rates) == before.limit.as_ref().map(Limit::rates)
            && self.max_backends == before.max_backends
            && self.for_servers == before.for_servers
            && self.use_ssl == before.use_ssl;
        if same {
            return Arc::clone(before);
        }
        self.connections = Arc::clone(&before.connections);
        self.backends = OnceLock::from(Arc::clone(before.backends()));
        if same_password {
            self.learned = Mutex::new(before.learned().clone());
            self.wants_password = Arc::clone(&before.wants_password);
        }
        Arc::new(self)
    }

    /// Whether sessions of both have their places among the same ones: they are one user, maybe configured anew.
    pub(crate) fn shares_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.connections, &other.connections)
    }

    /// Clients that are logged in as this user.
    fn connections(&self) -> u32 {
        self.connections.taken()
    }

    /// Whether no such user exists.
    pub(crate) const fn is_decoy(&self) -> bool {
        self.is_decoy
    }

    /// Counts one more session of this user, unless it has all that it may have.
    pub(crate) fn admit(&self) -> Option<Share> {
        self.connections.take()
    }

    /// What counts the sessions of this user.
    pub(crate) const fn places(&self) -> &Arc<Quota> {
        &self.connections
    }

    /// What counts the connections to servers as this user.
    pub(crate) fn backends(&self) -> &Arc<Quota> {
        self.backends.get_or_init(|| Quota::new(self.max_backends))
    }

    /// SHA256(SHA256(password)) as learned from a full exchange.
    pub(crate) fn sha2_digest(&self) -> Option<[u8; 32]> {
        self.learned().as_ref().map(|learned| learned.digest)
    }

    /// What the session can log in to servers with, after a login that showed `shown`; `digest` is what it
    /// taught, if it was a full exchange.
    pub(crate) fn learn(&self, shown: Secret, digest: Option<[u8; 32]>) -> Secret {
        let mut learned = self.learned();
        if let Some(digest) = digest {
            *learned = Some(Learned { digest, secret: shown.clone() });
        }
        better(shown, learned.as_ref())
    }

    /// The same for a session that has logged in with `secret`: others may have shown more since.
    pub(crate) fn secret_for_servers(&self, secret: &Secret) -> Secret {
        better(secret.clone(), self.learned().as_ref())
    }

    /// Whether clients are to show the password itself.
    pub(crate) fn wants_password(&self) -> bool {
        self.wants_password.load(Ordering::Relaxed)
    }

    /// A server has asked for what cannot be made of the hash in the table: from now on clients are asked for the
    /// password, until one has shown it.
    pub(crate) fn want_password(&self) {
        self.wants_password.store(true, Ordering::Relaxed);
    }

    /// A server has refused `secret`. If it was learned, clients have to show the password again: it may have changed.
    pub(crate) fn forget(&self, secret: &Secret) {
        let mut learned = self.learned();
        if learned.as_ref().is_some_and(|learned| learned.secret == *secret) {
            *learned = None;
        }
    }

    /// Whether a server has let this user into `schema` a short time before `now`.
    pub(crate) fn is_vouched_for(&self, schema: Option<&[u8]>, now: Instant) -> bool {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let since = accepted.get(&schema.map(Box::from));
        since.is_some_and(|&since| now.duration_since(since) < VOUCHED_FOR)
    }

    /// A server has let this user into `schema` at `now`.
    pub(crate) fn vouch_for(&self, schema: Option<&[u8]>, now: Instant) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if accepted.len() >= VOUCHED_SCHEMAS_MAX {
            accepted.clear();
        }
        accepted.insert(schema.map(Box::from), now);
    }

    fn learned(&self) -> MutexGuard<'_, Option<Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was learned, where a login with the same password has shown less.
fn better(shown: Secret, learned: Option<&Learned>) -> Secret {
    match (shown, learned) {
        (shown @ (Secret::CachingSha2Stage1(_) | Secret::NativeStage1(_)), Some(learned))
            if shown.is_of(&learned.secret) =>
        {
            learned.secret.clone()
        }
        (shown, _) => shown,
    }
}

#[cfg(test)]
mod tests {
    use wire::auth::native;

    use super::*;

    fn row(username: &str, password: &str) -> config::User {
        config::User {
            username: username.to_owned(),
            password: password.to_owned(),
            ..config::User::default()
        }
    }

    #[test]
    fn an_unknown_name_gets_a_decoy_of_a_kind_that_exists() {
        let users = Users::new(&[row("hashed", "*0123456789ABCDEF0123456789ABCDEF01234567")]);
        let decoy = users.find(b"nobody");
        assert!(decoy.is_decoy());
        assert!(matches!(decoy.credential, Credential::Native(_)));
        assert!(!users.find(b"hashed").is_decoy());
    }

    #[test]
    fn a_name_always_gets_the_same_decoy() {
        let users = Users::new(&[row("a", "clear"), row("b", "*0123456789ABCDEF0123456789ABCDEF01234567")]);
        assert!(Arc::ptr_eq(&users.find(b"x"), &users.find(b"x")));
    }

    #[test]
    fn a_fast_exchange_uses_what_the_full_one_has_shown() {
        let users = Users::new(&[row("u", "clear")]);
        let user = users.find(b"u");
        let full = Secret::Clear(b"password".to_vec());
        assert_eq!(user.learn(full.clone(), Some([1; 32])), full);
        assert_eq!(user.sha2_digest(), Some([1; 32]));
        let fast = Secret::CachingSha2Stage1(caching_sha2::stage1(b"password"));
        assert_eq!(user.learn(fast, None), full);
        let other = Secret::NativeStage1(native::stage1(b"the additional password"));
        assert_eq!(user.learn(other.clone(), None), other, "which is another one");
    }

    #[test]
    fn what_a_server_refuses_is_forgotten() {
        let users = Users::new(&[row("u", "*0123456789ABCDEF0123456789ABCDEF01234567")]);
        let (user, proof) = (users.find(b"u"), Secret::NativeStage1(native::stage1(b"password")));
        let full = Secret::Clear(b"password".to_vec());
        user.learn(full.clone(), Some([1; 32]));
        assert_eq!(user.secret_for_servers(&proof), full);
        user.forget(&proof);
        assert_eq!(user.secret_for_servers(&proof), full, "another secret was refused");
        user.forget(&full);
        assert_eq!((user.secret_for_servers(&proof), user.sha2_digest()), (proof, None));
    }

    #[test]
    fn a_decoy_wants_passwords_when_its_model_does() {
        let users = Users::new(&[row("u", "*0123456789ABCDEF0123456789ABCDEF01234567")]);
        assert!(!users.find(b"nobody").wants_password());
        users.find(b"u").want_password();
        assert!(users.find(b"u").wants_password() && users.find(b"nobody").wants_password());
    }

    #[test]
    fn users_that_are_inactive_or_for_servers_only_cannot_log_in() {
        let inactive = config::User { active: false, ..row("inactive", "pw") };
        let backend_only = config::User { frontend: false, ..row("backend", "pw") };
        let users = Users::new(&[inactive, backend_only]);
        assert!(users.find(b"inactive").is_decoy());
        assert!(users.find(b"backend").is_decoy());
    }

    #[test]
    fn a_user_may_be_two_rows() {
        let client = config::User { backend: false, ..row("u", "pw") };
        let server = config::User { frontend: false, ..row("u", "pw") };
        assert!(!Users::new(std::slice::from_ref(&client)).find(b"u").for_servers);
        assert!(Users::new(&[client, server]).find(b"u").for_servers);
    }

    #[test]
    fn users_that_stay_are_the_same_and_changed_ones_keep_their_places() {
        let hashed = row("b", "*0123456789ABCDEF0123456789ABCDEF01234567");
        let users = Users::new(&[row("a", "clear"), hashed.clone(), row("c", "old"), row("d", "gone")]);
        let [a, b, c] = ["a", "b", "c"].map(|name| users.find(name.as_bytes()));
        for user in [&b, &c] {
            user.learn(Secret::Clear(b"password".to_vec()), Some([1; 32]));
        }
        b.want_password();
        let places = (b.admit(), c.admit());
        let limited = config::User { max_connections: 1, ..hashed };
        let users = users.replaced_by(&[row("c", "new"), limited, row("a", "clear"), row("e", "new")]);
        assert!(Arc::ptr_eq(&users.find(b"a"), &a));
        users.enforce();
        let after = users.find(b"b");
        assert!(after.shares_places_with(&b) && !after.shares_places_with(&a));
        assert!(after.admit().is_none() && after.connections() == 1, "the place of before counts");
        assert!(after.wants_password() && after.sha2_digest() == Some([1; 32]));
        assert_eq!(users.find(b"c").sha2_digest(), None, "another password");
        assert!(users.find(b"c").shares_places_with(&c));
        assert!(users.find(b"d").is_decoy() && !users.find(b"e").is_decoy());
        drop(places);
        assert_eq!(after.connections(), 0);
    }

    #[test]
    fn many_users_do_not_need_as_many_decoys() {
        let rows: Vec<_> = (0..3 * DECOYS_MAX).map(|n| row(&n.to_string(), "pw")).collect();
        let users = Users::new(&rows);
        assert_eq!(users.decoys.len(), DECOYS_MAX);
        let after = users.replaced_by(rows.get(1..).unwrap());
        assert_eq!((after.by_name.len(), after.decoys.len()), (3 * DECOYS_MAX - 1, DECOYS_MAX));
    }

    #[test]
    fn the_user_limit_is_exact() {
        let users = Users::new(&[config::User { max_connections: 2, ..row("u", "pw") }]);
        let user = users.find(b"u");
        let (first, second) = (user.admit(), user.admit());
        assert!(first.is_some() && second.is_some() && user.admit().is_none());
        drop(first);
        assert!(user.admit().is_some());
    }

    #[test]
    fn connections_to_servers_count_on_when_their_limit_changes() {
        let limited = |max| {
            let mut row = row("u", "pw");
            row.attributes.max_backend_connections = Some(max);
            row
        };
        let users = Users::new(&[limited(1)]);
        let user = users.find(b"u");
        let quota = user.backends();
        let share = quota.take();
        assert!(share.is_some() && quota.take().is_none());
        let changed = users.replaced_by(&[limited(2)]);
        assert_eq!(quota.max(), 1, "the configuration does not hold yet");
        changed.enforce();
        assert_eq!((changed.find(b"u").backends().taken(), quota.max()), (1, 2));
        let unlimited = changed.replaced_by(&[row("u", "pw")]);
        unlimited.enforce();
        assert!(!quota.is_limited() && unlimited.find(b"u").backends().taken() == 1);
    }

    #[test]
    fn what_servers_have_accepted_is_bounded_and_forgotten() {
        let users = Users::new(&[row("u", "pw")]);
        let (user, start) = (users.find(b"u"), Instant::now());
        assert!(!user.is_vouched_for(None, start));
        user.vouch_for(None, start);
        assert!(user.is_vouched_for(None, start) && !user.is_vouched_for(Some(b"shop"), start));
        assert!(!user.is_vouched_for(None, start + VOUCHED_FOR));
        for schema in 0..10 * VOUCHED_SCHEMAS_MAX {
            user.vouch_for(Some(schema.to_string().as_bytes()), start);
        }
        assert!(user.accepted.lock().unwrap().len() <= VOUCHED_SCHEMAS_MAX);
    }
}
