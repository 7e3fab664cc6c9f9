//! How the answer of a statement is cached: what rules and hints say, then the user, the hostgroup
//! and the variables.

use std::collections::HashMap;
use std::time::Duration;

use config::{CacheMode, CacheScope, CacheSettings, Config};

use crate::limits::{CACHE_STALENESS, CACHE_TIMEOUT, CACHED_ANSWER_BYTES_MAX};
use crate::verdict::{Source, Verdict};

/// How the answer of a statement is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePolicy {
    /// The rule or hint that gives the time to live; nothing if the user or the hostgroup does.
    pub source: Option<Source>,
    /// How long the answer is served, in milliseconds; at least 1.
    pub ttl_ms: u32,
    /// The age from which one client refreshes the answer, in milliseconds; 0: none does.
    pub soft_ttl_ms: u32,
    /// How long behind that the answer is served if no server answers, in milliseconds.
    pub stale_ms: u32,
    /// What is promised about its age.
    pub mode: CacheMode,
    /// How old it may be in the mode `bounded`, by writes elsewhere, in milliseconds.
    pub staleness_ms: u32,
    /// Which accounts get it.
    pub scope: CacheScope,
    /// Whether an answer without rows is stored.
    pub stores_empty: bool,
    /// Largest answer that is stored, in bytes.
    pub answer_bytes_max: usize,
    /// How long equal queries wait for the answer of the first, in milliseconds.
    pub timeout_ms: u32,
}

/// What users, hostgroups and variables say about caching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheDefaults {
    users: HashMap<Box<[u8]>, CacheSettings>,
    hostgroups: HashMap<u32, CacheSettings>,
    soft_ttl_percent: u32,
    stores_empty: bool,
    /// The budget of the cache is 0.
    is_off: bool,
}

impl CacheDefaults {
    /// What `config` says.
    pub fn new(config: &Config) -> Self {
        let variables = &config.variables;
        let users = config.users.iter().filter(|user| user.active && user.frontend);
        let users = users.filter_map(|user| Some((user.username.as_bytes().into(), user.attributes.cache?)));
        let hostgroups = config.hostgroup_attributes.iter();
        let hostgroups = hostgroups.filter_map(|row| Some((row.hostgroup_id, row.hostgroup_settings.cache?)));
        Self {
            users: users.collect(),
            hostgroups: hostgroups.collect(),
            soft_ttl_percent: variables.query_cache_soft_ttl_pct,
            stores_empty: variables.query_cache_stores_empty_result,
            is_off: variables.query_cache_size_mb == 0,
        }
    }

    /// Whether users or hostgroups have answers cached, without any rule.
    pub fn has_defaults(&self) -> bool {
        !self.users.is_empty() || !self.hostgroups.is_empty()
    }

    /// How the answer to a statement of `user` that goes to `hostgroup` is cached; nothing if it is
    /// not.
    pub fn policy(&self, verdict: &Verdict, user: &[u8], hostgroup: u32) -> Option<CachePolicy> {
        let has_defaults = self.has_defaults();
        if self.is_off || verdict.cache_ttl.is_none() && !has_defaults {
            return None;
        }
        let mut settings = verdict.cache.as_deref().copied().unwrap_or_default();
        if has_defaults {
            settings = settings.or(self.users.get(user).copied().unwrap_or_default());
            settings = settings.or(self.hostgroups.get(&hostgroup).copied().unwrap_or_default());
        }
        let ttl_ms = millis(verdict.cache_ttl.or(settings.ttl)?);
        let soft_ttl_ms = settings.soft_ttl.map_or_else(|| self.soft_part(ttl_ms), millis);
        let max = settings.max_answer.and_then(|bytes| usize::try_from(bytes).ok());
        (ttl_ms > 0).then(|| CachePolicy {
            source: verdict.cache_source,
            ttl_ms,
            soft_ttl_ms,
            stale_ms: settings.stale_if_error.map_or(0, millis),
            mode: settings.mode.unwrap_or_default(),
            staleness_ms: millis(settings.max_staleness.unwrap_or(CACHE_STALENESS)),
            scope: settings.scope.unwrap_or_default(),
            stores_empty: verdict.cache_empty_result.unwrap_or(self.stores_empty),
            answer_bytes_max: max.unwrap_or(CACHED_ANSWER_BYTES_MAX),
            timeout_ms: millis(verdict.cache_timeout.unwrap_or(CACHE_TIMEOUT)),
        })
    }

