//! Runs in which the proxy answers reads from its query cache.
//!
//! A rule has all reads cached in the mode `own`, so that answers have to be what the server says
//! at that moment. Clients are fewer, and say most reads several times, in the words of other
//! clients and of sessions that have set something else.

use e2e::{Setup, admin};

use crate::world::World;

/// Clients of such a run. A write makes the answers of all clients too old.
pub(crate) const CLIENTS: usize = 4;
/// Connections that these share.
pub(crate) const SHARED_CONNECTIONS: usize = 2;
/// A run needs one hit for so many commands.
const COMMANDS_PER_HIT_MAX: u64 = 25;

/// Who gets an answer from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// The user whose query it was.
    User,
    /// Users that have run a statement with the digest themselves.
    Proven,
    /// All users. The account that may do little logs in as another one.
    Shared,
}

impl Caching {
    const ALL: [Self; 3] = [Self::User, Self::Proven, Self::Shared];

    /// What `POINTSMAN_MODEL_CACHED` says.
    ///
    /// # Panics
    /// If that is no scope.
    pub(crate) fn wanted() -> Option<Self> {
        let name = std::env::var("POINTSMAN_MODEL_CACHED").ok()?;
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        Some(found.unwrap_or_else(|| panic!("POINTSMAN_MODEL_CACHED={name}: user, proven or shared")))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Proven => "proven",
            Self::Shared => "shared",
        }
    }

    /// The configuration with a rule that has everything cached.
    pub(crate) fn configure(self, setup: Setup) -> Setup {
        let attributes = format!(r#"{{"cache": {{"mode": "own", "scope": "{}"}}}}"#, self.name());
        setup.row(
            "mysql_query_rules",
            &format!(
                "rule_id = 1\nactive = true\nmatch_pattern = \".\"\ncache_ttl = 3600000\n\
                 cache_empty_result = true\napply = true\nattributes = '{attributes}'"
            ),
        )
    }
}

/// The number of answers that came from the cache so far.
pub(crate) async fn hits(world: &World) -> u64 {
    let mut operator = admin::connect(&world.proxy).await;
    let hits = admin::value(&mut operator, "SELECT SUM(hits) FROM stats_pointsman_cache").await;
    hits.parse().unwrap_or_default()
}

/// Forgets all answers: what the servers have was changed behind the proxy.
pub(crate) async fn forget(world: &World) {
    let mut operator = admin::connect(&world.proxy).await;
    operator.query("FLUSH CACHE").await.unwrap_or_else(|error| panic!("FLUSH CACHE: {error}"));
}

/// Makes sure that the cache was used in a run of so many commands.
///
/// # Panics
/// If hardly an answer came from it.
pub(crate) async fn check_use(world: &World, commands: usize) {
    let hits = hits(world).await;
    println!("{hits} answers to {commands} commands came from the cache");
    assert!(hits * COMMANDS_PER_HIT_MAX >= commands as u64, "only {hits} answers came from the cache");
}
