//! Connections that are opened before a session needs them: whether there should be one more, and
//! to which server.

use std::sync::Arc;
use std::time::Duration;

use crate::choice::ready;
use crate::hostgroup::Hostgroup;
use crate::policy::Policy;
use crate::{Closed, Permit, Server};

/// One of several workers that open connections ahead, each its share.
#[derive(Debug, Clone, Copy)]
pub struct Ahead<F> {
    /// How many workers there are.
    pub workers: u32,
    /// Whose connections they are.
    pub account: Option<usize>,
    /// How many idle connections to this server the asking worker has; `u32::MAX` if the server is
    /// to get none.
    pub resting: F,
}

/// A permit for a connection that is to be opened ahead of need, to the server that lacks most.
/// `Err`: when to ask again, if one lacks and may be opened only then; nothing if there are enough,
/// or others need what could be had.
pub(crate) fn open_ahead<E>(
    group: &Arc<Hostgroup<E>>,
    ahead: &Ahead<impl Fn(&Server<E>) -> u32>,
    now: Duration,
) -> Result<Permit<E>, Option<Duration>> {
    let members = group.members();
    let policy = &members.policy;
    if !policy.warming && policy.min_resting == 0 || group.queue.waiting() > 0 {
        return Err(None);
    }
    let candidates = ready(&members.servers, policy, ahead.account, now).into_iter();
    let lacking = candidates.map(|(_, server)| (lacking(server, policy, ahead), server));
    let (_, server) =
        lacking.filter(|(lacking, _)| *lacking > 0).max_by_key(|(lacking, _)| *lacking).ok_or(None)?;
    if !group.gate.try_enter(policy, now) {
        return Err(match group.gate.closed(policy, now) {
            Some(Closed::Throttled { left, .. }) => Some(left),
            Some(Closed::Full { .. }) | None => None,
        });
    }
    // What is kept for use is bounded by this worker's share, what is warmed by all that the server
    // has: other workers open some, too.
    let max =
        if rests_too_few(server, policy, ahead) { u32::MAX } else { policy.warmed(server.max_connections()) };
    if server.try_take_below(max) {
        server.refusals().begin(ahead.account, now);
        return Ok(Permit::new(Arc::clone(group), Arc::clone(server), ahead.account));
    }
    group.gate.give_back(policy);
    Err(None)
}

/// How many connections a server lacks, as far as this worker is concerned.
fn lacking<E>(server: &Server<E>, policy: &Policy, ahead: &Ahead<impl Fn(&Server<E>) -> u32>) -> u32 {
    let max = server.max_connections();
    let resting = (ahead.resting)(server);
    let idle = share(policy.min_resting.min(max), ahead.workers).saturating_sub(resting);
    let warmed = policy.warmed(max);
    // More of them than its share would be ended again by who keeps them.
    let cold = warmed.saturating_sub(server.open()).min(share(warmed, ahead.workers).saturating_sub(resting));
    idle.max(cold)
}

fn rests_too_few<E>(server: &Server<E>, policy: &Policy, ahead: &Ahead<impl Fn(&Server<E>) -> u32>) -> bool {
    (ahead.resting)(server) < share(policy.min_resting.min(server.max_connections()), ahead.workers)
}

/// One worker's part of `all`, rounded up.
fn share(all: u32, workers: u32) -> u32 {
    all.div_ceil(workers.max(1))
}
