//! Choosing a server of a hostgroup by weight.

use std::sync::Arc;

use crate::{Hostgroup, Permit, Server};

/// What [`Pool::choose`](crate::Pool::choose) says.
#[derive(Debug)]
pub enum Choice<E> {
    /// A connection may be opened to the permit's server.
    Granted(Permit<E>),
    /// Servers are available and all have the connections they may have: queue up.
    Busy,
    /// No server of the hostgroup takes connections; waiting would not help.
    NoServer,
}

/// Chooses among the servers with room, those that `avoid` names last.
pub(crate) fn choose<E>(group: &Arc<Hostgroup<E>>, random: u64, avoid: impl Fn(&E) -> bool) -> Choice<E> {
    if !group.has_available() {
        return Choice::NoServer;
    }
    // Another worker may fill the chosen server between looking and taking: look again, and give up only
    // when no candidate is left. Each failed round means that some other session got a permit.
    loop {
        let picked = pick(&group.servers, random, |server| !avoid(server.endpoint()))
            .or_else(|| pick(&group.servers, random, |_| true));
        let Some(index) = picked else { return Choice::Busy };
        if group.servers[index].try_take() {
            return Choice::Granted(Permit::new(Arc::clone(group), index));
        }
    }
}

/// The index of a server with room for which `wanted` holds, each with a chance proportional to its weight.
fn pick<E>(servers: &[Server<E>], random: u64, wanted: impl Fn(&Server<E>) -> bool) -> Option<usize> {
    let candidate = |server: &Server<E>| server.is_available() && server.has_room() && wanted(server);
    // One look per server, so that the total and the walk agree although others count at the same time.
    let weights: Vec<u64> =
        servers.iter().map(|server| if candidate(server) { u64::from(server.weight()) } else { 0 }).collect();
    let total: u64 = weights.iter().sum();
    let mut left = random.checked_rem(total)?;
    weights.iter().position(|&weight| match left.checked_sub(weight) {
        None => true,
        Some(rest) => {
            left = rest;
            false
        }
    })
}
