//! Which rows are in use in which hostgroups.
//!
//! A row of a hostgroup that is part of a pair says that a server belongs to the pair, and how it is to be used there. Which
//! of the two hostgroups it is in is for the server to say: one that is not read-only is in the writer hostgroup, and in the
//! reader hostgroup too if writers are readers; one that is read-only is in the reader hostgroup. As long as it has said
//! nothing it is where its rows are.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::{Pair, Row};

/// A row that is in use in a hostgroup, its own or the other one of its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member {
    /// The hostgroup that it is used in.
    pub hostgroup: u32,
    /// The index of the row.
    pub row: usize,
}

/// The members of all hostgroups, in the order of the rows; `read_only` is what a server has said. Takes time in proportion to
/// the number of rows.
pub fn place<E: Clone + Eq + Hash>(
    rows: &[Row<E>],
    pairs: &[Pair],
    writer_is_also_reader: bool,
    read_only: impl Fn(&E) -> Option<bool>,
) -> Vec<Member> {
    place_in(rows, &pairs_by_hostgroup(pairs), writer_is_also_reader, read_only)
}

/// The same with the pair that each hostgroup is part of.
pub(crate) fn place_in<E: Clone + Eq + Hash>(
    rows: &[Row<E>],
    pair_of: &HashMap<u32, Pair>,
    writer_is_also_reader: bool,
    read_only: impl Fn(&E) -> Option<bool>,
) -> Vec<Member> {
    // The rows that a server has in each hostgroup of a pair.
    let mut own: HashMap<(u32, &E), usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| pair_of.contains_key(&row.hostgroup)) {
        own.entry((row.hostgroup, &row.server)).or_insert(at);
    }
    let mut placed: HashSet<(u32, &E)> = HashSet::new();
    let mut members = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let known = pair_of.get(&row.hostgroup).zip(read_only(&row.server));
        let Some((pair, read_only)) = known else {
            members.push(Member { hostgroup: row.hostgroup, row: at });
            continue;
        };
        if !placed.insert((pair.writer, &row.server)) {
            continue;
        }
        let row_in = |hostgroup| own.get(&(hostgroup, &row.server)).copied().unwrap_or(at);
        if !read_only {
            members.push(Member { hostgroup: pair.writer, row: row_in(pair.writer) });
        }
        if read_only || writer_is_also_reader {
            members.push(Member { hostgroup: pair.reader, row: row_in(pair.reader) });
        }
    }
    members
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

    const PAIRS: [Pair; 1] = [Pair { writer: 10, reader: 20 }];

    fn rows(rows: &[(u32, &'static str)]) -> Vec<Row<&'static str>> {
        let row = |&(hostgroup, server)| Row {
            hostgroup,
            server,
            in_use: true,
            max_lag: None,
            lag_when_unknown: Duration::ZERO,
        };
        rows.iter().map(row).collect()
    }

    fn placed(from: &[(u32, &'static str)], also: bool, said: &[(&str, bool)]) -> Vec<(u32, usize)> {
        let said =
            |server: &&str| said.iter().find(|(name, _)| name == server).map(|(_, read_only)| *read_only);
        place(&rows(from), &PAIRS, also, said).iter().map(|member| (member.hostgroup, member.row)).collect()
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
        // Both write, or nobody.
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
