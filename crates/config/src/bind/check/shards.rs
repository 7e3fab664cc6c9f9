//! Layouts of sharded tables against servers and users.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::shorten;
use crate::model::Config;
use crate::turns::in_turns;

/// What deserves attention, a line each. `reachable` are the hostgroups that have a server, or may
/// get one.
pub(super) fn warnings(config: &Config, reachable: &HashSet<u32>) -> Vec<String> {
    let mut all = unserved(config, reachable);
    all.extend(strangers(config));
    all
}

/// Users whose statements go to no home, unless rules send them there.
fn strangers(config: &Config) -> Option<String> {
    let homes: HashSet<u32> =
        config.shards.iter().flat_map(|layout| layout.homes()).map(|home| home.hostgroup).collect();
    let users = in_turns(&config.users).filter(|user| user.active && user.frontend);
    let users = users.filter(|user| !homes.contains(&user.default_hostgroup));
    let names: Vec<&str> = users.map(|user| user.username.as_str()).collect();
    (!homes.is_empty() && !names.is_empty()).then(|| {
        format!(
            "the default_hostgroup of {} is none of `pointsman_shard_homes`: their statements on tables without \
             shards go there all the same",
            shorten(&names)
        )
    })
}

/// Tables whose nodes are in hostgroups without a server, and homes that are.
fn unserved(config: &Config, reachable: &HashSet<u32>) -> Vec<String> {
    let mut unserved: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for table in config.shards.iter().flat_map(|layout| layout.tables()) {
        let hostgroups: BTreeSet<u32> = table.nodes().iter().map(|node| node.hostgroup).collect();
        for hostgroup in hostgroups.into_iter().filter(|hostgroup| !reachable.contains(hostgroup)) {
            unserved.entry(hostgroup).or_default().push(format!("{}.{}", table.schema, table.name));
        }
    }
    let homes = config.shards.iter().flat_map(|layout| layout.homes());
    for home in homes.filter(|home| !reachable.contains(&home.hostgroup)) {
        let schema = home.schema.as_deref().unwrap_or("all schemas");
        unserved.entry(home.hostgroup).or_default().push(format!("other tables of {schema}"));
    }
    let warning = |(hostgroup, tables): (u32, Vec<String>)| {
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        let tables = shorten(&names);
        format!(
            "hostgroup {hostgroup} has no server, and has nodes of {tables}: statements that need them wait for \
             one and then hear error 9001"
        )
    };
    unserved.into_iter().map(warning).collect()
}
