//! Servers of clusters: what they say changes the places of all of them, and they know servers that
//! the operator has not named.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

use super::Monitor;
use super::changes::{Places, events};
use crate::cluster::Nodes;
use crate::{Change, Check, Cluster, Event, Finding, Role, Row, Word};

/// The most servers of one cluster that are known only because others of it name them. A
/// replication group has at most nine members, Aurora sixteen.
const DISCOVERED_MAX: usize = 32;

impl<E: Clone + Eq + Hash + Ord> Monitor<E> {
    /// What servers are good for in each cluster, by its writer hostgroup.
    pub fn roles(&self) -> HashMap<(u32, E), Role> {
        let of_row = |row: &Row<E>| {
            let writer = self.plan.clusters.get(*self.cluster_of.get(&row.hostgroup)?)?.writer;
            Some(((writer, row.server.clone()), self.role(writer, &row.server)))
        };
        self.plan.rows.iter().filter_map(of_row).collect()
    }

    /// The servers that are known only because others of their clusters or pairs name them, with
    /// the writer hostgroups of those.
    pub fn discovered(&self) -> Vec<(u32, E)> {
        let rows = self.plan.rows.iter().skip(self.configured);
        rows.filter_map(|row| Some((self.writer_of(row.hostgroup)?, row.server.clone()))).collect()
    }

    /// How far servers are behind by what their clusters say, as far as those say it in time
    /// (Aurora); the writer is not. Of several clusters of a server the one counts where it is
    /// farther behind.
    pub fn lags(&self) -> HashMap<E, Duration> {
        let mut lags = HashMap::new();
        for (server, lag) in self.clusters.values().flat_map(Nodes::lags) {
            let known = lags.entry(server.clone()).or_default();
            *known = lag.max(*known);
        }
        lags
    }

    /// The writer hostgroups of the clusters for which this check asks a server.
    pub fn clusters_asked(&self, server: &E, check: Check) -> BTreeSet<u32> {
        let clusters = self.clusters_of(server).filter(|cluster| cluster.topology.check() == check);
        clusters.map(|cluster| cluster.writer).collect()
    }

    /// What a server is good for in the cluster with this writer hostgroup.
    pub(super) fn role(&self, writer: u32, server: &E) -> Role {
        let cluster = self.cluster_of.get(&writer).and_then(|at| self.plan.clusters.get(*at));
        let Some((cluster, nodes)) = cluster.zip(self.clusters.get(&writer)) else { return Role::Unheard };
        nodes.verdict(cluster, server).role
    }

    /// By how many transactions a server is behind, if those are too many for this hostgroup.
    pub(super) fn behind(&self, hostgroup: u32, server: &E) -> Option<u64> {
        let cluster = self.plan.clusters.get(*self.cluster_of.get(&hostgroup)?)?;
        self.clusters.get(&cluster.writer)?.behind(cluster, hostgroup, server)
    }

    /// How far a server is behind, as its cluster says, if that is too far for this hostgroup.
    pub(super) fn cluster_lag(&self, hostgroup: u32, server: &E) -> Option<Duration> {
        let cluster = self.plan.clusters.get(*self.cluster_of.get(&hostgroup)?)?;
        self.clusters.get(&cluster.writer)?.lag(cluster, hostgroup, server)
    }

    /// The servers of the cluster of a server that are asked in turn.
    fn circle(&self, server: &E) -> BTreeSet<&E> {
        let cluster = self.clusters_of(server).find(|cluster| cluster.topology.check() == Check::Aurora);
        let at = cluster.and_then(|cluster| self.cluster_of.get(&cluster.writer));
        let rows = at.into_iter().flat_map(|at| self.rows_of_cluster(*at));
        rows.filter(|(_, row)| row.in_use).map(|(_, row)| &row.server).collect()
    }

    /// The rows of a cluster, with their indexes.
    fn rows_of_cluster(&self, at: usize) -> impl Iterator<Item = (usize, &Row<E>)> {
        let rows = self.cluster_rows.get(&at).into_iter().flatten();
        rows.filter_map(|at| Some((*at, self.plan.rows.get(*at)?)))
    }

