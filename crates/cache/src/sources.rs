//! Which servers are followed, by the hostgroups that queries come for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll, Waker};

use crate::source::{Counters, Source};

/// Hostgroups whose servers may be followed, at most.
const HOSTGROUPS_MAX: usize = 256;

/// What is known of a hostgroup whose server is to be followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceRow {
    /// The hostgroup.
    pub hostgroup: u32,
    /// Its server, as `host:port`; nothing if it has none, or several.
    pub server: Option<String>,
    /// Whether its log is followed.
    pub is_followed: bool,
    /// How long ago the cache was exact, in microseconds; nothing if that is not known. It grows
    /// while no query asks for that.
    pub behind_us: Option<u64>,
    /// What was counted.
    pub counters: Counters,
}

/// The sources of a process, by the hostgroups whose server they are.
#[derive(Debug, Default)]
pub struct Sources {
    all: RwLock<HashMap<u32, Option<Arc<Source>>>>,
    /// What follows logs waits for a hostgroup.
    waker: Mutex<Option<Waker>>,
}

impl Sources {
    /// The source of a hostgroup. One that is not there is followed from now on.
    #[must_use]
    pub fn of(&self, hostgroup: u32) -> Option<Arc<Source>> {
        let known = self.all.read().unwrap_or_else(PoisonError::into_inner).get(&hostgroup).cloned();
        known.unwrap_or_else(|| {
            self.want(hostgroup);
            None
        })
    }

    /// The source of a hostgroup, if there is one. Nothing is followed because of this.
    #[must_use]
    pub fn peek(&self, hostgroup: u32) -> Option<Arc<Source>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(&hostgroup).cloned().flatten()
    }

    /// Whether this is the source of a hostgroup still.
    #[must_use]
    pub fn is(&self, hostgroup: u32, source: &Arc<Source>) -> bool {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&hostgroup).is_some_and(|now| now.as_ref().is_some_and(|now| Arc::ptr_eq(now, source)))
    }

    /// The hostgroups whose servers are to be followed, with their sources.
    #[must_use]
    pub fn wanted(&self) -> Vec<(u32, Option<Arc<Source>>)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: Vec<_> = all.iter().map(|(hostgroup, source)| (*hostgroup, source.clone())).collect();
        wanted.sort_unstable_by_key(|(hostgroup, _)| *hostgroup);
        wanted
    }

    /// What is known of them at `now_us`.
    #[must_use]
    pub fn rows(&self, now_us: u64) -> Vec<SourceRow> {
        let row = |(hostgroup, source): (u32, Option<Arc<Source>>)| {
            let source = source.as_deref();
            SourceRow {
                hostgroup,
                server: source.map(|source| source.name().to_owned()),
                is_followed: source.is_some_and(Source::is_followed),
                behind_us: source.and_then(Source::proven_us).map(|proven| now_us.saturating_sub(proven)),
                counters: source.map(Source::counters).unwrap_or_default(),
            }
        };
        self.wanted().into_iter().map(row).collect()
    }

    /// The source of a hostgroup is another one, or none.
    pub fn set(&self, hostgroup: u32, source: Option<Arc<Source>>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(&hostgroup) {
            *place = source;
        }
    }

    /// Waits until another hostgroup is wanted than these many.
    pub fn poll_wanted(&self, known: usize, cx: &Context<'_>) -> Poll<()> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        if all.len() == known { Poll::Pending } else { Poll::Ready(()) }
    }

    #[cold]
    fn want(&self, hostgroup: u32) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= HOSTGROUPS_MAX {
            return;
        }
        all.entry(hostgroup).or_default();
        drop(all);
        if let Some(waker) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn a_hostgroup_is_followed_from_the_first_query_on() {
        let sources = Sources::default();
        assert!(sources.peek(1).is_none() && sources.wanted().is_empty());
        assert_eq!(sources.poll_wanted(0, &context()), Poll::Pending);
        assert!(sources.of(1).is_none());
        assert_eq!(sources.poll_wanted(0, &context()), Poll::Ready(()));
        sources.set(1, Some(Arc::new(Source::new("db:3306"))));
        sources.set(2, Some(Arc::new(Source::new("db:3306"))));
        let source = sources.of(1).unwrap();
        assert_eq!(source.name(), "db:3306");
        assert!(sources.is(1, &source) && !sources.is(2, &source));
        sources.set(1, Some(Arc::new(Source::new("db:3306"))));
        assert!(!sources.is(1, &source), "another one of that name");
        assert!(sources.peek(2).is_none(), "no query wanted it");
    }
}
