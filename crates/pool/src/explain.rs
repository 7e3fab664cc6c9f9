//! Why each server of a hostgroup could be taken at a moment, or could not.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::balance::Candidates;
use crate::choice::{average_latency, last_resort, online, ready};
use crate::gate::Closed;
use crate::hostgroup::{Hostgroup, Members};
use crate::policy::Balance;
use crate::{Server, Standing};

/// A server, and whether it could be taken.
#[derive(Debug)]
pub struct Explained<E> {
    /// The server.
    pub server: Arc<Server<E>>,
    /// Whether the next session could get it.
    pub taken: bool,
    /// Why, or why not.
    pub reason: Reason,
}

/// Why a server could be taken or not. Displayed as a sentence with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It can be taken.
    Candidate {
        /// How one of the candidates is chosen.
        balance: Balance,
        /// Its weight, and the sum of the weights of all candidates.
        weight: (u32, u64),
        /// Statements that run on it.
        running: u64,
        /// Its connections, and how many it may have.
        open: (u32, u32),
        /// The latency that counts; zero if none does.
        latency: Duration,
    },
    /// Nothing else is left: it was shunned, and is tried nevertheless.
    LastResort {
        /// Time since its last error.
        ago: Duration,
    },
    /// Nothing else is left: it is slow, and is taken nevertheless.
    SlowLastResort {
        /// The latency that was measured last.
        latency: Duration,
        /// That above which a server is passed over.
        limit: Duration,
    },
    /// It cannot be taken.
    Not(Standing),
    /// None of the hostgroup can: more servers are online than may be.
    TooManyOnline {
        /// Servers online.
        online: usize,
        /// Servers that may be.
        max: usize,
    },
    /// None of the hostgroup can: no connection may be begun in it.
    Closed(Closed),
    /// It is slower than the average of the candidates.
    SlowerThanAverage {
        /// Its latency.
        latency: Duration,
        /// The average.
        average: Duration,
    },
    /// The first candidate is taken, and another one is before it.
    NotFirst,
}

impl Reason {
    /// Whether the next session could get the server.
    const fn is_taken(&self) -> bool {
        matches!(self, Self::Candidate { .. } | Self::LastResort { .. } | Self::SlowLastResort { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Candidate { balance, weight: (weight, total), running, open: (open, max), latency } => {
                balance.tell(*weight, *total, f)?;
                write!(f, "; it runs {running} statements and has {open} of {max} connections")?;
                if latency.is_zero() { Ok(()) } else { write!(f, ", its latency is {latency:.1?}") }
            }
            Self::LastResort { ago } => {
                write!(
                    f,
                    "it was shunned, its last connect error was {ago:.1?} ago, and no other can be taken"
                )
            }
            Self::SlowLastResort { latency, limit } => {
                write!(f, "its latency is {latency:.1?}, more than {limit:.1?}, and no other can be taken")
            }
            Self::Not(standing) => standing.fmt(f),
            Self::Closed(closed) => closed.fmt(f),
            Self::TooManyOnline { online, max } => {
                write!(f, "{online} servers are online, more than max_num_online_servers = {max}")
            }
            Self::SlowerThanAverage { latency, average } => {
                write!(f, "its latency is {latency:.1?}, above the candidates' average of {average:.1?}")
            }
            Self::NotFirst => f.write_str("another one is before it"),
        }
    }
}

/// Explains each server of a hostgroup, in the order of the configuration.
pub(crate) fn explain<E>(group: &Hostgroup<E>, now: Duration) -> Vec<Explained<E>> {
    let members = group.members();
    let Members { servers, policy, .. } = &*members;
    let closed = group.gate.closed(policy, now);
    let standings: Vec<_> = servers.iter().map(|server| server.standing(now, policy)).collect();
    let online = online(servers, policy, now);
    let candidates = ready(servers, policy, None, now);
    let desperate = if candidates.is_empty() {
        ready(servers, &last_resort(servers, policy, now), None, now)
    } else {
        Candidates::new()
    };
    let is_last_resort = |at| desperate.iter().any(|&(other, _)| other == at);
    let average = average_latency(&candidates, policy, now);
    let latency = |server: &Server<E>| server.health().current_latency(now).0;
    let fast = |server: &Server<E>| average.is_none_or(|average| latency(server) <= average);
    let total = candidates.iter().filter(|(_, server)| fast(server));
    let total = total.map(|(_, server)| u64::from(server.weight())).sum();
    let first = candidates.iter().find(|(_, server)| fast(server)).map(|&(at, _)| at);
    let reason = |(at, server): (usize, &Arc<Server<E>>), standing: Standing| match (standing, average) {
        (Standing::Ready, _) if online > policy.max_online => {
            Reason::TooManyOnline { online, max: policy.max_online }
        }
        (Standing::Ready, _) if let Some(closed) = closed => Reason::Closed(closed),
        (Standing::Ready, Some(average)) if !fast(server) => {
            Reason::SlowerThanAverage { latency: latency(server), average }
        }
        (Standing::Ready, _) if policy.balance == Balance::FirstAvailable && first != Some(at) => {
            Reason::NotFirst
        }
        (Standing::Ready, _) => Reason::Candidate {
            balance: policy.balance,
            weight: (server.weight(), total),
            running: server.running(),
            open: (server.open(), server.max_connections()),
            latency: latency(server),
        },
        (Standing::Shunned { ago, .. }, _) if is_last_resort(at) => Reason::LastResort { ago },
        (Standing::Slow { latency, limit, .. }, _) if is_last_resort(at) => {
            Reason::SlowLastResort { latency, limit }
        }
        (standing, _) => Reason::Not(standing),
    };
    let explained = servers.iter().enumerate().zip(standings).map(|((at, server), standing)| {
        let reason = reason((at, server), standing);
        let taken = reason.is_taken();
        Explained { server: Arc::clone(server), taken, reason }
    });
    explained.collect()
}
