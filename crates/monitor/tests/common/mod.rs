//! What tests of pairs and of clusters share: servers, their rows, and how the monitor gets on from
//! check to check.

use std::time::Duration;

use monitor::{Check, Event, Finding, Monitor, Row};

pub(crate) type Server = &'static str;

/// Checks that are passed over before one counts as one that never comes.
const TURNS_MAX: u32 = 10_000;

pub(crate) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn row(hostgroup: u32, server: Server) -> Row<Server> {
    Row { hostgroup, server, in_use: true, weight: 1, max_lag: None, lag_when_unknown: s(60) }
}

/// Goes on to the next check of this kind of this server, and concludes it; nothing comes of all
/// others.
pub(crate) fn conclude(
    monitor: &mut Monitor<Server>,
    now: &mut Duration,
    (server, check): (Server, Check),
    with: impl FnOnce(&mut Monitor<Server>, Duration) -> Vec<Event<Server>>,
) -> Vec<Event<Server>> {
    for _ in 0..TURNS_MAX {
        *now = monitor.next_due().expect("something is due").max(*now);
        let mut is_asked = false;
        for order in monitor.due(*now) {
            if (order.server, order.check) == (server, check) {
                is_asked = true;
                continue;
            }
            assert_eq!(monitor.observe(&order.server, order.check, Finding::Void, "", *now), []);
        }
        if is_asked {
            return with(monitor, *now);
        }
    }
    panic!("{check:?} of {server} never comes");
}

/// The servers of a hostgroup, by name.
pub(crate) fn members(monitor: &Monitor<Server>, hostgroup: u32) -> Vec<Server> {
    let here = monitor.members().into_iter().filter(|member| member.hostgroup == hostgroup);
    let mut servers: Vec<Server> =
        here.filter_map(|member| monitor.row(member.row).map(|row| row.server)).collect();
    servers.sort_unstable();
    servers
}
