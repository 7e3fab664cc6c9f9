//! Amazon Aurora: what servers say, and what follows.
//!
//! Each server knows the state of all of them, so one answer is about the whole cluster, and it is
//! enough to ask one of them at a time. Answers can be old: one that names another writer counts
//! only if that writer was heard of no earlier than the one before.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Role, Verdict};

/// What a server has said about its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuroraWord<E> {
    /// The servers of the cluster.
    pub members: Vec<AuroraMember<E>>,
}

/// A server of a cluster, as one of them sees it: a row of
/// `information_schema.REPLICA_HOST_STATUS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuroraMember<E> {
    /// Where it is reached.
    pub server: E,
    /// `SERVER_ID`.
    pub id: String,
    /// `SESSION_ID`.
    pub session: String,
    /// `LAST_UPDATE_TIMESTAMP`: when this was known. Later ones are greater as texts.
    pub updated: String,
    /// How far it says that it is behind.
    pub lag: Duration,
    /// How far it counts as being behind.
    pub estimated: Duration,
    /// How busy its processor is, in percent.
    pub cpu: u32,
}

/// What a server must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuroraLimits {
    /// A reader that is farther behind is passed over.
    pub max_lag: Duration,
    /// Of so many answers the worst counts; 0 counts as 1.
    pub samples: usize,
}

/// `SESSION_ID` of the writer.
const WRITER: &str = "MASTER_SESSION_ID";

impl<E> AuroraWord<E> {
    /// The writer: of several that say so, some of which were it before, the one that was heard of
    /// last.
    pub fn writer(&self) -> Option<&AuroraMember<E>> {
        let writers = self.members.iter().filter(|member| member.session == WRITER);
        writers.max_by(|a, b| a.updated.cmp(&b.updated))
    }
}

/// What is known of a whole cluster.
#[derive(Debug, Clone)]
pub(crate) struct View<E> {
    word: Option<AuroraWord<E>>,
    /// The last estimates of each server.
    lags: BTreeMap<E, VecDeque<Duration>>,
}

impl<E> Default for View<E> {
    fn default() -> Self {
        Self { word: None, lags: BTreeMap::new() }
    }
}

impl<E: Clone + Ord> View<E> {
    /// One of the servers has said this.
    pub(super) fn hear(&mut self, word: AuroraWord<E>, limits: AuroraLimits) {
        let is_older = |before: &AuroraWord<E>| match (before.writer(), word.writer()) {
            (Some(before), Some(now)) => before.server != now.server && now.updated < before.updated,
            _ => false,
        };
        if self.word.as_ref().is_some_and(is_older) {
            return;
        }
        self.lags.retain(|server, _| word.members.iter().any(|member| member.server == *server));
        for member in &word.members {
            let lags = self.lags.entry(member.server.clone()).or_default();
            lags.push_back(member.estimated);
            while lags.len() > limits.samples.max(1) {
                lags.pop_front();
            }
        }
        self.word = Some(word);
    }

    /// What a server is good for.
    pub(super) fn judge(&self, server: &E) -> Verdict {
        let Some(word) = &self.word else { return Verdict::new(Role::Unheard, "no server has answered yet") };
        if word.writer().is_some_and(|writer| writer.server == *server) {
            return Verdict::new(Role::Writer, "it is the writer of its cluster");
        }
        if word.members.iter().any(|member| member.server == *server) {
            return Verdict::new(Role::Reader, "it is a replica of its cluster");
        }
        Verdict::new(Role::Out, "its cluster does not name it")
    }

    /// How far a server is behind, if that is too far.
    pub(super) fn lag(&self, server: &E, limits: AuroraLimits) -> Option<Duration> {
        Some(self.behind(server)?).filter(|lag| *lag > limits.max_lag)
    }

    /// How far each server is behind.
    pub(super) fn lags(&self) -> impl Iterator<Item = (&E, Duration)> {
        self.lags.keys().filter_map(|server| Some((server, self.behind(server)?)))
    }

    /// How far a server is behind: the writer is not, whatever it says.
    fn behind(&self, server: &E) -> Option<Duration> {
        let is_writer = self.word.as_ref()?.writer().is_some_and(|writer| writer.server == *server);
        if is_writer { Some(Duration::ZERO) } else { self.lags.get(server)?.iter().max().copied() }
    }

    /// The servers that the cluster consists of.
    pub(super) fn named(&self) -> impl Iterator<Item = &E> {
        self.word.iter().flat_map(|word| &word.members).map(|member| &member.server)
    }
}
