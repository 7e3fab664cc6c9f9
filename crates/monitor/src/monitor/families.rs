//! Pairs whose servers are found: what one server says changes who else is watched, and who is in
//! use.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;
use std::time::Duration;

use super::Monitor;
use super::changes::{Places, events};
use crate::replicas::Family;
use crate::watch::Watch;
use crate::{Change, Check, Discover, Event, Finding, Means, Pair, ReplicaWord, Row, Word};

impl<E: Clone + Eq + Hash + Ord> Monitor<E> {
    /// The writer hostgroup of the pair or cluster in which a server may be or is that the operator
    /// has not named.
    pub fn found_in(&self, server: &E) -> Option<u32> {
        let rows = self.rows.get(server).into_iter().flatten();
        let found = rows.filter(|at| **at >= self.configured).filter_map(|at| self.plan.rows.get(*at));
        let mut writers = found.filter_map(|row| self.writer_of(row.hostgroup));
        let candidate = || self.candidates.get(server).copied().filter(|_| !self.rows.contains_key(server));
        writers.next().or_else(candidate)
    }

    /// Whether a server may be one of a pair that the operator has not named, and has not been
    /// found to be.
    pub fn is_candidate(&self, server: &E) -> bool {
        self.candidates.contains_key(server) && !self.rows.contains_key(server)
    }

    /// The writer hostgroup of the pair or cluster that this one is part of.
    pub(super) fn writer_of(&self, hostgroup: u32) -> Option<u32> {
        let cluster = self.cluster_of.get(&hostgroup).and_then(|at| self.plan.clusters.get(*at));
        let pair = || self.pairs.get(&hostgroup).map(|pair| pair.writer);
        cluster.map(|cluster| cluster.writer).or_else(pair)
    }

    /// How servers of the pair of a hostgroup are found, with the pair.
    fn discovering(&self, hostgroup: u32) -> Option<(Pair, Discover)> {
        let pair = self.pairs.get(&hostgroup)?;
        Some((*pair, pair.discover?))
    }

    /// How others are found where a server is, or may be.
    pub(super) fn discover_at(&self, server: &E) -> Option<Discover> {
        let rows = self.rows_of(server).filter(|row| row.in_use).map(|row| row.hostgroup);
        let mut hostgroups = rows.chain(self.candidates.get(server).copied());
        hostgroups.find_map(|hostgroup| self.discovering(hostgroup)).map(|(_, discover)| discover)
    }

    /// The writer hostgroups of the pairs where others are found and a server is, or may be.
    fn families_of(&self, server: &E) -> BTreeSet<u32> {
        let rows = self.rows_of(server).filter(|row| row.in_use).map(|row| row.hostgroup);
        let hostgroups = rows.chain(self.candidates.get(server).copied());
        hostgroups.filter_map(|hostgroup| self.discovering(hostgroup)).map(|(pair, _)| pair.writer).collect()
    }

    pub(super) fn is_of_family(&self, server: &E) -> bool {
        !self.families.is_empty() && !self.families_of(server).is_empty()
    }

    /// Whether a server was found and is no writer, whatever it says.
    pub(super) fn is_held_back(&self, server: &E) -> bool {
        let rows = self.rows.get(server).into_iter().flatten();
        rows.filter_map(|at| Some((*at, self.plan.rows.get(*at)?))).all(|(at, row)| {
            let writer = self.pairs.get(&row.hostgroup).map(|pair| pair.writer);
            let family = writer.and_then(|writer| self.families.get(&writer));
            at >= self.configured && family.is_some_and(|family| family.holds_back(server))
        })
    }

    /// The pairs are others now, and so may their servers be: what is known of those that stay goes
    /// on to hold.
    pub(super) fn keep_families(&mut self) {
        let discovering = (self.plan.pairs.iter())
            .filter(|pair| self.pairs.get(&pair.writer).is_some_and(|other| other == *pair))
            .filter_map(|pair| Some((pair.writer, pair.discover?.means)));
        let mut before = std::mem::take(&mut self.families);
        let mut family = |(writer, means)| {
            let known = before.remove(&writer).filter(|family| family.means() == means);
            (writer, known.unwrap_or_else(|| Family::new(means)))
        };
        self.families = discovering.map(&mut family).collect();
        let named: HashSet<&E> = self.plan.rows.iter().take(self.configured).map(|row| &row.server).collect();
        for family in self.families.values_mut() {
            family.keep(|server| named.contains(server));
        }
    }

