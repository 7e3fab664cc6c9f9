//! Which rows are in use in which hostgroups.
//!
//! A row of a hostgroup that is part of a pair says that a server belongs to the pair, and how it
//! is to be used there. Which of the two hostgroups it is in is for the server to say: one that is
//! not read-only is in the writer hostgroup, and in the reader hostgroup too if writers are
//! readers; one that is read-only is in the reader hostgroup. As long as it has said nothing it is
//! where its rows are.
//!
//! A row of a hostgroup that is part of a cluster says the same about the cluster; its servers
//! together say which of its hostgroups each of them is in ([`seats`](crate::cluster::seats)).

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::cluster::{Candidate, seats};
use crate::{Cluster, Pair, Plan, Role, Row};

/// A row that is in use in a hostgroup, its own or the other one of its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member {
    /// The hostgroup that it is used in.
    pub hostgroup: u32,
    /// The index of the row.
    pub row: usize,
}

/// The members of all hostgroups, in the order of `rows`, under a plan whose own rows do not
/// matter; `read_only` is what a server has said, `role` what a server is good for in the cluster
/// with this writer hostgroup. Takes time in proportion to the number of rows.
pub fn place<E: Clone + Eq + Hash + Ord>(
    rows: &[Row<E>],
    plan: &Plan<E>,
    read_only: impl Fn(&E) -> Option<bool>,
    role: impl Fn(u32, &E) -> Role,
) -> Vec<Member> {
    place_in(
        rows,
        &Groups::of(plan, &pairs_by_hostgroup(&plan.pairs), &clusters_by_hostgroup(&plan.clusters)),
        read_only,
        role,
    )
}

/// What hostgroups are part of, made once for many places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Groups<'a> {
    /// The pair of each hostgroup.
    pub(crate) pair_of: &'a HashMap<u32, Pair>,
    /// The index of the cluster of each hostgroup.
    pub(crate) cluster_of: &'a HashMap<u32, usize>,
    /// The clusters.
    pub(crate) clusters: &'a [Cluster],
    /// Whether writers of pairs are readers, too.
    pub(crate) writer_is_also_reader: bool,
}

impl<'a> Groups<'a> {
    /// Those of a plan, with the parts that are found in these.
    pub(crate) fn of<E>(
        plan: &'a Plan<E>,
        pair_of: &'a HashMap<u32, Pair>,
        cluster_of: &'a HashMap<u32, usize>,
    ) -> Self {
        let writer_is_also_reader = plan.settings.writer_is_also_reader;
        Self { pair_of, cluster_of, clusters: &plan.clusters, writer_is_also_reader }
    }
}

/// The same with what hostgroups are part of.
pub(crate) fn place_in<E: Clone + Eq + Hash + Ord>(
    rows: &[Row<E>],
    groups: &Groups<'_>,
    read_only: impl Fn(&E) -> Option<bool>,
    role: impl Fn(u32, &E) -> Role,
) -> Vec<Member> {
    let Groups { pair_of, cluster_of, .. } = *groups;
    // The rows that a server has in each hostgroup of a pair or cluster.
    let mut own: HashMap<(u32, &E), usize> = HashMap::new();
    let is_of_several =
        |row: &&Row<E>| pair_of.contains_key(&row.hostgroup) || cluster_of.contains_key(&row.hostgroup);
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| is_of_several(row)) {
        own.entry((row.hostgroup, &row.server)).or_insert(at);
    }
    let mut seated = seated(rows, groups, &own, role);
    let mut placed: HashSet<(u32, &E)> = HashSet::new();
    let mut members = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let row_in = |hostgroup| own.get(&(hostgroup, &row.server)).copied().unwrap_or(at);
        if let Some(cluster) = cluster_of.get(&row.hostgroup) {
            // With its first row, all its places.
            let seats = seated.remove(&(*cluster, &row.server)).unwrap_or_default();
            members.extend(seats.into_iter().map(|hostgroup| Member { hostgroup, row: row_in(hostgroup) }));
            continue;
        }
        let known = pair_of.get(&row.hostgroup).zip(read_only(&row.server));
        let Some((pair, read_only)) = known else {
            members.push(Member { hostgroup: row.hostgroup, row: at });
            continue;
        };
        if !placed.insert((pair.writer, &row.server)) {
            continue;
        }
        if !read_only {
            members.push(Member { hostgroup: pair.writer, row: row_in(pair.writer) });
        }
        if read_only || groups.writer_is_also_reader {
            members.push(Member { hostgroup: pair.reader, row: row_in(pair.reader) });
        }
    }
    members
}

