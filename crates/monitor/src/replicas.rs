//! Servers of a pair that the operator has not named: what others say of them, and which of them
//! are found.
//!
//! A primary names each of its replicas by its `server_id`, and knows addresses where it may be
//! reached, some of which may be wrong. The replica is found when the server at one of these
//! addresses says itself that it has this `server_id`. Servers that the operator has named count by
//! their `server_id`, too: one that others call by another name is not found again.
//!
//! A replica that was found is there for reads. It becomes a writer only by a promotion: it was
//! read-only, its primary is none any more, and it says that it takes writes. That it can be
//! written to while it follows a primary says nothing: it was perhaps never made read-only, or was
//! made writable long ago, and no operator has decided that it may be written to. A promotion ends
//! when the replica says that it is read-only, and not with what others say of it: its old primary
//! may still believe that it is followed.
//!
//! In an RDS Multi-AZ cluster every server names all of them ([`Means::Rds`]). They count as those
//! that the operator has named: each takes writes when it says so, as RDS decides who does. A
//! server that has not shown yet that it is of the cluster names no other: its name may lead to
//! another cluster by now. And no server keeps itself known: a server that was taken out may go on
//! to know the cluster that it was part of.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::watch::Watch;
use crate::{Check, Pace};

/// The most addresses where replicas of one pair may be.
const NAMED_MAX: usize = 64;

/// The most replicas of one pair that are found.
const FOUND_MAX: usize = 32;

/// How servers are found, and used then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discover {
    /// Who knows them.
    pub means: Means,
    /// How often servers are asked, and for how long an answer is waited for.
    pub pace: Pace,
    /// Time after which a server is forgotten that is not named any more by those that did: it may
    /// come back.
    pub forget_after: Duration,
    /// The weight of those that are found.
    pub weight: u32,
    /// The lag that they may have; `None`: any, and it is not checked.
    pub max_lag: Option<Duration>,
    /// The lag that one counts as having that does not know.
    pub lag_when_unknown: Duration,
}

/// Who knows servers that the operator has not named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Means {
    /// A primary knows the replicas that are connected to it.
    #[default]
    Replication,
    /// Each server of an RDS Multi-AZ cluster knows all of them, itself among them.
    Rds,
}

impl Means {
    /// The check that asks servers for others.
    pub const fn check(self) -> Check {
        match self {
            Self::Replication => Check::Replicas,
            Self::Rds => Check::Rds,
        }
    }
}

/// What a server has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaWord<E> {
    /// Its own `server_id`.
    pub id: u32,
    /// Whether it follows another server, or tries to; `None`: it has not said so.
    pub follows: Option<bool>,
    /// The replicas that are connected to it, or all servers of its RDS cluster; none if it is part
    /// of none.
    pub followers: Vec<Follower<E>>,
}

/// A server, as another one sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower<E> {
    /// Its `server_id`.
    pub id: u32,
    /// Where it may be reached.
    pub servers: Vec<E>,
}

/// What is known of the servers of one pair.
#[derive(Debug, Clone)]
pub(crate) struct Family<E> {
    means: Means,
    /// The `server_id` of each server that was asked; `None`: it has not said it yet.
    ids: BTreeMap<E, Option<u32>>,
    /// Where servers may be that others name.
    named: BTreeMap<E, Named<E>>,
    /// The servers that take writes and answer.
    primaries: BTreeSet<E>,
    /// Servers that were found, in their order.
    found: Vec<E>,
}

/// A server that was named by another one.
#[derive(Debug, Clone)]
struct Named<E> {
    /// What its `server_id` may be.
    ids: BTreeSet<u32>,
    /// The one that has named it last.
    by: E,
    /// Since when no server names it any more.
    missing: Option<Duration>,
    /// Whether it has ever said that it is read-only.
    was_read_only: bool,
    /// What it has said last of that.
    read_only: Option<bool>,
    /// Whether it has said since that it follows another server.
    follows: Option<bool>,
    /// Whether it has said since that it takes writes, and its primary was none any more.
    promoted: bool,
}

