//! Pairs of which several servers can be written to at a time: their data drift apart.
//!
//! After a planned change of the primary, the new one may be asked before the old one. So a
//! conflict counts only when every server of it has said again that it can be written to.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::Monitor;

/// The servers that can be written to of each pair, by the writer hostgroup, sorted.
pub type Writers<E> = BTreeMap<u32, Vec<E>>;

/// A conflict that has begun or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<E> {
    /// The writer hostgroup of the pair.
    pub hostgroup: u32,
    /// The servers that can be written to: several at the beginning, one or none at the end.
    pub writers: Vec<E>,
    /// Whether it has begun.
    pub begins: bool,
}

/// What is known of conflicts.
#[derive(Debug)]
pub struct Conflicts<E>(BTreeMap<u32, State<E>>);

#[derive(Debug)]
struct State<E> {
    writers: Vec<E>,
    /// Those that have not said so again since there were several.
    silent: Vec<E>,
    /// Whether the conflict was told.
    is_told: bool,
}

impl<E> Default for Conflicts<E> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<E: Clone + Eq + Hash + Ord> Conflicts<E> {
    /// Takes note of the writers as they are now, `last` being the server that was asked last.
    /// Returns the conflicts that are over.
    pub fn note(&mut self, now: &Writers<E>, last: Option<&E>) -> Vec<Conflict<E>> {
        let before = std::mem::take(&mut self.0);
        let several = now.iter().filter(|(_, writers)| writers.len() > 1);
        for (hostgroup, writers) in several {
            let known = before.get(hostgroup);
            let is_known = |writer: &E| known.is_some_and(|state| !state.silent.contains(writer));
            let was_there = known.is_some_and(|state| state.writers == *writers);
            let has_said = |writer: &E| last == Some(writer) || was_there && is_known(writer);
            let silent = writers.iter().filter(|writer| !has_said(writer)).cloned().collect();
            let is_told = known.is_some_and(|state| state.is_told);
            self.0.insert(*hostgroup, State { writers: writers.clone(), silent, is_told });
        }
        let is_over = |(hostgroup, state): &(u32, State<E>)| state.is_told && !self.0.contains_key(hostgroup);
        let over = before.into_iter().filter(is_over).map(|(hostgroup, _)| hostgroup);
        let end = |hostgroup| {
            let writers = now.get(&hostgroup).cloned().unwrap_or_default();
            Conflict { hostgroup, writers, begins: false }
        };
        over.map(end).collect()
    }

    /// A server has said again that it can be written to. Returns the conflicts that are certain by
    /// that.
    pub fn hear(&mut self, server: &E) -> Vec<Conflict<E>> {
        let mut begun = Vec::new();
        for (hostgroup, state) in &mut self.0 {
            state.silent.retain(|silent| silent != server);
            if state.silent.is_empty() && !state.is_told {
                state.is_told = true;
                let (hostgroup, writers) = (*hostgroup, state.writers.clone());
                begun.push(Conflict { hostgroup, writers, begins: true });
            }
        }
        begun
    }
}

impl<E: Clone + Eq + Hash + Ord> Monitor<E> {
    /// The servers that can be written to: those that answer, are in use, and say so. Takes time in
    /// proportion to the number of rows.
    pub fn writers(&self) -> Writers<E> {
        let mut writers = Writers::new();
        for member in self.members() {
            let is_of_writers =
                self.pairs.get(&member.hostgroup).is_some_and(|pair| pair.writer == member.hostgroup);
            let Some(row) = self.row(member.row).filter(|row| is_of_writers && row.in_use) else { continue };
            if self.read_only(&row.server) == Some(false) && !self.health(member).down {
                writers.entry(member.hostgroup).or_insert_with(Vec::new).push(row.server.clone());
            }
        }
        for writers in writers.values_mut() {
            writers.sort_unstable();
        }
        writers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writers(of: &[&'static str]) -> Writers<&'static str> {
        Writers::from([(10, of.to_vec())])
    }

    fn conflict(begins: bool, writers: &[&'static str]) -> Vec<Conflict<&'static str>> {
        vec![Conflict { hostgroup: 10, writers: writers.to_vec(), begins }]
    }

    #[test]
    fn a_conflict_begins_when_all_have_said_it_again_and_ends_once() {
        let mut conflicts = Conflicts::default();
        assert_eq!(conflicts.note(&writers(&["a"]), Some(&"a")), []);
        assert_eq!(conflicts.note(&writers(&["a", "b"]), Some(&"b")), []);
        assert_eq!(conflicts.hear(&"b"), []);
        assert_eq!(conflicts.hear(&"a"), conflict(true, &["a", "b"]));
        assert_eq!(conflicts.hear(&"a"), []);
        // A third one makes no other conflict of it.
        assert_eq!(conflicts.note(&writers(&["a", "b", "c"]), Some(&"c")), []);
        assert_eq!(conflicts.hear(&"a"), []);
        assert_eq!(conflicts.note(&writers(&["c"]), None), conflict(false, &["c"]));
        assert_eq!(conflicts.note(&writers(&["c"]), None), []);
    }

    #[test]
    fn a_change_of_the_primary_is_no_conflict() {
        let mut conflicts = Conflicts::default();
        assert_eq!(conflicts.note(&writers(&["a", "b"]), Some(&"b")), []);
        assert_eq!(conflicts.hear(&"b"), []);
        assert_eq!(conflicts.note(&writers(&["b"]), Some(&"a")), []);
        assert_eq!(conflicts.hear(&"b"), []);
    }
}
