//! Galera: what nodes say, and what follows.
//!
//! A node knows whether it is part of the primary component and how far it is with the state of the
//! cluster. All nodes take writes unless they are told not to.

use super::{Role, Verdict};

/// `wsrep_local_state` of a node that gives its state to another one.
const DONOR: u32 = 2;
/// `wsrep_local_state` of a node that has everything.
const SYNCED: u32 = 4;

/// What a node has said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "variables of the server, each for itself")]
pub struct GaleraWord {
    /// Whether it is part of the primary component (`wsrep_cluster_status`).
    pub primary: bool,
    /// `wsrep_local_state`.
    pub local_state: u32,
    /// Whether it lets itself fall behind (`wsrep_desync`).
    pub desync: bool,
    /// Whether it refuses statements (`wsrep_reject_queries`).
    pub rejects_queries: bool,
    /// Whether it does so while it is a donor (`wsrep_sst_donor_rejects_queries`).
    pub donor_rejects_queries: bool,
    /// Whether the operator has taken it out (`pxc_maint_mode`).
    pub maintenance: bool,
    /// Whether it takes no writes.
    pub read_only: bool,
    /// Transactions that it has received and not yet applied (`wsrep_local_recv_queue`).
    pub queue: u64,
}

impl GaleraWord {
    /// Whether both say the same, but for the queue.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        *self == Self { queue: self.queue, ..other.clone() }
    }
}

/// What a node must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaleraLimits {
    /// The most transactions in its queue; `None`: any number.
    pub max_queue: Option<u64>,
}

/// What a node is good for that has said this.
pub(super) fn judge(word: &GaleraWord, limits: GaleraLimits) -> Verdict {
    let out = |why: &str| Verdict::new(Role::Out, why);
    if !word.primary {
        return out("it is not part of the primary component");
    }
    if word.maintenance {
        return out("pxc_maint_mode is not DISABLED");
    }
    if word.rejects_queries {
        return out("it rejects queries (wsrep_reject_queries)");
    }
    let is_donor = word.local_state == DONOR && !word.donor_rejects_queries;
    if word.local_state != SYNCED && !is_donor {
        return out(&format!("wsrep_local_state={}", word.local_state));
    }
    if word.desync {
        return out("wsrep_desync=ON");
    }
    if limits.max_queue.is_some_and(|max| word.queue > max) {
        return out(&format!("its queue has {} transactions, more than it may", word.queue));
    }
    let role = if word.read_only { Role::Reader } else { Role::Writer };
    let read_only = u8::from(word.read_only);
    Verdict::new(role, format!("wsrep_local_state={} with read_only={read_only}", word.local_state))
}