    /// How many servers are asked in turn where this one is.
    pub(super) fn turns(&self, server: &E) -> u32 {
        u32::try_from(self.circle(server).len()).unwrap_or(u32::MAX).max(1)
    }

    /// When a check is made for the first time that could be made at `first`: where servers are
    /// asked in turn, when it is its turn.
    pub(super) fn first_turn(&self, server: &E, check: Check, first: Duration) -> Duration {
        if check != Check::Aurora {
            return first;
        }
        let turn = self.circle(server).into_iter().position(|other| other == server).unwrap_or(0);
        let turn = u32::try_from(turn).unwrap_or(u32::MAX);
        first.saturating_add(self.pace(server, check).interval.saturating_mul(turn))
    }

    pub(super) fn is_clustered(&self, server: &E) -> bool {
        self.clusters_of(server).next().is_some()
    }

    /// The clusters that a server is used in, some of them more than once.
    pub(super) fn clusters_of(&self, server: &E) -> impl Iterator<Item = &Cluster> {
        let rows = self.rows_of(server).filter(|row| row.in_use);
        rows.filter_map(|row| self.plan.clusters.get(*self.cluster_of.get(&row.hostgroup)?))
    }

    /// Whether a server may miss one more question before it is used no more.
    pub(super) fn may_miss(&self, server: &E) -> bool {
        self.clusters_of(server).any(|cluster| {
            let misses = self.clusters.get(&cluster.writer).map_or(0, |nodes| nodes.misses(server));
            misses.saturating_add(1) < cluster.misses.max(1)
        })
    }

    /// Whether a server has answered the last question about its cluster, or was not asked yet.
    fn is_answering(&self, server: &E) -> bool {
        self.clusters_of(server)
            .all(|cluster| self.clusters.get(&cluster.writer).is_none_or(|nodes| nodes.misses(server) == 0))
    }

    /// The clusters are others now, and so may their servers be: what is known of those that stay
    /// goes on to hold.
    pub(super) fn keep_clusters(&mut self, before: &[Cluster]) {
        let kind = |clusters: &[Cluster], writer: u32| {
            clusters.iter().find(|cluster| cluster.writer == writer).map(|cluster| cluster.topology.check())
        };
        let plan = &self.plan;
        self.clusters.retain(|writer, _| {
            let now = kind(&plan.clusters, *writer);
            now.is_some() && now == kind(before, *writer)
        });
        for cluster in &plan.clusters {
            self.clusters.entry(cluster.writer).or_default();
        }
        self.pairs.retain(|hostgroup, _| !self.cluster_of.contains_key(hostgroup));
    }

    /// Keeps the rows of discovered servers whose clusters or pairs still exist. Forgets what gone
    /// servers said.
    pub(super) fn keep_discovered(&mut self, discovered: Vec<Row<E>>) {
        let named: HashSet<(usize, E)> = (self.plan.rows.iter())
            .filter_map(|row| Some((*self.cluster_of.get(&row.hostgroup)?, row.server.clone())))
            .collect();
        for row in discovered {
            let Some(at) = self.cluster_of.get(&row.hostgroup).copied() else { continue };
            let Some(cluster) = self.plan.clusters.get(at) else { continue };
            if !named.contains(&(at, row.server.clone())) {
                self.plan.rows.push(discovered_row(cluster, row.server));
            }
        }
        let found = self.found_rows();
        self.plan.rows.extend(found);
        for (at, cluster) in self.plan.clusters.iter().enumerate() {
            let Some(nodes) = self.clusters.get_mut(&cluster.writer) else { continue };
            let is_here = |row: &Row<E>| row.in_use && self.cluster_of.get(&row.hostgroup) == Some(&at);
            let here: HashSet<&E> =
                self.plan.rows.iter().filter(|row| is_here(row)).map(|row| &row.server).collect();
            nodes.keep(|server| here.contains(server));
        }
    }

