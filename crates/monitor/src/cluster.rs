//! Clusters: servers that agree among themselves who takes writes, and say so when they are asked.
//!
//! What a server says is a [`Word`], of its kind of cluster. What follows from the words of all
//! servers of a cluster for one of them is its [`Role`], and what follows from all roles is which
//! hostgroups each server is in (`seats`). Only the step from words to roles differs between kinds:
//!
//! - `group`: MySQL Group Replication, where members vote on each other;
//! - `galera`: Galera, where nodes speak for themselves;
//! - `aurora`: Amazon Aurora, where each server speaks for all.

mod aurora;
mod galera;
mod group;
mod nodes;
mod seats;

use crate::{Check, Pace, ReplicaWord};

pub use aurora::{AuroraLimits, AuroraMember, AuroraWord};
pub use galera::{GaleraLimits, GaleraWord};
pub use group::{GroupLimits, GroupMember, GroupWord, MemberState};
pub(crate) use nodes::Nodes;
pub(crate) use seats::{Candidate, seats};

/// Hostgroups whose servers form a cluster: a row of ProxySQL's
/// `mysql_group_replication_hostgroups`, say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The hostgroup of servers that take writes. It is the cluster's name: no two have the same.
    pub writer: u32,
    /// The hostgroup of servers that are for reads.
    pub reader: u32,
    /// The hostgroups of servers that are for neither; `None`: the kind of cluster has none.
    pub spare: Option<Spare>,
    /// The most servers in the writer hostgroup.
    pub max_writers: usize,
    /// Which servers that take writes are in the reader hostgroup as well.
    pub also_read: AlsoRead,
    /// How often each server is asked; in Aurora, how often one of them is, in turn.
    pub pace: Pace,
    /// Questions in a row that were not answered after which a server is used no more; 0 counts as
    /// 1.
    pub misses: u32,
    /// The weight of servers that the operator has not named, but others of the cluster have.
    pub new_weight: u32,
    /// What kind of cluster it is, and what a server must keep to.
    pub topology: Topology,
}

/// Hostgroups of servers that are neither writers nor readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spare {
    /// Servers that take writes, but are one too many.
    pub backup_writer: u32,
    /// Servers that cannot be used.
    pub offline: u32,
}

/// Which writers of a cluster are readers, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlsoRead {
    /// None of them.
    NoWriters,
    /// All of them.
    Writers,
    /// Those that are one too many.
    Backups,
}

/// A kind of cluster, and what its servers must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// MySQL Group Replication.
    Group(GroupLimits),
    /// Galera, of MariaDB or Percona.
    Galera(GaleraLimits),
    /// Amazon Aurora.
    Aurora(AuroraLimits),
}

/// What one server has said about others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<E> {
    /// A member of a replication group.
    Group(GroupWord<E>),
    /// A node of a Galera cluster.
    Galera(GaleraWord),
    /// A server of an Aurora cluster.
    Aurora(AuroraWord<E>),
    /// A server of a pair whose servers are found: what it says changes no server's role.
    Replicas(ReplicaWord<E>),
}

/// What a server of a cluster is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Not known: the server has not said anything yet.
    #[default]
    Unheard,
    /// For nothing.
    Out,
    /// For reads.
    Reader,
    /// For writes.
    Writer,
}

/// A role, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) role: Role,
    pub(crate) why: String,
}

impl Verdict {
    fn new(role: Role, why: impl Into<String>) -> Self {
        Self { role, why: why.into() }
    }
}

impl Topology {
    /// The check that asks servers of such a cluster.
    pub const fn check(&self) -> Check {
        match self {
            Self::Group(_) => Check::Group,
            Self::Galera(_) => Check::Galera,
            Self::Aurora(_) => Check::Aurora,
        }
    }
}

impl Cluster {
    /// Its hostgroups.
    pub fn hostgroups(&self) -> impl Iterator<Item = u32> {
        let spare = self.spare.map(|Spare { backup_writer, offline }| [backup_writer, offline]);
        [self.writer, self.reader].into_iter().chain(spare.into_iter().flatten())
    }

    /// The hostgroup of the rows of servers that others have named: where a server is of which
    /// nothing else is known.
    pub fn waiting_room(&self) -> u32 {
        self.spare.map_or(self.reader, |spare| spare.offline)
    }
}
