//! Listeners: what their columns say together, and what other tables say about their hostgroups.

use std::collections::{HashMap, HashSet};

use super::report;
use crate::bind::Listeners;
use crate::bind::tables::Tables;
use crate::model::{Config, HostgroupSettings, Listener, Protocol, Role, Strategy};
use crate::problem::Problem;
use crate::row::PlacedRow;
use crate::schema::{
    LISTENERS, MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_GALERA_HOSTGROUPS, MYSQL_GROUP_REPLICATION_HOSTGROUPS,
    MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_REPLICATION_HOSTGROUPS, MYSQL_SERVERS, Section,
};
use crate::tree::Place;

/// The tables that say whose readers are where.
const PAIRS: [&Section; 4] = [
    &MYSQL_REPLICATION_HOSTGROUPS,
    &MYSQL_GROUP_REPLICATION_HOSTGROUPS,
    &MYSQL_GALERA_HOSTGROUPS,
    &MYSQL_AWS_AURORA_HOSTGROUPS,
];

/// What must hold between the columns of a row.
pub(super) fn row(row: &PlacedRow, listener: &Listener, problems: &mut Vec<Problem>) {
    let role: Role = row.row.get("role");
    if row.row.get::<Protocol>("protocol") == Protocol::Tcp && !matches!(role, Role::Auto | Role::Tcp) {
        let message = format!("`listeners.role` cannot be `{}` with protocol = \"tcp\"", role.name());
        report(problems, row.place("role"), message);
        return;
    }
    if listener.role == Role::Auto && listener.hostgroup.is_some() {
        let message = "`listeners.hostgroup` may not be set with role = \"auto\": the users' rows decide where \
                       statements go";
        report(problems, row.place("hostgroup"), message.to_owned());
    }
    for column in ["connect_timeout_server", "connect_timeout_server_max"] {
        if listener.role != Role::Tcp && !row.row.is_preset(column) {
            let message =
                format!("`listeners.{column}` needs role = \"tcp\": others share connections to servers");
            report(problems, row.place(column), message);
        }
    }
    let Some(strategy) = listener.strategy else { return };
    let message = if listener.role == Role::Auto {
        "`listeners.strategy` may not be set with role = \"auto\": `balance` of the hostgroups decides"
    } else if listener.hostgroup.is_none() {
        "`listeners.strategy` needs `listeners.hostgroup`, whose servers are chosen so"
    } else if strategy.falls_back() && listener.role == Role::ReadWrite {
        "`listeners.strategy` cannot be `round_robin_with_fallback` with role = \"read_write\": it is for readers"
    } else {
        return;
    };
    report(problems, row.place("strategy"), message.to_owned());
}

/// What listeners and other tables say about how a hostgroup chooses must be one thing.
pub(super) fn strategies(tables: &Tables, problems: &mut Vec<Problem>) {
    let mut seen: HashMap<u32, (Strategy, &Place)> = HashMap::new();
    for row in tables.of(&LISTENERS).iter().filter(|row| row.sound) {
        let listener = Listener::from_row(&row.row);
        let (Some(strategy), Some(hostgroup)) = (listener.strategy, listener.hostgroup) else { continue };
        let at = row.place("strategy");
        if let Some((other, first)) = seen.insert(hostgroup, (strategy, at))
            && other.balance() != strategy.balance()
        {
            let message = format!(
                "`listeners.strategy` is another one than that of the listener on {} for the same hostgroup {hostgroup}",
                first.within()
            );
            report(problems, at, message);
        }
        let attributes = tables.of(&MYSQL_HOSTGROUP_ATTRIBUTES).iter().filter(|row| row.sound);
        let balance = attributes
            .filter(|row| row.row.get::<u32>("hostgroup_id") == hostgroup)
            .find_map(|row| row.row.get::<HostgroupSettings>("hostgroup_settings").balance);
        if let Some(balance) = balance.filter(|balance| *balance != strategy.balance()) {
            let message = format!(
                "`listeners.strategy` contradicts `mysql_hostgroup_attributes`, which has `balance` = `{}` for hostgroup {hostgroup}",
                balance.name()
            );
            report(problems, at, message);
        }
        let mut pairs = PAIRS.iter().flat_map(|section| tables.of(section)).filter(|row| row.sound);
        let is_reader = pairs.any(|row| row.row.get::<u32>("reader_hostgroup") == hostgroup);
        if strategy.falls_back() && !is_reader {
            let message = format!(
                "`listeners.strategy` falls back to the hostgroup whose readers these are, but `mysql_replication_hostgroups` \
                 has no row with `reader_hostgroup` = {hostgroup}"
            );
            report(problems, at, message);
        }
    }
}

