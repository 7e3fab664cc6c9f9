//! What is up: the state of servers over time, hostgroups, errors and events.

use serde_json::{Value, json};

use super::errors::Errors;
use super::scene::Scene;
use crate::limits::ROWS_MAX;
use crate::reading::address;
use crate::timeline::{Causes, timeline};

/// The view from `from_ms` on, for admins and for others. The points of the curves are not in it.
pub(crate) fn now(scene: &Scene<'_>, errors: &Errors, from_ms: u64) -> [Value; 2] {
    let loaded = |version: &&crate::facts::Version| version.module == "MYSQL SERVERS";
    let changed_ms = scene.known.versions.iter().find(loaded).map(|version| version.applied_ms);
    let hostgroups: Vec<Value> = hostgroups(scene);
    [true, false].map(|is_admin| {
        let causes = Causes { shown: is_admin };
        json!({
            "timeline": timeline(scene.reading, from_ms, changed_ms, causes, |key| scene.name(key)),
            "hostgroups": hostgroups,
            "errors": errors.rows(scene.reading, is_admin),
            "events": events(scene, from_ms, causes),
        })
    })
}

fn hostgroups(scene: &Scene<'_>) -> Vec<Value> {
    let row = |group: &observe::rows::HostgroupStats| {
        let servers = || scene.reading.pool.iter().filter(|server| server.hostgroup == group.hostgroup);
        let (role, partner) = scene.role(group.hostgroup);
        let rate = |server: &observe::rows::ServerStats| {
            scene.rates.server(server.hostgroup, &server.host, server.port)
        };
        json!({
            "hostgroup": group.hostgroup,
            "role": role,
            "partner": partner,
            "comment": scene.comment(group.hostgroup),
            "servers": group.servers.len(),
            "usable": group.servers.iter().filter(|server| server.reason.is_none()).count(),
            "used": servers().map(|server| u64::from(server.used)).sum::<u64>(),
            "free": servers().map(|server| u64::from(server.free)).sum::<u64>(),
            "limit": group.limit,
            "waiting": group.waiting,
            "qps": servers().map(rate).sum::<u64>(),
        })
    };
    scene.reading.hostgroups.iter().map(row).collect()
}

/// What happened to servers and to the configuration, the oldest first.
fn events(scene: &Scene<'_>, from_ms: u64, causes: Causes) -> Vec<Value> {
    let servers = scene.reading.events.iter().map(|event| {
        let value = json!({
            "time_ms": event.time_us / 1000,
            "kind": "server",
            "event": event.event,
            "hostgroup": event.hostgroup,
            "server": address(&event.host, event.port),
            "cause": causes.of(event),
        });
        (event.time_us / 1000, value)
    });
    let loads = scene.known.versions.iter().map(|version| {
        let by = if version.by.is_empty() { String::new() } else { format!(", by {}", version.by) };
        let value = json!({
            "time_ms": version.applied_ms,
            "kind": "config",
            "event": "LOADED",
            "hostgroup": null,
            "server": null,
            "cause": format!("{}, version {}{by}", version.module, version.number),
        });
        (version.applied_ms, value)
    });
    let mut all: Vec<_> = servers.chain(loads).filter(|(at_ms, _)| *at_ms >= from_ms).collect();
    all.sort_by_key(|(at_ms, _)| *at_ms);
    let surplus = all.len().saturating_sub(ROWS_MAX);
    all.into_iter().skip(surplus).map(|(_, value)| value).collect()
}
