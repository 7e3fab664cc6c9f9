//! From what servers are good for to the hostgroups that they are in.
//!
//! The same servers with the same roles get the same places whatever was before, so that all
//! proxies in front of a cluster have the same writer: among those that take writes the one with
//! the greatest weight, and among equals the last by name, as in ProxySQL.

use std::cmp::Reverse;

use super::{AlsoRead, Cluster, Role};

/// A server of a cluster that wants places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a, E> {
    pub(crate) server: &'a E,
    pub(crate) role: Role,
    /// The hostgroup where the operator has put it.
    pub(crate) home: u32,
    pub(crate) weight: u32,
    /// Whether the operator wants it to be used at all.
    pub(crate) in_use: bool,
    /// Whether the operator wants it to be used in the writer hostgroup.
    pub(crate) may_write: bool,
}

/// The hostgroups that each candidate is in.
pub(crate) fn seats<E: Ord>(cluster: &Cluster, candidates: &[Candidate<'_, E>]) -> Vec<Vec<u32>> {
    let is_writer = |candidate: &Candidate<'_, E>| match candidate.role {
        Role::Writer => true,
        // As long as it has said nothing, it is what its row says.
        Role::Unheard => {
            let backup = cluster.spare.map(|spare| spare.backup_writer);
            candidate.home == cluster.writer || Some(candidate.home) == backup
        }
        Role::Reader | Role::Out => false,
    };
    let mut writers: Vec<usize> = (0..candidates.len())
        .filter(|at| candidates.get(*at).is_some_and(|one| one.in_use && one.may_write && is_writer(one)))
        .collect();
    writers.sort_by_key(|at| {
        let candidate = candidates.get(*at);
        Reverse(candidate.map(|one| (one.role == Role::Writer, one.weight, one.server)))
    });
    writers.truncate(cluster.max_writers);
    let seat = |(at, candidate): (usize, &Candidate<'_, E>)| {
        if !candidate.in_use {
            return drained(cluster, candidate);
        }
        if is_writer(candidate) {
            // One that is to be drained as a writer finishes what it has there.
            let elected = writers.contains(&at) || !candidate.may_write;
            return writer_seats(cluster, elected);
        }
        match candidate.role {
            Role::Reader => vec![cluster.reader],
            Role::Unheard => vec![candidate.home],
            Role::Out | Role::Writer => cluster.spare.iter().map(|spare| spare.offline).collect(),
        }
    };
    candidates.iter().enumerate().map(seat).collect()
}

/// Where a server is that takes writes.
fn writer_seats(cluster: &Cluster, elected: bool) -> Vec<u32> {
    let backup = cluster.spare.map_or(cluster.reader, |spare| spare.backup_writer);
    let mut hostgroups = vec![if elected { cluster.writer } else { backup }];
    let reads = match cluster.also_read {
        AlsoRead::NoWriters => false,
        AlsoRead::Writers => true,
        AlsoRead::Backups => !elected,
    };
    if reads && !hostgroups.contains(&cluster.reader) {
        hostgroups.push(cluster.reader);
    }
    hostgroups
}

/// Where a server is that is not to be used, and not asked: wherever it can have connections. Its
/// rows allow no new ones.
fn drained<E>(cluster: &Cluster, candidate: &Candidate<'_, E>) -> Vec<u32> {
    let mut hostgroups = vec![candidate.home];
    for hostgroup in [cluster.writer, cluster.reader] {
        if !hostgroups.contains(&hostgroup) {
            hostgroups.push(hostgroup);
        }
    }
    hostgroups
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{GroupLimits, Spare, Topology};
    use super::*;
    use crate::Pace;

    fn cluster(max_writers: usize, also_read: AlsoRead) -> Cluster {
        Cluster {
            writer: 1,
            reader: 3,
            spare: Some(Spare { backup_writer: 2, offline: 4 }),
            max_writers,
            also_read,
            pace: Pace { interval: Duration::from_secs(1), limit: Duration::from_secs(1) },
            misses: 3,
            new_weight: 1,
            topology: Topology::Group(GroupLimits {
                max_behind: None,
                checks: 1,
                of_writers: false,
                of_readers: false,
            }),
        }
    }

    fn candidate<'a>(server: &'a &'static str, role: Role, weight: u32) -> Candidate<'a, &'static str> {
        Candidate { server, role, home: 3, weight, in_use: true, may_write: true }
    }

    fn seated(cluster: &Cluster, candidates: &[Candidate<'_, &'static str>]) -> Vec<Vec<u32>> {
        seats(cluster, candidates)
    }

    #[test]
    fn writers_are_chosen_by_weight_and_name() {
        let all = [
            candidate(&"a", Role::Writer, 1),
            candidate(&"b", Role::Writer, 5),
            candidate(&"c", Role::Writer, 1),
            candidate(&"d", Role::Reader, 9),
            candidate(&"e", Role::Out, 9),
        ];
        let placed = |max, also| seated(&cluster(max, also), &all);
        assert_eq!(placed(1, AlsoRead::NoWriters), [vec![2], vec![1], vec![2], vec![3], vec![4]]);
        assert_eq!(placed(2, AlsoRead::NoWriters), [vec![2], vec![1], vec![1], vec![3], vec![4]]);
        assert_eq!(placed(0, AlsoRead::NoWriters), [vec![2], vec![2], vec![2], vec![3], vec![4]]);
        assert_eq!(placed(1, AlsoRead::Writers), [vec![2, 3], vec![1, 3], vec![2, 3], vec![3], vec![4]]);
        assert_eq!(placed(1, AlsoRead::Backups), [vec![2, 3], vec![1], vec![2, 3], vec![3], vec![4]]);
    }

    #[test]
    fn who_has_said_nothing_is_where_its_row_is_and_no_writer_too_many() {
        let unheard = |server, home| Candidate { home, ..candidate(server, Role::Unheard, 1) };
        let all = [unheard(&"a", 1), unheard(&"b", 1), unheard(&"c", 3), unheard(&"d", 4)];
        let cluster = cluster(1, AlsoRead::NoWriters);
        assert_eq!(seated(&cluster, &all), [vec![2], vec![1], vec![3], vec![4]]);
        // A server that says that it takes writes comes first.
        let all = [candidate(&"a", Role::Writer, 1), unheard(&"b", 1)];
        assert_eq!(seated(&cluster, &all), [vec![1], vec![2]]);
    }

    #[test]
    fn a_server_that_is_not_in_use_is_drained_and_takes_no_place_of_another() {
        let all = [
            Candidate { in_use: false, ..candidate(&"a", Role::Unheard, 9) },
            Candidate { may_write: false, ..candidate(&"b", Role::Writer, 9) },
            candidate(&"c", Role::Writer, 1),
        ];
        assert_eq!(seated(&cluster(1, AlsoRead::NoWriters), &all), [vec![3, 1], vec![1], vec![1]]);
    }

    #[test]
    fn without_other_hostgroups_who_is_too_much_reads_and_who_is_out_is_nowhere() {
        let cluster = Cluster { spare: None, ..cluster(1, AlsoRead::NoWriters) };
        let all = [
            candidate(&"a", Role::Writer, 1),
            candidate(&"b", Role::Writer, 1),
            candidate(&"c", Role::Out, 1),
        ];
        assert_eq!(seated(&cluster, &all), [vec![3], vec![1], vec![]]);
    }
}