/// The bytes of a `tcp` listener need a server to go to. Says nothing when rows of servers are
/// broken: the right one may be among them.
pub(super) fn served(listeners: &Listeners, tables: &Tables, problems: &mut Vec<Problem>) {
    let servers = tables.of(&MYSQL_SERVERS);
    if servers.iter().any(|row| !row.sound) {
        return;
    }
    let served: HashSet<u32> = servers.iter().map(|row| row.row.get("hostgroup_id")).collect();
    for (listener, at) in listeners.iter().filter(|(listener, _)| listener.role == Role::Tcp) {
        let hostgroup = listener.hostgroup.unwrap_or_default();
        if !served.contains(&hostgroup) {
            let address = &listener.address;
            let message = format!(
                "the tcp listener {address} has no server: `mysql_servers` has no row of hostgroup {hostgroup}"
            );
            report(problems, at, message);
        }
    }
}

/// Listeners whose clients get no server; `served` are the hostgroups that have one.
pub(super) fn warnings(config: &Config, served: &HashSet<u32>) -> Vec<String> {
    let unserved = |listener: &&Listener| {
        let hostgroup = listener.hostgroup.filter(|_| listener.role != Role::Tcp);
        hostgroup.is_some_and(|hostgroup| !served.contains(&hostgroup))
    };
    let mut warnings: Vec<String> = config
        .listeners
        .iter()
        .filter(unserved)
        .map(|listener| {
            let hostgroup = listener.hostgroup.unwrap_or_default();
            format!("hostgroup {hostgroup} has no server, and is that of the listener {}", listener.address)
        })
        .collect();
    let readers = |listener: &&Listener| listener.role == Role::ReadOnly && listener.hostgroup.is_none();
    if let Some(listener) = config.listeners.iter().find(readers) {
        let writers: HashSet<u32> = config.pairs().map(|(writer, _)| writer).collect();
        let without =
            |user: &&crate::User| user.active && user.frontend && !writers.contains(&user.default_hostgroup);
        let names: Vec<&str> =
            config.users.iter().filter(without).map(|user| user.username.as_str()).collect();
        if !names.is_empty() {
            warnings.push(format!(
                "at the read_only listener {}, whose hostgroup is not set, statements are refused of {}: \
                 `mysql_replication_hostgroups` has no readers of their hostgroups",
                listener.address,
                super::shorten(&names)
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::model::{Config, Role, Strategy};

    const TABLES: &str = "mysql_servers = ( { hostgroup=1, address=\"a\" }, { hostgroup=0, address=\"b\" } )\n\
        mysql_replication_hostgroups = ( { writer_hostgroup=0, reader_hostgroup=1 } )\n\
        mysql_hostgroup_attributes = ( { hostgroup_id=0, hostgroup_settings=\"{\\\"balance\\\":\\\"round_robin\\\"}\" } )\n\
        mysql_users = ( { username=\"u\" } )\n";

    fn parse(listener: &str) -> Result<crate::Loaded, String> {
        let text = format!("{TABLES}listeners = ( {{ address=\"127.0.0.1:1\", {listener} }} )");
        crate::parse(&text, Path::new("f")).map_err(|problems| problems.to_string())
    }

    fn listener(text: &str) -> crate::Listener {
        let Config { mut listeners, .. } = parse(text).unwrap().config;
        listeners.remove(0)
    }

    #[test]
    fn roles_and_strategies() {
        let one = listener(
            "role=\"READ_ONLY\", hostgroup=1, strategy=\"round_robin_with_fallback\", max_connections=3",
        );
        assert_eq!((one.role, one.hostgroup, one.max_connections), (Role::ReadOnly, Some(1), 3));
        assert_eq!(one.strategy, Some(Strategy::RoundRobinWithFallback));
        let one = listener("role=\"read_write\"");
        assert_eq!((one.role, one.hostgroup, one.strategy), (Role::ReadWrite, None, None));
        assert_eq!(listener("role=\"read_write\", hostgroup=0").hostgroup, Some(0));
        for text in ["role=\"tcp\"", "protocol=\"tcp\"", "protocol=\"tcp\", role=\"tcp\", hostgroup=0"] {
            assert_eq!((listener(text).role, listener(text).hostgroup), (Role::Tcp, Some(0)), "{text}");
        }
        // What both say may be the same.
        assert!(parse("role=\"tcp\", strategy=\"round_robin\"").is_ok());
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (text, message) in [
            (
                "protocol=\"tcp\", role=\"read_only\"",
                "`listeners.role` cannot be `read_only` with protocol = \"tcp\"",
            ),
            ("hostgroup=1", "`listeners.hostgroup` may not be set with role = \"auto\""),
            ("hostgroup=0", "`listeners.hostgroup` may not be set with role = \"auto\""),
            ("strategy=\"round_robin\"", "`listeners.strategy` may not be set with role = \"auto\""),
            (
                "role=\"read_only\", strategy=\"round_robin\"",
                "`listeners.strategy` needs `listeners.hostgroup`",
            ),
            (
                "role=\"read_write\", hostgroup=1, strategy=\"round_robin_with_fallback\"",
                "cannot be `round_robin_with_fallback` with role = \"read_write\"",
            ),
            ("role=\"tcp\", strategy=\"first_available\"", "has `balance` = `round_robin` for hostgroup 0"),
            (
                "role=\"tcp\", hostgroup=0, strategy=\"round_robin_with_fallback\"",
                "has no row with `reader_hostgroup` = 0",
            ),
            (
                "connect_timeout_server_max=5000",
                "`listeners.connect_timeout_server_max` needs role = \"tcp\"",
            ),
            ("role=\"readonly\"", "did you mean `read_only`?"),
            ("role=\"tcp\", strategy=\"first-available\"", "did you mean `first_available`?"),
            (
                "role=\"tcp\", hostgroup=1, strategy=\"first_available\" }, { address=\"127.0.0.1:2\", role=\"tcp\", \
                 hostgroup=1, strategy=\"next_available\"",
                "is another one than that of the listener on line 5 for the same hostgroup 1",
            ),
        ] {
            let problems = parse(text).unwrap_err();
            assert!(problems.starts_with("f:5: ") && problems.contains(message), "{text}: {problems}");
        }
    }

    #[test]
    fn listeners_without_servers_are_warned_of() {
        let warnings = |text| {
            let warnings = parse(text).unwrap().warnings.into_iter();
            warnings.filter(|warning| !warning.contains("the admin port")).collect::<Vec<_>>()
        };
        assert_eq!(warnings("role=\"read_only\""), Vec::<String>::new());
        assert_eq!(
            warnings("role=\"read_write\", hostgroup=9"),
            ["f: hostgroup 9 has no server, and is that of the listener 127.0.0.1:1"]
        );
        let text = "listeners = ( { address=\"127.0.0.1:1\", role=\"read_only\" } ) mysql_users = ( { username=\"u\" } ) \
                    mysql_servers = ( { address=\"a\", hostgroup=0 } )";
        let warnings = crate::parse(text, Path::new("f")).unwrap().warnings;
        assert!(warnings[0].contains("statements are refused of `u`"), "{warnings:?}");
    }
}