impl<E: Ord> Named<E> {
    const fn new(ids: BTreeSet<u32>, by: E) -> Self {
        Self { ids, by, missing: None, was_read_only: false, read_only: None, follows: None, promoted: false }
    }

    /// Whether it is for another primary than `server` to say that it is gone.
    fn is_for_another(&self, server: &E, primaries: &BTreeSet<E>) -> bool {
        self.by != *server && primaries.contains(&self.by)
    }
}

impl<E: Clone + Ord> Family<E> {
    /// Nothing is known yet.
    pub(crate) fn new(means: Means) -> Self {
        let (ids, named) = (BTreeMap::new(), BTreeMap::new());
        Self { means, ids, named, primaries: BTreeSet::new(), found: Vec::new() }
    }

    /// Whether it counts what a server says of others: of replicas, if it is a primary; of its RDS
    /// cluster, if it is part of that.
    fn counts(&self, server: &E, word: &ReplicaWord<E>) -> bool {
        match self.means {
            Means::Replication => self.primaries.contains(server),
            Means::Rds => {
                self.is_member(server, word.id) && word.followers.iter().any(|one| one.id == word.id)
            }
        }
    }

    /// Whether a server that says that it has this `server_id` is one that the operator has named,
    /// or that was found by it and that others still name.
    fn is_member(&self, server: &E, id: u32) -> bool {
        let is_known = |named: &Named<E>| {
            self.found.contains(server) && named.ids.contains(&id) && named.missing.is_none()
        };
        self.named.get(server).is_none_or(is_known)
    }

    /// A server has answered.
    pub(crate) fn hear(&mut self, server: &E, word: ReplicaWord<E>, forget_after: Duration, now: Duration) {
        self.ids.insert(server.clone(), Some(word.id));
        if let Some(named) = self.named.get_mut(server) {
            named.follows = word.follows;
        }
        if !self.counts(server, &word) {
            return;
        }
        let is_replication = self.means == Means::Replication;
        let mut here: BTreeMap<E, BTreeSet<u32>> = BTreeMap::new();
        for Follower { id, servers } in word.followers {
            for at in servers.into_iter().filter(|at| at != server) {
                here.entry(at).or_default().insert(id);
            }
        }
        let primaries = &self.primaries;
        self.named.retain(|at, named| {
            if here.contains_key(at) || is_replication && primaries.contains(at) {
                named.missing = None;
                return true;
            }
            let is_for_others =
                if is_replication { named.is_for_another(server, primaries) } else { at == server };
            if is_for_others {
                return true;
            }
            now.saturating_sub(*named.missing.get_or_insert(now)) < forget_after
        });
        for (at, ids) in here {
            if let Some(named) = self.named.get_mut(&at) {
                if !named.promoted || !is_replication {
                    (named.ids, named.by) = (ids, server.clone());
                }
            } else if self.named.len() < NAMED_MAX {
                self.named.insert(at, Named::new(ids, server.clone()));
            }
        }
    }

    /// A server has not answered. If it is the one that names replicas, those may have lost it as
    /// well.
    pub(crate) fn miss(&mut self, server: &E) {
        self.ids.entry(server.clone()).or_default();
        if self.means == Means::Replication && self.primaries.contains(server) {
            for named in self.named.values_mut() {
                if !named.is_for_another(server, &self.primaries) {
                    named.missing = None;
                }
            }
        }
    }

    /// Whether nothing follows from a server having said this.
    pub(crate) fn is_no_news(&self, server: &E, word: &ReplicaWord<E>) -> bool {
        !self.counts(server, word)
            && self.ids.get(server) == Some(&Some(word.id))
            && self.named.get(server).is_none_or(|named| named.follows == word.follows)
    }

