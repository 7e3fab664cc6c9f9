//! Choosing a server of a hostgroup: who can be taken, and who of them is.

use std::sync::Arc;
use std::time::Duration;

use crate::balance::{Candidate, Candidates, pick};
use crate::hostgroup::{Hostgroup, Members};
use crate::policy::Policy;
use crate::{Permit, Server, Standing};

/// What [`Pool::choose`](crate::Pool::choose) says.
#[derive(Debug)]
pub enum Choice<E> {
    /// A connection may be opened to the permit's server.
    Granted(Permit<E>),
    /// The caller's spare connection to this server may be used.
    Spare(Arc<Server<E>>),
    /// No server can be taken now, and that will change: queue up.
    Busy,
    /// No server of the hostgroup takes connections; waiting would not help.
    NoServer,
}

/// Chooses among the servers that can be taken for this account, those that `avoid` names last. To
/// those for whose ids `spare` is true the caller has connections.
pub(crate) fn choose<E>(
    group: &Arc<Hostgroup<E>>,
    random: u64,
    account: Option<usize>,
    now: Duration,
    avoid: impl Fn(&E) -> bool,
    spare: impl Fn(u64) -> bool,
) -> Choice<E> {
    // Held until a permit is taken: a server that is being removed gives none.
    let members = group.members();
    let Members { servers, policy, .. } = &*members;
    forgive(servers, policy.shunning.recovery, now);
    // Where no connection may be begun, only those that are there can be had.
    let mut opens = group.gate.closed(policy, now).is_none();
    // Another worker may fill the chosen server between looking and taking: look again, and give up
    // only when no candidate is left. Each failed round means that some other session got a permit.
    loop {
        let mut ready = ready_or(servers, policy, account, now, opens, &spare);
        if ready.is_empty() {
            let is_shunned =
                |server: &Server<E>| matches!(server.standing(now, policy), Standing::Shunned { .. });
            let all = servers.iter().enumerate();
            ready = all.filter(|(_, server)| spare(server.id()) && is_shunned(server)).collect();
        }
        if ready.is_empty() && opens {
            let desperate = last_resort(servers, policy, now);
            ready = self::ready(servers, &desperate, account, now);
            if !ready.is_empty() {
                forgive(servers, desperate.shunning.recovery, now);
            }
        }
        let is_wanted = |(_, server): &Candidate<'_, E>| !avoid(server.endpoint());
        if ready.iter().any(is_wanted) {
            ready.retain(|candidate| is_wanted(candidate));
        }
        let Some(server) = pick(policy.balance, &fast(ready, policy, now), random, &group.turn) else {
            return if may_help(servers, policy, now) { Choice::Busy } else { Choice::NoServer };
        };
        if spare(server.id()) {
            return Choice::Spare(Arc::clone(server));
        }
        if !group.gate.try_enter(policy, now) {
            opens = false;
            continue;
        }
        if server.try_take() {
            server.refusals().begin(account, now);
            return Choice::Granted(Permit::new(Arc::clone(group), Arc::clone(server), account));
        }
        group.gate.give_back(policy);
    }
}

/// How to choose where no server can be taken: servers that were shunned are tried earlier, and
/// slow ones are better than none, unless a fast one has no room only. A whole hostgroup is slow
/// when the load is high; to use none of it then would make an outage of it.
pub(crate) fn last_resort<E>(servers: &[Arc<Server<E>>], policy: &Policy, now: Duration) -> Policy {
    let desperate = policy.desperate();
    let is_full = |server: &Arc<Server<E>>| {
        matches!(server.standing(now, &desperate), Standing::Full { .. } | Standing::Refusing { .. })
    };
    let max_latency = policy.max_latency.filter(|_| servers.iter().any(is_full));
    Policy { max_latency, ..desperate }
}

/// Servers that were shunned, and whose last error is at least this long ago, are so no more.
pub(crate) fn forgive<E>(servers: &[Arc<Server<E>>], after: Option<Duration>, now: Duration) {
    let Some(after) = after else { return };
    let is_over = |failed| now.saturating_sub(failed) >= after;
    let over = servers.iter().filter(|server| server.health().shunned_since().is_some_and(is_over));
    over.for_each(|server| server.health().unshun());
}

/// The servers that can be taken, in the order of the configuration.
pub(crate) fn ready<'a, E>(
    servers: &'a [Arc<Server<E>>],
    policy: &Policy,
    account: Option<usize>,
    now: Duration,
) -> Candidates<'a, E> {
    ready_or(servers, policy, account, now, true, |_| false)
}

/// The same, and those that are full and for whose ids `spare` is true; only the latter unless
/// connections may be opened.
fn ready_or<'a, E>(
    servers: &'a [Arc<Server<E>>],
    policy: &Policy,
    account: Option<usize>,
    now: Duration,
    opens: bool,
    spare: impl Fn(u64) -> bool,
) -> Candidates<'a, E> {
    if are_too_many(servers, policy, now) {
        return Candidates::new();
    }
    let is_ready = |server: &Server<E>| match server.standing_for(account, now, policy) {
        Standing::Ready => opens || spare(server.id()),
        Standing::Full { .. } | Standing::Refusing { .. } => spare(server.id()),
        _ => false,
    };
    servers.iter().enumerate().filter(|(_, server)| is_ready(server)).collect()
}

/// Whether more servers are online than may be: then none is taken.
fn are_too_many<E>(servers: &[Arc<Server<E>>], policy: &Policy, now: Duration) -> bool {
    // Mostly there is no such limit.
    policy.max_online < servers.len() && online(servers, policy, now) > policy.max_online
}

/// How many servers are online, full or not, whatever their weights.
pub(crate) fn online<E>(servers: &[Arc<Server<E>>], policy: &Policy, now: Duration) -> usize {
    let is_online = |server: &Arc<Server<E>>| {
        use Standing::{Behind, Configured, Discarded, Down, Lagging, Removed, Shunned};
        let standing = server.standing(now, policy);
        let is_off = matches!(standing, Removed | Configured(_) | Down | Shunned { .. } | Discarded { .. });
        !is_off && !matches!(standing, Lagging(_) | Behind(_))
    };
    servers.iter().filter(|server| is_online(server)).count()
}

/// Whether one who waits may get one of the servers.
pub(crate) fn may_help<E>(servers: &[Arc<Server<E>>], policy: &Policy, now: Duration) -> bool {
    // One that is well is at most full.
    let may_change =
        |server: &Arc<Server<E>>| server.is_available() || server.standing(now, policy).may_change();
    !are_too_many(servers, policy, now) && (policy.awaited || servers.iter().any(may_change))
}

/// Of many candidates those whose latency is not above the average, of few all. Who was not
/// measured counts as fast.
fn fast<'a, E>(candidates: Candidates<'a, E>, policy: &Policy, now: Duration) -> Candidates<'a, E> {
    let Some(average) = average_latency(&candidates, policy, now) else { return candidates };
    candidates.into_iter().filter(|(_, server)| server.health().current_latency(now).0 <= average).collect()
}

/// The latency that candidates must not be above; nothing if there are too few for one.
pub(crate) fn average_latency<E>(
    candidates: &[Candidate<'_, E>],
    policy: &Policy,
    now: Duration,
) -> Option<Duration> {
    if candidates.len() < policy.latency_aware_from {
        return None;
    }
    let sum: Duration = candidates.iter().map(|(_, server)| server.health().current_latency(now).0).sum();
    sum.checked_div(u32::try_from(candidates.len()).ok()?)
}