    /// The rows of servers that were found.
    pub(super) fn found_rows(&self) -> Vec<Row<E>> {
        let of_family = |(writer, family): (&u32, &Family<E>)| {
            let (pair, discover) = self.discovering(*writer)?;
            let row = move |server: &E| Row {
                hostgroup: pair.reader,
                server: server.clone(),
                in_use: true,
                weight: discover.weight,
                max_lag: discover.max_lag,
                lag_when_unknown: discover.lag_when_unknown,
            };
            Some(family.found().iter().map(row).collect::<Vec<_>>())
        };
        self.families.iter().filter_map(of_family).flatten().collect()
    }

    /// Goes on with servers that may be found: those that are new are asked who they are, the
    /// others not any more.
    pub(super) fn follow_candidates(&mut self, now: Duration) {
        let named = |(writer, family): (&u32, &Family<E>)| {
            let named: Vec<(E, u32)> = family.named().map(|server| (server.clone(), *writer)).collect();
            named
        };
        let mut candidates: BTreeMap<E, u32> = self.families.iter().flat_map(named).collect();
        candidates.retain(|server, _| !self.rows.contains_key(server));
        candidates.extend(self.unidentified_unused());
        let before = std::mem::replace(&mut self.candidates, candidates);
        for server in before.keys().filter(|server| !self.candidates.contains_key(*server)) {
            if !self.is_in_use(server) {
                self.schedule.forget(server);
                continue;
            }
            for check in Check::OF_FAMILIES {
                if !self.wants(server, check) {
                    self.schedule.stop(server, check);
                }
            }
        }
        let servers: Vec<E> = self.candidates.keys().cloned().collect();
        for server in &servers {
            for check in Check::OF_FAMILIES {
                match (self.wants(server, check), self.schedule.has(server, check)) {
                    (true, false) => self.schedule.plan(server, check, now),
                    (false, true) => self.schedule.stop(server, check),
                    _ => {}
                }
            }
        }
    }

    /// Servers that are not in use in such a pair and have not told their id yet: a primary may
    /// know them by other names.
    fn unidentified_unused(&self) -> Vec<(E, u32)> {
        if self.families.is_empty() {
            return Vec::new();
        }
        let unknown = |row: &Row<E>| {
            let writer = self.pairs.get(&row.hostgroup)?.writer;
            let is_here =
                |row: &Row<E>| self.pairs.get(&row.hostgroup).is_some_and(|pair| pair.writer == writer);
            let is_used = self.rows_of(&row.server).any(|row| row.in_use && is_here(row));
            let is_known = self.families.get(&writer)?.id(&row.server).is_some();
            let is_asked = !is_used && !is_known && !self.is_clustered(&row.server);
            is_asked.then(|| (row.server.clone(), writer))
        };
        let rows = self.plan.rows.iter().take(self.configured).filter(|row| !row.in_use);
        rows.filter_map(unknown).collect()
    }

    /// A check of a server of such a pair, or of one that may be, is over: that may change the
    /// places of all of them.
    pub(super) fn conclude_of_family(
        &mut self,
        server: &E,
        check: Check,
        (finding, word): (Finding, Option<Word<E>>),
        why: &str,
        now: Duration,
    ) -> Vec<Event<E>> {
        let writers = self.families_of(server);
        let watch = self.watches.get(server).cloned();
        let cause = self.learn(server, check, finding, why, now);
        if check == Check::ReadOnly {
            self.ask_whom_it_follows(server, &writers, now);
        }
        let is_same =
            |watch: &Watch| self.watches.get(server).is_some_and(|now| now.means_the_same_as(watch));
        let is_no_news = match &word {
            Some(Word::Replicas(word)) => (writers.iter())
                .filter_map(|writer| self.families.get(writer))
                .all(|family| family.is_no_news(server, word)),
            _ => !check.is_of_family() || finding == Finding::Void,
        };
        if is_no_news && watch.as_ref().is_none_or(is_same) {
            return Vec::new();
        }
        let mut watch = watch;
        self.swap_with(server, watch.as_mut());
        let before = self.places_of_families(&writers);
        self.swap_with(server, watch.as_mut());
        for writer in &writers {
            let forget_after = self.discovering(*writer).map(|(_, discover)| discover.forget_after);
            let told = match &word {
                Some(Word::Replicas(word)) if !is_no_news => Some(self.without_named(word.clone())),
                _ => None,
            };
            if let Some((family, forget_after)) = self.families.get_mut(writer).zip(forget_after)
                && !is_no_news
            {
                match told {
                    Some(word) => family.hear(server, word, forget_after, now),
                    None => family.miss(server),
                }
            }
            self.settle(*writer, now);
        }
        let mut after = self.places_of_families(&writers);
        let mut all = Vec::new();
        for (other, before) in &before {
            let after = after.remove(other).unwrap_or_default();
            let cause = |_, change| self.family_cause(&writers, other, change, (server, check, &cause));
            all.extend(events(other, before, &after, cause));
        }
        for (other, after) in &after {
            let id = writers.iter().find_map(|writer| self.families.get(writer)?.id(other));
            let cause =
                |_, _| format!("{} names it: server_id={}", self.namer(&writers), id.unwrap_or_default());
            all.extend(events(other, &Places::new(), after, cause));
        }
        // A server leaves a place before another one takes it.
        all.sort_by_key(|event| match event.change {
            Change::Left => 0,
            Change::Joined => 1,
            _ => 2,
        });
        all
    }

