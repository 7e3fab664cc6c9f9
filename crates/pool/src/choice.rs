//! Choosing a server of a hostgroup by weight.

use std::sync::Arc;

use crate::hostgroup::Hostgroup;
use crate::{Permit, Server};

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
    // Held until a permit is taken: a server that is being removed gives none.
    let servers = group.servers();
    if !servers.iter().any(|server| server.is_available()) {
        return Choice::NoServer;
    }
    // Another worker may fill the chosen server between looking and taking: look again, and give up only
    // when no candidate is left. Each failed round means that some other session got a permit.
    loop {
        let picked = pick(&servers, random, |server| !avoid(server.endpoint()))
            .or_else(|| pick(&servers, random, |_| true));
        let Some(server) = picked else { return Choice::Busy };
        if server.try_take() {
            return Choice::Granted(Permit::new(Arc::clone(group), Arc::clone(server)));
        }
    }
}

/// A server with room for which `wanted` holds, each with a chance proportional to its weight.
fn pick<E>(
    servers: &[Arc<Server<E>>],
    random: u64,
    wanted: impl Fn(&Server<E>) -> bool,
) -> Option<&Arc<Server<E>>> {
    let candidate = |server: &Server<E>| server.is_available() && server.has_room() && wanted(server);
    // One look per server, so that the total and the walk agree although others count at the same time.
    let weights: Vec<u64> =
        servers.iter().map(|server| if candidate(server) { u64::from(server.weight()) } else { 0 }).collect();
    let total: u64 = weights.iter().sum();
    let mut left = random.checked_rem(total)?;
    let index = weights.iter().position(|&weight| match left.checked_sub(weight) {
        None => true,
        Some(rest) => {
            left = rest;
            false
        }
    })?;
    servers.get(index)
}
