//! What is costly to read, and is read every few seconds: users, rules, checks, prepared
//! statements.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use observe::plane::{Check, DataPlane};
use serde_json::{Value, json};

use crate::facts::Known;
use crate::limits::{LIST_MAX, NODES_MAX};
use crate::reading::{Reading, address};

/// What was read.
#[derive(Debug)]
pub(crate) struct Slow {
    /// When.
    pub(crate) at: Instant,
    /// Users for the map, the busiest first, and how many are left out.
    pub(crate) users: (Vec<UserNode>, usize),
    /// Rules for the map, those with the most hits first, and how many are left out.
    pub(crate) rules: (Vec<RuleNode>, usize),
    /// Prepared statements of users, those with the most open ones first.
    pub(crate) prepared: Vec<Value>,
    /// Prepared statements that clients, and connections to servers, have open.
    pub(crate) prepared_open: [u64; 2],
    /// Whether servers are read-only, by host and port.
    pub(crate) read_only: HashMap<(String, u16), bool>,
    /// The lag of servers in seconds, by host and port.
    pub(crate) lag_s: HashMap<(String, u16), i64>,
}

/// A user on the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserNode {
    /// The name.
    pub(crate) name: String,
    /// Where its statements go unless something else decides.
    pub(crate) hostgroup: u32,
    /// Its clients.
    pub(crate) clients: u32,
    /// Most clients.
    pub(crate) clients_max: u32,
    /// Whether nothing of its statements is read.
    pub(crate) fast_forward: bool,
}

/// A rule on the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleNode {
    /// Its number.
    pub(crate) id: i64,
    /// Where it sends statements, if it says so.
    pub(crate) hostgroup: Option<u32>,
    /// How often it matched.
    pub(crate) hits: u64,
    /// The rest of the row.
    pub(crate) value: Value,
}

impl Slow {
    /// Reads it.
    pub(crate) fn read(plane: &dyn DataPlane, known: &Known) -> Self {
        let (prepared, prepared_open) = prepared(plane);
        let checked = |check| last_checks(plane, check);
        Self {
            at: Instant::now(),
            users: users(plane, known),
            rules: rules(plane, known),
            prepared,
            prepared_open,
            read_only: checked(Check::ReadOnly)
                .into_iter()
                .map(|(server, value)| (server, value != 0))
                .collect(),
            lag_s: checked(Check::Lag),
        }
    }
}

fn users(plane: &dyn DataPlane, known: &Known) -> (Vec<UserNode>, usize) {
    let connections: HashMap<String, u32> =
        plane.users().into_iter().map(|user| (user.user, user.connections)).collect();
    let users = known.config.users.iter().filter(|user| user.active && user.frontend);
    let mut nodes: Vec<UserNode> = users
        .map(|user| UserNode {
            name: user.username.clone(),
            hostgroup: user.default_hostgroup,
            clients: connections.get(&user.username).copied().unwrap_or(0),
            clients_max: user.max_connections,
            fast_forward: user.fast_forward,
        })
        .collect();
    nodes.sort_by(|a, b| b.clients.cmp(&a.clients).then_with(|| a.name.cmp(&b.name)));
    cut(nodes)
}

fn rules(plane: &dyn DataPlane, known: &Known) -> (Vec<RuleNode>, usize) {
    let hits: HashMap<i64, u64> = plane.rule_hits().into_iter().collect();
    let rules = known.config.query_rules.iter().filter(|rule| rule.active);
    let mut nodes: Vec<RuleNode> = rules
        .map(|rule| RuleNode {
            id: rule.rule_id,
            hostgroup: rule.destination_hostgroup,
            hits: hits.get(&rule.rule_id).copied().unwrap_or(0),
            value: json!({
                "match": rule.match_digest.as_ref().or(rule.match_pattern.as_ref()).or(rule.digest.as_ref()),
                "username": rule.username,
                "schemaname": rule.schemaname,
                "destination_hostgroup": rule.destination_hostgroup,
                "apply": rule.apply,
                "comment": rule.comment.as_deref().unwrap_or_default(),
            }),
        })
        .collect();
    nodes.sort_by_key(|rule| (std::cmp::Reverse(rule.hits), rule.id));
    cut(nodes)
}

/// As many as are shown, and how many are not.
fn cut<T>(mut nodes: Vec<T>) -> (Vec<T>, usize) {
    let left_out = nodes.len().saturating_sub(NODES_MAX);
    nodes.truncate(NODES_MAX);
    (nodes, left_out)
}

/// User and schema of a prepared statement.
type Owner = (Box<[u8]>, Box<[u8]>);

fn prepared(plane: &dyn DataPlane) -> (Vec<Value>, [u64; 2]) {
    let mut sums: BTreeMap<Owner, [u64; 3]> = BTreeMap::new();
    let mut open = [0_u64; 2];
    for statement in plane.statements() {
        let [texts, clients, servers] = sums.entry((statement.user, statement.schema)).or_default();
        *texts += 1;
        *clients = clients.saturating_add(statement.clients);
        *servers = servers.saturating_add(statement.servers);
        let [of_clients, of_servers] = &mut open;
        *of_clients = of_clients.saturating_add(statement.clients);
        *of_servers = of_servers.saturating_add(statement.servers);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, [_, clients, _])| std::cmp::Reverse(*clients));
    let row = |((user, schema), [texts, clients, servers]): (Owner, [u64; 3])| {
        json!({
            "user": String::from_utf8_lossy(&user),
            "schema": String::from_utf8_lossy(&schema),
            "texts": texts,
            "open_clients": clients,
            "open_servers": servers,
        })
    };
    (rows.into_iter().take(LIST_MAX).map(row).collect(), open)
}

/// Servers that sessions get although the monitor's last check of them has failed, and how.
pub(crate) fn unwatched(plane: &dyn DataPlane, reading: &Reading) -> Vec<(String, String)> {
    let mut failed: BTreeMap<(String, u16), String> = BTreeMap::new();
    for check in [Check::Connect, Check::Ping] {
        for row in plane.checks(check) {
            match row.error {
                Some(error) => _ = failed.insert((row.host, row.port), error),
                None => _ = failed.remove(&(row.host, row.port)),
            }
        }
    }
    let is_used = |host: &str, port: u16| {
        let servers = reading.hostgroups.iter().flat_map(|group| &group.servers);
        servers
            .into_iter()
            .any(|server| server.host == host && server.port == port && server.reason.is_none())
    };
    failed.retain(|(host, port), _| is_used(host, *port));
    // The rest of a server's error has names of accounts, which only admins see.
    let what = |error: &str| error.split(':').next().unwrap_or_default().to_owned();
    failed.iter().map(|((host, port), error)| (address(host, *port), what(error))).collect()
}

/// What servers have said last.
fn last_checks(plane: &dyn DataPlane, check: Check) -> HashMap<(String, u16), i64> {
    let mut values = HashMap::new();
    for row in plane.checks(check) {
        match row.value.filter(|_| row.error.is_none()) {
            Some(value) => _ = values.insert((row.host, row.port), value),
            None => _ = values.remove(&(row.host, row.port)),
        }
    }
    values
}