    /// The part of a time to live after which an answer is refreshed; 0 for none.
    fn soft_part(&self, ttl_ms: u32) -> u32 {
        let percent = u64::from(self.soft_ttl_percent);
        if percent >= 100 {
            return 0;
        }
        u32::try_from(u64::from(ttl_ms) * percent / 100).unwrap_or_default()
    }
}

/// A time in milliseconds; the longest one is 49 days.
fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ttl(seconds: u64) -> CacheSettings {
        CacheSettings { ttl: Some(Duration::from_secs(seconds)), ..CacheSettings::default() }
    }

    fn verdict(ttl: Option<Duration>) -> Verdict {
        Verdict { cache_ttl: ttl, cache_source: ttl.map(|_| Source::Rule(7)), ..Verdict::default() }
    }

    #[test]
    fn rules_beat_users_and_users_beat_hostgroups() {
        let config = Config::default();
        let mut defaults = CacheDefaults::new(&config);
        let policy = |defaults: &CacheDefaults, verdict| defaults.policy(&verdict, b"app", 1);
        let ttl_ms =
            |defaults: &CacheDefaults, rule| policy(defaults, verdict(rule)).map(|policy| policy.ttl_ms);
        assert_eq!(ttl_ms(&defaults, None), None);
        assert_eq!(ttl_ms(&defaults, Some(SECOND)), Some(1000));
        defaults.hostgroups.insert(1, CacheSettings { mode: Some(CacheMode::Own), ..ttl(3) });
        assert_eq!(ttl_ms(&defaults, None), Some(3000));
        defaults.users.insert(b"app"[..].into(), ttl(2));
        let by_user = policy(&defaults, verdict(None)).unwrap();
        assert_eq!((by_user.ttl_ms, by_user.mode, by_user.source), (2000, CacheMode::Own, None));
        assert_eq!(policy(&defaults, verdict(Some(SECOND))).unwrap().source, Some(Source::Rule(7)));
        assert_eq!(ttl_ms(&defaults, Some(Duration::ZERO)), None, "a hint switches it off");
        defaults.users.insert(b"app"[..].into(), ttl(0));
        assert_eq!(ttl_ms(&defaults, None), None, "the user switches it off");
        defaults.is_off = true;
        assert_eq!(ttl_ms(&defaults, Some(SECOND)), None, "no memory");
    }

    #[test]
    fn variables_are_the_defaults() {
        let mut config = Config::default();
        let of = |config: &Config, verdict| CacheDefaults::new(config).policy(&verdict, b"", 0).unwrap();
        let policy = of(&config, verdict(Some(SECOND)));
        assert_eq!((policy.soft_ttl_ms, policy.stores_empty), (0, true));
        assert_eq!(policy.answer_bytes_max, CACHED_ANSWER_BYTES_MAX);
        let variables = &mut config.variables;
        variables.query_cache_soft_ttl_pct = 40;
        variables.query_cache_stores_empty_result = false;
        let policy = of(&config, verdict(Some(SECOND)));
        assert_eq!((policy.soft_ttl_ms, policy.stores_empty), (400, false));
        let rule = Verdict {
            cache_empty_result: Some(true),
            cache_timeout: Some(Duration::ZERO),
            cache: Some(Arc::new(CacheSettings {
                soft_ttl: Some(Duration::ZERO),
                stale_if_error: Some(SECOND),
                ..Default::default()
            })),
            ..verdict(Some(SECOND))
        };
        let policy = of(&config, rule);
        assert_eq!((policy.soft_ttl_ms, policy.stale_ms), (0, 1000));
        assert_eq!((policy.stores_empty, policy.timeout_ms), (true, 0));
    }
}
