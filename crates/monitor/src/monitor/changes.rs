//! What is different between two moments.

use std::collections::BTreeMap;

use super::Health;
use crate::{Change, Event};

/// The hostgroups that one server is in, and how it is there.
pub type Places = BTreeMap<u32, Health>;

/// What has changed between two moments of a server, with the cause for each change in a hostgroup.
/// It leaves before it joins, and it is in its place before it is used.
pub(super) fn events<E: Clone>(
    server: &E,
    before: &Places,
    after: &Places,
    cause: impl Fn(u32, Change) -> String,
) -> Vec<Event<E>> {
    let event = |hostgroup: u32, change| Event {
        hostgroup,
        server: server.clone(),
        change,
        cause: cause(hostgroup, change),
    };
    let left = before.keys().filter(|hostgroup| !after.contains_key(hostgroup));
    let joined = after.keys().filter(|hostgroup| !before.contains_key(hostgroup));
    let mut events: Vec<_> = left.map(|hostgroup| event(*hostgroup, Change::Left)).collect();
    events.extend(joined.map(|hostgroup| event(*hostgroup, Change::Joined)));
    for (hostgroup, health) in after {
        let was = before.get(hostgroup).or_else(|| before.values().next()).copied().unwrap_or_default();
        match (was.down, health.down) {
            (false, true) => events.push(event(*hostgroup, Change::Down)),
            (true, false) => events.push(event(*hostgroup, Change::Up)),
            _ => {}
        }
        match (was.passed_over(), health.passed_over()) {
            (None, Some(change)) => events.push(event(*hostgroup, change)),
            (Some(_), None) => events.push(event(*hostgroup, Change::KeepsUp)),
            _ => {}
        }
    }
    events
}

impl Health {
    /// Why it is passed over although it answers.
    fn passed_over(self) -> Option<Change> {
        self.lag.map(Change::Lags).or(self.behind.map(Change::Behind))
    }
}