    /// The check of a server of a cluster is over: that may change the places of all servers there.
    pub(super) fn conclude_of_cluster(
        &mut self,
        server: &E,
        check: Check,
        (finding, word): (Finding, Option<Word<E>>),
        why: &str,
        now: Duration,
    ) -> Vec<Event<E>> {
        let is_no_news = self.is_no_news(server, check, finding, word.as_ref());
        let Some(mut watch) = self.watches.get(server).cloned() else { return Vec::new() };
        let was_down = watch.down;
        let cause = self.learn(server, check, finding, why, now);
        // Mostly nothing is different.
        if is_no_news && self.watches.get(server).is_none_or(|now| now.means_the_same_as(&watch)) {
            return Vec::new();
        }
        self.swap(server, &mut watch);
        let before = self.places_around(server);
        self.swap(server, &mut watch);
        let is_down = self.watches.get(server).is_some_and(|watch| watch.down);
        let clusters: Vec<Cluster> = self.clusters_of(server).cloned().collect();
        for cluster in &clusters {
            let Some(nodes) = self.clusters.get_mut(&cluster.writer) else { continue };
            if is_down {
                nodes.lose(server);
            } else if cluster.topology.check() == check {
                match &word {
                    Some(word) => nodes.hear(cluster, server, word.clone()),
                    None if finding.is_miss() => nodes.miss(server),
                    None => {}
                }
            }
        }
        if check == Check::Aurora && finding.is_miss() {
            // Another server may know more.
            let others = self.circle(server).into_iter().filter(|other| *other != server);
            let others: Vec<E> = others.filter(|other| self.is_answering(other)).cloned().collect();
            for other in &others {
                self.hurry(other, check, now);
            }
        }
        if was_down && !is_down {
            // What it has said before counts no more.
            for check in Check::OF_CLUSTERS {
                self.hurry(server, check, now);
            }
        }
        if word.is_some() {
            self.discover(&clusters, now);
        }
        let mut after = self.places_around(server);
        let mut events_of_all = Vec::new();
        for (server, before) in &before {
            let after = after.remove(server).unwrap_or_default();
            events_of_all
                .extend(events(server, before, &after, |at, change| self.cause(server, at, change, &cause)));
        }
        for (server, after) in &after {
            let cause = |_, _| "others of its cluster name it".to_owned();
            events_of_all.extend(events(server, &Places::new(), after, cause));
        }
        // A server leaves a place before another one takes it.
        events_of_all.sort_by_key(|event| match event.change {
            Change::Left => 0,
            Change::Joined => 1,
            _ => 2,
        });
        events_of_all
    }

    /// Whether nothing follows for the clusters of a server from this outcome of a check.
    fn is_no_news(&self, server: &E, check: Check, finding: Finding, word: Option<&Word<E>>) -> bool {
        let Some(word) = word else { return !(check.is_of_cluster() && finding.is_miss()) };
        let mut asked = self.clusters_of(server).filter(|cluster| cluster.topology.check() == check);
        asked.all(|cluster| {
            let nodes = self.clusters.get(&cluster.writer);
            nodes.is_some_and(|nodes| nodes.is_no_news(cluster, server, word))
        })
    }

    /// Where a server is, and all others of its clusters.
    pub(super) fn places_around(&self, server: &E) -> BTreeMap<E, Places> {
        let around: HashSet<usize> =
            self.rows_of(server).filter_map(|row| self.cluster_of.get(&row.hostgroup).copied()).collect();
        let servers: HashSet<&E> =
            around.into_iter().flat_map(|at| self.rows_of_cluster(at)).map(|(_, row)| &row.server).collect();
        // With their rows elsewhere, in the order of all rows.
        let all = servers.iter().filter_map(|server| self.rows.get(*server)).flatten().copied();
        let indexes: Vec<usize> = all.collect::<BTreeSet<_>>().into_iter().collect();
        let own: Vec<Row<E>> = indexes.iter().filter_map(|at| self.plan.rows.get(*at)).cloned().collect();
        let mut places: BTreeMap<E, Places> =
            servers.into_iter().map(|server| (server.clone(), Places::new())).collect();
        for mut member in self.place(&own) {
            let Some((row, at)) = own.get(member.row).zip(indexes.get(member.row)) else { continue };
            member.row = *at;
            let health = self.health(member);
            places.entry(row.server.clone()).or_default().insert(member.hostgroup, health);
        }
        places
    }