/// The hostgroups of each server of each cluster.
fn seated<'a, E: Clone + Eq + Hash + Ord>(
    rows: &'a [Row<E>],
    groups: &Groups<'_>,
    own: &HashMap<(u32, &'a E), usize>,
    role: impl Fn(u32, &E) -> Role,
) -> HashMap<(usize, &'a E), Vec<u32>> {
    let mut by_cluster: HashMap<usize, Vec<Candidate<'a, E>>> = HashMap::new();
    let mut known: HashMap<(usize, &E), usize> = HashMap::new();
    for row in rows {
        let Some(at) = groups.cluster_of.get(&row.hostgroup).copied() else { continue };
        let Some(cluster) = groups.clusters.get(at) else { continue };
        let candidates = by_cluster.entry(at).or_default();
        if let Some(nth) = known.get(&(at, &row.server)).copied() {
            if let Some(candidate) = candidates.get_mut(nth) {
                candidate.in_use |= row.in_use;
            }
            continue;
        }
        known.insert((at, &row.server), candidates.len());
        let as_writer = own.get(&(cluster.writer, &row.server)).and_then(|at| rows.get(*at)).unwrap_or(row);
        candidates.push(Candidate {
            server: &row.server,
            role: role(cluster.writer, &row.server),
            home: row.hostgroup,
            weight: as_writer.weight,
            in_use: row.in_use,
            may_write: as_writer.in_use,
        });
    }
    let mut seated = HashMap::new();
    for (at, candidates) in &by_cluster {
        let Some(cluster) = groups.clusters.get(*at) else { continue };
        let hostgroups = seats(cluster, candidates).into_iter();
        seated.extend(candidates.iter().zip(hostgroups).map(|(one, seats)| ((*at, one.server), seats)));
    }
    seated
}

/// The index of the cluster that each hostgroup is part of; of several the first.
pub(crate) fn clusters_by_hostgroup(clusters: &[Cluster]) -> HashMap<u32, usize> {
    let mut by_hostgroup = HashMap::new();
    for (at, cluster) in clusters.iter().enumerate() {
        for hostgroup in cluster.hostgroups() {
            by_hostgroup.entry(hostgroup).or_insert(at);
        }
    }
    by_hostgroup
}

/// The pair that each hostgroup is part of; of several the first.
pub(crate) fn pairs_by_hostgroup(pairs: &[Pair]) -> HashMap<u32, Pair> {
    let mut by_hostgroup = HashMap::new();
    for pair in pairs {
        by_hostgroup.entry(pair.writer).or_insert(*pair);
        by_hostgroup.entry(pair.reader).or_insert(*pair);
    }
    by_hostgroup
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Pace, Settings};

    const PAIRS: [Pair; 1] = [Pair { writer: 10, reader: 20, discover: None }];

    fn rows(rows: &[(u32, &'static str)]) -> Vec<Row<&'static str>> {
        let row = |&(hostgroup, server)| Row {
            hostgroup,
            server,
            in_use: true,
            weight: 1,
            max_lag: None,
            lag_when_unknown: Duration::ZERO,
        };
        rows.iter().map(row).collect()
    }

    fn plan(writer_is_also_reader: bool) -> Plan<&'static str> {
        let pace = Pace { interval: Duration::ZERO, limit: Duration::ZERO };
        let settings = Settings {
            connect: pace,
            ping: pace,
            read_only: pace,
            lag: pace,
            ping_failures: 1,
            read_only_timeouts: 1,
            lag_checks: 1,
            writer_is_also_reader,
        };
        Plan { settings, rows: Vec::new(), pairs: PAIRS.to_vec(), clusters: Vec::new() }
    }

    fn placed(from: &[(u32, &'static str)], also: bool, said: &[(&str, bool)]) -> Vec<(u32, usize)> {
        let said =
            |server: &&str| said.iter().find(|(name, _)| name == server).map(|(_, read_only)| *read_only);
        let members = place(&rows(from), &plan(also), said, |_, _| Role::Unheard);
        members.iter().map(|member| (member.hostgroup, member.row)).collect()
    }

    #[test]
    fn who_has_said_nothing_is_where_its_rows_are() {
        let from = [(10, "a"), (20, "a"), (20, "b"), (30, "a")];
        assert_eq!(placed(&from, true, &[]), [(10, 0), (20, 1), (20, 2), (30, 3)]);
    }

    #[test]
    fn servers_are_where_they_say() {
        let from = [(10, "a"), (20, "b"), (30, "a")];
        let said = [("a", false), ("b", true)];
        assert_eq!(placed(&from, false, &said), [(10, 0), (20, 1), (30, 2)]);
        assert_eq!(placed(&from, true, &said), [(10, 0), (20, 0), (20, 1), (30, 2)]);
        // They change places.
        let said = [("a", true), ("b", false)];
        assert_eq!(placed(&from, false, &said), [(20, 0), (10, 1), (30, 2)]);
        // Both write, or none.
        assert_eq!(placed(&from, false, &[("a", false), ("b", false)]), [(10, 0), (10, 1), (30, 2)]);
        assert_eq!(placed(&from, false, &[("a", true), ("b", true)]), [(20, 0), (20, 1), (30, 2)]);
    }

    #[test]
    fn of_two_rows_each_hostgroup_has_its_own() {
        let from = [(20, "a"), (10, "a")];
        assert_eq!(placed(&from, true, &[("a", false)]), [(10, 1), (20, 0)]);
        assert_eq!(placed(&from, true, &[("a", true)]), [(20, 0)]);
        assert_eq!(placed(&from, false, &[("a", false)]), [(10, 1)]);
    }
}
