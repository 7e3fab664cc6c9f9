//! The map: listeners, users and rules, hostgroups, servers, and what leads from one to another.

use config::Role;
use observe::rows::ServerStats;
use serde_json::{Value, json};

use super::scene::Scene;
use super::slow::{RuleNode, Slow};
use crate::limits::EDGES_MAX;
use crate::reading::address;

/// The view, for admins and for others, who see no pattern and no comment of a rule.
pub(crate) fn servers(scene: &Scene<'_>, slow: &Slow) -> [Value; 2] {
    let (users, users_left_out) = &slow.users;
    let (rules, rules_left_out) = &slow.rules;
    let config = &scene.known.config;
    let listeners = config.listeners.iter().enumerate().map(|(n, listener)| {
        json!({
            "id": format!("l{n}"),
            "address": listener.address.to_string(),
            "protocol": if listener.role == Role::Tcp { "tcp" } else { "mysql" },
            "role": role(listener.role),
            "hostgroup": listener.hostgroup,
            "max_connections": listener.max_connections,
        })
    });
    let hostgroups = scene.reading.hostgroups.iter().map(|group| {
        let (role, partner) = scene.role(group.hostgroup);
        json!({
            "id": format!("h{}", group.hostgroup),
            "hostgroup": group.hostgroup,
            "role": role,
            "partner": partner,
            "comment": scene.comment(group.hostgroup),
        })
    });
    let rows = scene.reading.pool.iter().enumerate();
    let (edges, surplus) = edges(scene, slow);
    let open = config.listeners.iter().filter(|listener| listener.hostgroup.is_none()).count();
    let led = config.query_rules.iter().filter(|rule| rule.active && rule.destination_hostgroup.is_some());
    let shown = rules.iter().filter(|rule| rule.hostgroup.is_some()).count();
    let unknown = users_left_out * (open + 1) + led.count().saturating_sub(shown);
    let mut view = json!({
        "listeners": listeners.collect::<Vec<_>>(),
        "users": users.iter().enumerate().map(|(n, user)| json!({
            "id": format!("u{n}"),
            "user": user.name,
            "default_hostgroup": user.hostgroup,
            "clients": user.clients,
            "clients_max": user.clients_max,
            "fast_forward": user.fast_forward,
        })).collect::<Vec<_>>(),
        "hostgroups": hostgroups.collect::<Vec<_>>(),
        "servers": rows.map(|(n, server)| self::server(n, server, scene, slow)).collect::<Vec<_>>(),
        "edges": edges,
        "left_out": {
            "users": users_left_out,
            "rules": rules_left_out,
            "edges": surplus + unknown,
        },
    });
    [true, false].map(|is_admin| {
        if let Value::Object(members) = &mut view {
            let rules = rules.iter().map(|node| rule(node, is_admin)).collect::<Vec<_>>();
            members.insert("rules".to_owned(), rules.into());
        }
        view.clone()
    })
}

/// A rule; patterns and comments may have literals, and are for admins.
fn rule(rule: &RuleNode, is_admin: bool) -> Value {
    let mut value = rule.value.clone();
    if let Value::Object(members) = &mut value {
        members.insert("id".to_owned(), format!("r{}", rule.id).into());
        members.insert("rule_id".to_owned(), rule.id.into());
        members.insert("hits".to_owned(), rule.hits.into());
        if !is_admin {
            members.insert("match".to_owned(), Value::Null);
            members.insert("comment".to_owned(), Value::Null);
        }
    }
    value
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Auto => "auto",
        Role::ReadWrite => "read_write",
        Role::ReadOnly => "read_only",
        Role::Tcp => "tcp",
    }
}

fn server(n: usize, server: &ServerStats, scene: &Scene<'_>, slow: &Slow) -> Value {
    let key = (server.hostgroup, server.host.clone(), server.port);
    let place = (server.host.clone(), server.port);
    let groups = &scene.reading.hostgroups;
    let candidate = groups
        .iter()
        .filter(|group| group.hostgroup == server.hostgroup)
        .flat_map(|group| &group.servers)
        .find(|candidate| candidate.host == server.host && candidate.port == server.port);
    let reason = match candidate {
        Some(candidate) => candidate.reason.as_deref(),
        None => Some("it does not belong to the hostgroup any more; its connections end"),
    };
    let rows = || {
        let rows = scene.known.config.servers.iter();
        rows.filter(|row| row.hostname == server.host && row.port == server.port)
    };
    let row = rows().find(|row| row.hostgroup_id == server.hostgroup).or_else(|| rows().next());
    json!({
        "id": format!("s{n}"),
        "hostgroup": server.hostgroup,
        "configured_in": row.map(|row| row.hostgroup_id),
        "server": address(&server.host, server.port),
        "name": scene.name(&key),
        "status": server.status,
        "usable": reason.is_none(),
        "reason": reason,
        "weight": candidate.map(|candidate| candidate.weight),
        "used": server.used,
        "free": server.free,
        "limit": candidate.map(|candidate| candidate.limit),
        "most_used": server.most_used,
        "opened": server.opened,
        "failed": server.failed,
        "queries": server.queries,
        "qps": scene.rates.server(server.hostgroup, &server.host, server.port),
        "latency_us": observe::micros(server.latency),
        "bytes_out": server.bytes_sent,
        "bytes_in": server.bytes_received,
        "lag_s": slow.lag_s.get(&place),
        "max_lag_s": row.map(|row| row.max_replication_lag.as_secs()),
        "read_only": slow.read_only.get(&place),
    })
}

/// What leads from one node to another, and why; and how many more there are.
fn edges(scene: &Scene<'_>, slow: &Slow) -> (Vec<Value>, usize) {
    let config = &scene.known.config;
    let edge = |from: String, to: String, why: &str| json!({ "from": from, "to": to, "why": why });
    let mut edges = Vec::new();
    let users = &slow.users.0;
    for (n, listener) in config.listeners.iter().enumerate() {
        match listener.hostgroup {
            Some(hostgroup) => edges.push(edge(format!("l{n}"), format!("h{hostgroup}"), "listener")),
            None => edges
                .extend((0..users.len()).map(|user| edge(format!("l{n}"), format!("u{user}"), "any user"))),
        }
    }
    for (n, user) in users.iter().enumerate() {
        edges.push(edge(format!("u{n}"), format!("h{}", user.hostgroup), "default_hostgroup"));
    }
    for rule in &slow.rules.0 {
        if let Some(hostgroup) = rule.hostgroup {
            edges.push(edge(format!("r{}", rule.id), format!("h{hostgroup}"), "destination_hostgroup"));
        }
    }
    if config.variables.read_write_split {
        for (writer, reader) in config.pairs() {
            edges.push(edge(format!("h{writer}"), format!("h{reader}"), "read/write split"));
        }
    }
    for (n, server) in scene.reading.pool.iter().enumerate() {
        edges.push(edge(format!("h{}", server.hostgroup), format!("s{n}"), "member"));
    }
    // Servers are the last: the edges of many users must not push them out.
    let surplus = edges.len().saturating_sub(EDGES_MAX);
    edges.drain(..surplus);
    (edges, surplus)
}
