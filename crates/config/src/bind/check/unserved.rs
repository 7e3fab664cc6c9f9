//! Pairs, clusters, rules and rows of fast routing whose hostgroups have no server.

use std::collections::{BTreeMap, HashSet};

use super::{shards, shorten};
use crate::model::Config;
use crate::turns::in_turns;

/// What becomes of a statement that is sent to a hostgroup without a server.
const WAITS: &str = "statements that match wait for one and then hear error 9001";

/// A line for each hostgroup without a server that something leads to, and for each of which no
/// server may have a connection. `served` are the hostgroups that have servers.
pub(super) fn warnings(config: &Config, served: &HashSet<u32>) -> Vec<String> {
    // The monitor moves servers between the two hostgroups of a pair.
    let pairs = pairs(config).map(|(_, pair)| pair);
    let reachable: HashSet<u32> = pairs
        .filter(|pair| pair.iter().any(|hostgroup| served.contains(hostgroup)))
        .flatten()
        .chain(served.iter().copied())
        .collect();
    let mut all: Vec<String> = topologies(config, served).collect();
    all.extend(rules(config, &reachable));
    all.extend(fast_routes(config, &reachable));
    all.extend(shards::warnings(config, &reachable));
    all.extend(closed(config));
    all
}

/// The hostgroups of each pair, with its table.
fn pairs(config: &Config) -> impl Iterator<Item = (&'static str, Vec<u32>)> {
    let pairs = config.replication_hostgroups.iter();
    pairs.map(|row| ("mysql_replication_hostgroups", vec![row.writer_hostgroup, row.reader_hostgroup]))
}

/// Pairs and clusters without any server: the monitor has nothing to check there.
fn topologies(config: &Config, served: &HashSet<u32>) -> impl Iterator<Item = String> {
    let empty = |hostgroups: &Vec<u32>| !hostgroups.iter().any(|hostgroup| served.contains(hostgroup));
    pairs(config).chain(config.named_clusters()).filter(move |(_, hostgroups)| empty(hostgroups)).map(
        |(table, hostgroups)| {
            let names: Vec<String> = hostgroups.iter().map(u32::to_string).collect();
            format!("hostgroups {} of `{table}` have no server", names.join(", "))
        },
    )
}

/// Rules that lead to a hostgroup without a server.
fn rules(config: &Config, reachable: &HashSet<u32>) -> Vec<String> {
    let mut unserved: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for rule in in_turns(&config.query_rules).filter(|rule| rule.active) {
        if let Some(hostgroup) = rule.destination_hostgroup.filter(|hostgroup| !reachable.contains(hostgroup))
        {
            unserved.entry(hostgroup).or_default().push(rule.rule_id.to_string());
        }
    }
    let warning = |(hostgroup, rules): (u32, Vec<String>)| {
        let names: Vec<&str> = rules.iter().map(String::as_str).collect();
        let rules = shorten(&names);
        format!(
            "hostgroup {hostgroup} has no server, and is the destination_hostgroup of rule {rules}: {WAITS}"
        )
    };
    unserved.into_iter().map(warning).collect()
}

/// Rows of fast routing that lead to a hostgroup without a server. There may be many.
fn fast_routes(config: &Config, reachable: &HashSet<u32>) -> Vec<String> {
    let mut unserved: BTreeMap<u32, usize> = BTreeMap::new();
    for row in in_turns(&config.fast_routes).filter(|row| !reachable.contains(&row.destination_hostgroup)) {
        *unserved.entry(row.destination_hostgroup).or_default() += 1;
    }
    let warning = |(hostgroup, rows)| {
        format!(
            "hostgroup {hostgroup} has no server, and is the destination_hostgroup of rows of \
             `mysql_query_rules_fast_routing` ({rows}): {WAITS}"
        )
    };
    unserved.into_iter().map(warning).collect()
}

/// Hostgroups of which no server may have a connection.
fn closed(config: &Config) -> impl Iterator<Item = String> {
    let mut most: BTreeMap<u32, u32> = BTreeMap::new();
    for server in in_turns(&config.servers) {
        let most = most.entry(server.hostgroup_id).or_default();
        *most = (*most).max(server.max_connections);
    }
    most.into_iter().filter(|(_, most)| *most == 0).map(|(hostgroup, _)| {
        format!("no server of hostgroup {hostgroup} may have a connection: their `max_connections` is 0")
    })
}