    /// Why something has changed for a server in a hostgroup: what was seen, or what is thought of
    /// it in its cluster.
    fn cause(&self, server: &E, hostgroup: u32, change: Change, seen: &str) -> String {
        let cluster = self.cluster_of.get(&hostgroup).and_then(|at| self.plan.clusters.get(*at));
        let nodes = cluster.and_then(|cluster| Some((cluster, self.clusters.get(&cluster.writer)?)));
        match (change, nodes) {
            (Change::Joined | Change::Left, Some((cluster, nodes))) => nodes.verdict(cluster, server).why,
            (Change::Behind(behind), _) => format!("it has {behind} transactions to apply"),
            (Change::Lags(lag), Some((cluster, _))) if cluster.topology.check() == Check::Aurora => {
                format!("its cluster says that it lags {} ms", lag.as_millis())
            }
            _ => seen.to_owned(),
        }
    }

    /// Finds servers that are named by others of their cluster, and forgets those that are not any
    /// more.
    fn discover(&mut self, clusters: &[Cluster], now: Duration) {
        let mut is_new = false;
        for cluster in clusters {
            let Some(nodes) = self.clusters.get(&cluster.writer) else { continue };
            let named = nodes.named();
            if named.is_empty() {
                continue;
            }
            let at = self.cluster_of.get(&cluster.writer).copied();
            let rows = || at.into_iter().flat_map(|at| self.rows_of_cluster(at));
            let configured: HashSet<&E> =
                rows().filter(|(at, _)| *at < self.configured).map(|(_, row)| &row.server).collect();
            let ids: HashSet<&str> = configured.iter().filter_map(|server| nodes.id(server)).collect();
            // One that the operator has named otherwise is not another one.
            let is_other = |server: &E| {
                let id = nodes.id(server).or_else(|| nodes.id_as_named(server));
                !configured.contains(server) && !id.is_some_and(|id| ids.contains(id))
            };
            let is_used =
                |server: &E| matches!(nodes.verdict(cluster, server).role, Role::Reader | Role::Writer);
            let known: Vec<E> =
                rows().filter(|(at, _)| *at >= self.configured).map(|(_, row)| row.server.clone()).collect();
            let mut wanted: Vec<E> = (known.iter())
                .filter(|server| is_other(server) && (named.contains(server) || is_used(server)))
                .cloned()
                .collect();
            for server in named.into_iter().filter(|server| is_other(server)) {
                if wanted.len() < DISCOVERED_MAX && !wanted.contains(&server) {
                    wanted.push(server);
                }
            }
            if wanted == known {
                continue;
            }
            is_new = true;
            let mut rows = self.plan.rows.split_off(self.configured);
            rows.retain(|row| self.cluster_of.get(&row.hostgroup).copied() != at);
            rows.extend(wanted.into_iter().map(|server| discovered_row(cluster, server)));
            self.plan.rows.extend(rows);
        }
        if is_new {
            let discovered = self.plan.rows.split_off(self.configured);
            self.keep_discovered(discovered);
            self.follow_rows(now, false);
        }
    }
}

/// The row of a server that the operator has not named.
fn discovered_row<E>(cluster: &Cluster, server: E) -> Row<E> {
    Row {
        hostgroup: cluster.waiting_room(),
        server,
        in_use: true,
        weight: cluster.new_weight,
        max_lag: None,
        lag_when_unknown: Duration::ZERO,
    }
}
