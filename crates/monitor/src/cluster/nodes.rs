//! What is known of the servers of one cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use super::aurora::View;
use super::{Cluster, GaleraWord, Role, Topology, Verdict, Word, galera, group};

/// What is known of the servers of one cluster, by server.
#[derive(Debug, Clone)]
pub(crate) struct Nodes<E> {
    nodes: BTreeMap<E, Node<E>>,
    /// What they say of all of them at once, where they do.
    view: View<E>,
}

/// What is known of one of them.
#[derive(Debug, Clone)]
pub(crate) struct Node<E> {
    /// What it has said last.
    pub(super) word: Option<Word<E>>,
    /// Questions in a row that it has not answered.
    pub(super) misses: u32,
    /// Looks in a row that saw it too far behind.
    over: u32,
    /// By how many transactions it is behind, if it is passed over for that.
    behind: Option<u64>,
}

impl<E> Default for Nodes<E> {
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), view: View::default() }
    }
}

impl<E> Default for Node<E> {
    fn default() -> Self {
        Self { word: None, misses: 0, over: 0, behind: None }
    }
}

impl<E> Nodes<E> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&E, &Node<E>)> {
        self.nodes.iter()
    }
}

impl<E: Clone + Ord> Nodes<E> {
    /// A server has answered.
    pub(crate) fn hear(&mut self, cluster: &Cluster, server: &E, word: Word<E>) {
        let node = self.nodes.entry(server.clone()).or_default();
        if let (Word::Group(said), Topology::Group(limits)) = (&word, cluster.topology) {
            let is_over = limits.max_behind.is_some_and(|max| said.behind > max);
            node.over = if is_over { node.over.saturating_add(1) } else { 0 };
            node.behind = (node.over >= limits.checks.max(1)).then_some(said.behind).filter(|_| is_over);
        }
        node.misses = 0;
        match (word, cluster.topology) {
            (Word::Aurora(word), Topology::Aurora(limits)) => self.view.hear(word, limits),
            (word, _) => node.word = Some(word),
        }
    }

    /// Whether nothing can follow from a server having said this: it has said the same before, and
    /// nothing else since.
    pub(crate) fn is_no_news(&self, cluster: &Cluster, server: &E, word: &Word<E>) -> bool {
        let Some(node) = self.nodes.get(server).filter(|node| node.misses == 0 && node.over == 0) else {
            return false;
        };
        match (word, node.word.as_ref(), cluster.topology) {
            (Word::Group(now), Some(Word::Group(before)), Topology::Group(limits)) => {
                now.is_like(before) && limits.max_behind.is_none_or(|max| now.behind <= max)
            }
            (Word::Galera(now), Some(Word::Galera(before)), Topology::Galera(limits)) => {
                let fits = |word: &GaleraWord| limits.max_queue.is_none_or(|max| word.queue <= max);
                now.is_like(before) && fits(now) && fits(before)
            }
            _ => false,
        }
    }

    /// A server has not answered.
    pub(crate) fn miss(&mut self, server: &E) {
        let node = self.nodes.entry(server.clone()).or_default();
        node.misses = node.misses.saturating_add(1);
    }

    /// Questions in a row that a server has not answered.
    pub(crate) fn misses(&self, server: &E) -> u32 {
        self.nodes.get(server).map_or(0, |node| node.misses)
    }

    /// A server is known not to be there: what it has said counts no more.
    pub(crate) fn lose(&mut self, server: &E) {
        self.nodes.entry(server.clone()).or_default().misses = u32::MAX;
    }

    /// Only these servers stay.
    pub(crate) fn keep(&mut self, stays: impl Fn(&E) -> bool) {
        self.nodes.retain(|server, _| stays(server));
    }

    /// What a server is good for, and why.
    pub(crate) fn verdict(&self, cluster: &Cluster, server: &E) -> Verdict {
        if self.misses(server) >= cluster.misses.max(1) {
            return Verdict::new(Role::Out, "it does not answer");
        }
        let word = self.nodes.get(server).and_then(|node| node.word.as_ref());
        match (word, cluster.topology) {
            (_, Topology::Aurora(_)) => self.view.judge(server),
            (Some(Word::Group(word)), Topology::Group(_)) => group::judge(word, self),
            (Some(Word::Galera(word)), Topology::Galera(limits)) => galera::judge(word, limits),
            _ => Verdict::new(Role::Unheard, "it has not answered yet"),
        }
    }

    /// By how many transactions a server is behind, if that is too many for this hostgroup of its
    /// cluster.
    pub(crate) fn behind(&self, cluster: &Cluster, hostgroup: u32, server: &E) -> Option<u64> {
        let Topology::Group(limits) = cluster.topology else { return None };
        let counts = limits.of_writers && hostgroup == cluster.writer
            || limits.of_readers && hostgroup == cluster.reader;
        self.nodes.get(server)?.behind.filter(|_| counts)
    }

    /// How far a server is behind, if that is too far for this hostgroup of its cluster.
    pub(crate) fn lag(&self, cluster: &Cluster, hostgroup: u32, server: &E) -> Option<Duration> {
        let Topology::Aurora(limits) = cluster.topology else { return None };
        self.view.lag(server, limits).filter(|_| hostgroup == cluster.reader)
    }

    /// How far servers are behind, as far as their cluster says so in time.
    pub(crate) fn lags(&self) -> impl Iterator<Item = (&E, Duration)> {
        self.view.lags()
    }

    /// The servers that others name, each once.
    pub(crate) fn named(&self) -> Vec<E> {
        let of_group = group::named(self).map(|(server, _)| server);
        let mut named: Vec<E> = of_group.chain(self.view.named()).cloned().collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    /// What the cluster calls a server, if it has said so.
    pub(crate) fn id(&self, server: &E) -> Option<&str> {
        match &self.nodes.get(server)?.word {
            Some(Word::Group(word)) => Some(&word.id),
            Some(Word::Galera(_) | Word::Aurora(_) | Word::Replicas(_)) | None => None,
        }
    }

    /// What the cluster calls a server, as others say.
    pub(crate) fn id_as_named(&self, server: &E) -> Option<&str> {
        group::named(self).find(|(named, _)| *named == server).map(|(_, id)| id)
    }
}