    /// The followers that a server has named, without those that the operator has named anywhere:
    /// these are where the configuration has them.
    fn without_named(&self, mut word: ReplicaWord<E>) -> ReplicaWord<E> {
        let is_named = |at: &E| {
            let rows = self.rows.get(at).into_iter().flatten();
            rows.min().is_some_and(|row| *row < self.configured)
        };
        for follower in &mut word.followers {
            follower.servers.retain(|at| !is_named(at));
        }
        word
    }

    fn swap_with(&mut self, server: &E, other: Option<&mut Watch>) {
        if let Some(other) = other {
            self.swap(server, other);
        }
    }

    /// The servers of a pair, each once, with whether the operator has named it and whether it is
    /// to be used.
    fn servers_of(&self, writer: u32) -> BTreeMap<&E, (bool, bool)> {
        let mut servers = BTreeMap::new();
        for (at, row) in self.plan.rows.iter().enumerate() {
            if self.pairs.get(&row.hostgroup).is_some_and(|pair| pair.writer == writer) {
                let (configured, in_use) = servers.entry(&row.server).or_insert((false, false));
                *configured |= at < self.configured;
                *in_use |= row.in_use;
            }
        }
        servers
    }

    fn places_of_families(&self, writers: &BTreeSet<u32>) -> BTreeMap<E, Places> {
        let servers = writers.iter().flat_map(|writer| self.servers_of(*writer).into_keys());
        servers.map(|server| (server.clone(), self.places(server))).collect()
    }

    /// Draws the consequences of what is known now: who is a primary, and which replicas are found.
    fn settle(&mut self, writer: u32, now: Duration) {
        let Some(mut family) = self.families.remove(&writer) else { return };
        let servers = self.servers_of(writer);
        let in_use: Vec<E> =
            servers.iter().filter(|(_, (_, in_use))| *in_use).map(|(server, _)| (*server).clone()).collect();
        let configured: Vec<E> =
            servers.iter().filter(|(_, (named, _))| *named).map(|(server, _)| (*server).clone()).collect();
        let check = family.means().check();
        let asked: Vec<E> = configured.iter().filter(|server| self.wants(server, check)).cloned().collect();
        let awaited: Vec<E> = in_use.iter().filter(|server| family.awaits(server)).cloned().collect();
        let mut new = family.look(&in_use, |server| self.watches.get(server));
        new.extend(
            in_use.iter().filter(|server| family.awaits(server) && !awaited.contains(server)).cloned(),
        );
        let is_other = family.find(&configured, &asked);
        self.families.insert(writer, family);
        if is_other {
            let found = self.plan.rows.split_off(self.configured);
            self.keep_discovered(found);
            self.follow_rows(now, false);
        } else {
            self.follow_candidates(now);
        }
        for server in new {
            self.hurry(&server, check, now);
        }
    }

    /// Asks a server at once that may have been promoted.
    fn ask_whom_it_follows(&mut self, server: &E, writers: &BTreeSet<u32>, now: Duration) {
        let mut families = writers.iter().filter_map(|writer| self.families.get(writer));
        if families.any(|family| family.awaits(server)) {
            self.hurry(server, Check::Replicas, now);
        }
    }

    /// Who names servers of one of these pairs that the operator has not named.
    fn namer(&self, writers: &BTreeSet<u32>) -> &'static str {
        let mut families = writers.iter().filter_map(|writer| self.families.get(writer));
        if families.any(|family| family.means() == Means::Rds) { "its cluster" } else { "its primary" }
    }

    /// Why something has changed for a server of such a pair when a check of one of them was over.
    fn family_cause(
        &self,
        writers: &BTreeSet<u32>,
        server: &E,
        change: Change,
        (asked, check, seen): (&E, Check, &str),
    ) -> String {
        let mut families = writers.iter().filter_map(|writer| self.families.get(writer));
        let is_move = matches!(change, Change::Joined | Change::Left);
        if is_move && !self.rows.contains_key(server) {
            return format!("{} does not name it any more", self.namer(writers));
        }
        if server == asked && !(is_move && check.is_of_family()) {
            return seen.to_owned();
        }
        if families.any(|family| family.is_primary(server)) {
            return "it says read_only=0, and its primary is none any more".to_owned();
        }
        "it follows a primary".to_owned()
    }
}
