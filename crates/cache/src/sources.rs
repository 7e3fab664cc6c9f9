//! Which servers are followed, by the hostgroups that queries come for.
//!
//! A hostgroup is wanted from its first query on, and until none has come for [`IDLE_MAX_US`].

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::{Context, Poll, Waker};

use crate::source::{Counters, Source};

/// Hostgroups whose servers may be followed, at most.
const HOSTGROUPS_MAX: usize = 256;

/// A hostgroup is not wanted any more so long after its last query, in microseconds: five minutes.
const IDLE_MAX_US: u64 = 300_000_000;

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

/// A hostgroup that queries come for.
#[derive(Debug)]
struct Wanted {
    /// Its server.
    source: Option<Arc<Source>>,
    /// A query has come since that was looked at last.
    is_asked: AtomicBool,
    /// When that was found last, in microseconds.
    asked_us: u64,
}

/// The sources of a process, by the hostgroups whose server they are.
#[derive(Debug, Default)]
pub struct Sources {
    all: RwLock<HashMap<u32, Wanted>>,
    /// What follows logs waits for a hostgroup.
    waker: Mutex<Option<Waker>>,
}

impl Sources {
    /// The source of a hostgroup, for a query. One that is not there is followed from now on.
    #[must_use]
    pub fn of(&self, hostgroup: u32) -> Option<Arc<Source>> {
        let known = self.read().get(&hostgroup).map(|wanted| {
            // What is shared is written to once in a while only.
            if !wanted.is_asked.load(Relaxed) {
                wanted.is_asked.store(true, Relaxed);
            }
            wanted.source.clone()
        });
        known.unwrap_or_else(|| {
            self.want(hostgroup);
            None
        })
    }

    /// The source of a hostgroup, if there is one. Nothing is followed because of this.
    #[must_use]
    pub fn peek(&self, hostgroup: u32) -> Option<Arc<Source>> {
        self.read().get(&hostgroup)?.source.clone()
    }

    /// Whether this is the source of a hostgroup still.
    #[must_use]
    pub fn is(&self, hostgroup: u32, source: &Arc<Source>) -> bool {
        let all = self.read();
        let now = all.get(&hostgroup).and_then(|wanted| wanted.source.as_ref());
        now.is_some_and(|now| Arc::ptr_eq(now, source))
    }

    /// The hostgroups whose servers are to be followed, with their sources.
    #[must_use]
    pub fn wanted(&self) -> Vec<(u32, Option<Arc<Source>>)> {
        let all = self.read();
        let mut all: Vec<_> =
            all.iter().map(|(hostgroup, wanted)| (*hostgroup, wanted.source.clone())).collect();
        all.sort_unstable_by_key(|(hostgroup, _)| *hostgroup);
        all
    }

    /// Forgets hostgroups that no query has come for since `IDLE_MAX_US` before `now_us`. To be
    /// called now and then: a query counts from the next call on.
    pub fn sweep(&self, now_us: u64) {
        self.write().retain(|_, wanted| {
            if std::mem::take(wanted.is_asked.get_mut()) {
                wanted.asked_us = now_us;
            }
            now_us.saturating_sub(wanted.asked_us) < IDLE_MAX_US
        });
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
        if let Some(wanted) = self.write().get_mut(&hostgroup) {
            wanted.source = source;
        }
    }

    /// Waits until another hostgroup is wanted than these many.
    pub fn poll_wanted(&self, known: usize, cx: &Context<'_>) -> Poll<()> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        if self.read().len() == known { Poll::Pending } else { Poll::Ready(()) }
    }

    #[cold]
    fn want(&self, hostgroup: u32) {
        let mut all = self.write();
        if all.len() >= HOSTGROUPS_MAX {
            return;
        }
        let wanted = || Wanted { source: None, is_asked: AtomicBool::new(true), asked_us: 0 };
        all.entry(hostgroup).or_insert_with(wanted);
        drop(all);
        if let Some(waker) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u32, Wanted>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u32, Wanted>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
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
    #[test]
    fn a_hostgroup_is_followed_as_long_as_queries_come() {
        let sources = Sources::default();
        let (begun, later) = (7, 7 + IDLE_MAX_US);
        assert!(sources.of(1).is_none());
        sources.set(1, Some(Arc::new(Source::new("db:3306"))));
        sources.sweep(begun);
        assert!(sources.of(2).is_none() && sources.of(1).is_some());
        sources.sweep(begun + 1);
        sources.sweep(later);
        assert_eq!(sources.wanted().len(), 2);
        let asked = sources.of(1).unwrap();
        assert!(sources.peek(2).is_none(), "which is no query");
        sources.sweep(later + 1);
        let wanted: Vec<_> = sources.wanted().into_iter().map(|(hostgroup, _)| hostgroup).collect();
        assert_eq!(wanted, [1]);
        sources.sweep(later + 1 + IDLE_MAX_US);
        assert!(sources.wanted().is_empty() && !sources.is(1, &asked));
        assert!(sources.of(1).is_none(), "it is followed anew");
        assert_eq!(sources.wanted().len(), 1);
    }
}