    /// Takes note of what servers say of themselves. The servers that are primaries now and were
    /// not before.
    pub(crate) fn look<'a>(&mut self, servers: &[E], watch: impl Fn(&E) -> Option<&'a Watch>) -> Vec<E> {
        let writes = |server: &E| watch(server).is_some_and(Watch::writes);
        let is_promoted = |at: &E| self.named.get(at).is_some_and(|named| named.promoted);
        let can_lead =
            |server: &&E| self.means == Means::Rds || !self.found.contains(server) || is_promoted(server);
        let mut primaries: BTreeSet<E> =
            servers.iter().filter(can_lead).filter(|server| writes(server)).cloned().collect();
        let lead = primaries.clone();
        let bound: &[E] = if self.means == Means::Replication { &self.found } else { &[] };
        for at in bound {
            let Some(named) = self.named.get_mut(at) else { continue };
            let said = |server: &E| watch(server).and_then(Watch::said);
            if said(at) != named.read_only {
                (named.read_only, named.follows) = (said(at), None);
            }
            let has_handed_over = || named.follows != Some(true) || said(&named.by) == Some(true);
            match named.read_only {
                Some(true) => (named.was_read_only, named.promoted) = (true, false),
                Some(false) if named.was_read_only && !lead.contains(&named.by) && has_handed_over() => {
                    named.promoted = true;
                }
                _ => {}
            }
            if named.promoted && writes(at) {
                primaries.insert(at.clone());
            }
        }
        let new = primaries.difference(&self.primaries).cloned().collect();
        self.primaries = primaries;
        new
    }

    /// Finds servers, and forgets those that are not named any more. `configured` are the servers
    /// that the operator has named, `asked` those of them that should have answered first. Whether
    /// others are found now than before.
    pub(crate) fn find(&mut self, configured: &[E], asked: &[E]) -> bool {
        self.ids.retain(|at, _| self.named.contains_key(at) || configured.contains(at));
        // Otherwise one of them would be found by another name.
        if !asked.iter().all(|server| self.ids.contains_key(server)) {
            return false;
        }
        let id_of = |server: &E| self.ids.get(server).copied().flatten();
        let mut taken: BTreeSet<u32> = configured.iter().filter_map(id_of).collect();
        let mut found = Vec::new();
        let known = self.found.iter().filter(|at| self.named.contains_key(at));
        let new = self.named.keys().filter(|at| !self.found.contains(at));
        for at in known.chain(new) {
            let is_it = |id: &u32| self.named.get(at).is_some_and(|named| named.ids.contains(id));
            if found.len() < FOUND_MAX && id_of(at).filter(is_it).is_some_and(|id| taken.insert(id)) {
                found.push(at.clone());
            }
        }
        let is_other = found != self.found;
        self.found = found;
        is_other
    }

    /// Only servers stay known that `stays` is true for, or that others name; none of these is
    /// found that `stays` is true for.
    pub(crate) fn keep(&mut self, stays: impl Fn(&E) -> bool) {
        self.named.retain(|at, _| !stays(at));
        self.found.retain(|at| self.named.contains_key(at));
        self.ids.retain(|at, _| stays(at) || self.named.contains_key(at));
    }

    /// Whether a server would be promoted if it said that it follows no other: its primary is lost,
    /// and a promotion has it say so at any moment.
    pub(crate) fn awaits(&self, server: &E) -> bool {
        let awaits = |named: &Named<E>| {
            named.was_read_only
                && !named.promoted
                && (named.read_only, named.follows) == (Some(false), Some(true))
                && !self.primaries.contains(&named.by)
        };
        self.holds_back(server) && self.named.get(server).is_some_and(awaits)
    }

    /// Whether a server was found and is no writer, whatever it says.
    pub(crate) fn holds_back(&self, server: &E) -> bool {
        self.means == Means::Replication
            && self.found.contains(server)
            && self.named.get(server).is_some_and(|named| !named.promoted)
    }

    /// Where servers may be that the operator has not named.
    pub(crate) fn named(&self) -> impl Iterator<Item = &E> {
        self.named.keys()
    }

    /// Those that were found.
    pub(crate) fn found(&self) -> &[E] {
        &self.found
    }

    /// Whether a server takes writes and answers.
    pub(crate) fn is_primary(&self, server: &E) -> bool {
        self.primaries.contains(server)
    }

    /// Who knows servers that the operator has not named.
    pub(crate) const fn means(&self) -> Means {
        self.means
    }

    /// The `server_id` of a server.
    pub(crate) fn id(&self, server: &E) -> Option<u32> {
        self.ids.get(server).copied()?
    }
}
