//! Rows about hostgroups: pairs of writers and readers, overrides of global settings.

use std::str::FromStr;

use super::CacheSettings;
use crate::json::{self, Json};
use crate::nearest::suggestion;
use crate::row::{FromScalar, from_row};
use crate::schema::{Field, MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_REPLICATION_HOSTGROUPS, Scalar};

/// A writer hostgroup and its readers: a row of `mysql_replication_hostgroups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationHostgroups {
    /// Where the primary is.
    pub writer_hostgroup: u32,
    /// Where its replicas are.
    pub reader_hostgroup: u32,
    /// The server variables that tell them apart.
    pub check_type: String,
    /// Free text.
    pub comment: String,
}

from_row!(ReplicationHostgroups, MYSQL_REPLICATION_HOSTGROUPS, {
    writer_hostgroup,
    reader_hostgroup,
    check_type,
    comment,
});

/// A row of `mysql_hostgroup_attributes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostgroupAttributes {
    /// The hostgroup.
    pub hostgroup_id: u32,
    /// With more servers online, the hostgroup is not used.
    pub max_num_online_servers: u32,
    /// Of the connections that a server may have, the percentage that is kept although idle.
    pub free_connections_pct: u32,
    /// Statements for every new connection; empty: the variable's.
    pub init_connect: String,
    /// Whether connections are shared between sessions.
    pub multiplex: bool,
    /// Whether connections are opened ahead.
    pub connection_warming: bool,
    /// Most new connections in a second.
    pub throttle_connections_per_sec: u32,
    /// What the JSON column says.
    pub hostgroup_settings: HostgroupSettings,
    /// JSON; empty if there is none.
    pub servers_defaults: String,
    /// Free text.
    pub comment: String,
}

from_row!(HostgroupAttributes, MYSQL_HOSTGROUP_ATTRIBUTES, {
    hostgroup_id,
    max_num_online_servers,
    free_connections_pct,
    init_connect,
    multiplex,
    connection_warming,
    throttle_connections_per_sec,
    hostgroup_settings,
    servers_defaults,
    comment,
});

/// The members of `hostgroup_settings` that have a meaning; what is missing is `None`. Other
/// members are allowed, and so are other types in ProxySQL's own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostgroupSettings {
    /// Instead of the variable `mysql-handle_warnings`.
    pub handle_warnings: Option<bool>,
    /// The lag in seconds that a server which does not know its lag is taken to have.
    pub monitor_slave_lag_when_null: Option<u64>,
    /// How a server is chosen; like the next ones not one of ProxySQL's.
    pub balance: Option<Balance>,
    /// Most connections to all servers together; at least 1.
    pub max_backend_connections: Option<u32>,
    /// Idle connections to each server that are kept, and opened if there are fewer.
    pub min_idle_connections: Option<u32>,
    /// Whether replicas are found that `mysql_servers` does not name. It counts for writer
    /// hostgroups of `mysql_replication_hostgroups`.
    pub discover_replicas: Option<bool>,
    /// Seconds after which such a replica is forgotten when its primary does not name it any more.
    pub forget_replicas_after: Option<u64>,
    /// How answers of the hostgroup are cached where neither a rule nor the user says something
    /// else.
    pub cache: Option<CacheSettings>,
}

/// How a server of a hostgroup is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Balance {
    /// At random, by weight.
    #[default]
    Weighted,
    /// Of two chosen by weight the one that runs fewer statements.
    LeastLoaded,
    /// In turn.
    RoundRobin,
    /// The first one that can be used, in the order of the table.
    FirstAvailable,
    /// The same, but one that has failed is not used again.
    NextAvailable,
}

impl Balance {
    /// All of them with their words in `balance`.
    const WORDS: [(&str, Self); 5] = [
        ("weighted", Self::Weighted),
        ("least_loaded", Self::LeastLoaded),
        ("round_robin", Self::RoundRobin),
        ("first_available", Self::FirstAvailable),
        ("next_available", Self::NextAvailable),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, balance)| *balance == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for HostgroupSettings {
    /// The rest of a sentence that starts with the setting's name.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let json = json::parse(text).ok_or("must be JSON, or empty")?;
        let balance = match json.get("balance") {
            None | Some(Json::Null) => None,
            Some(value) => Some(balance(value)?),
        };
        let discover_replicas = match json.get("discover_replicas") {
            None | Some(Json::Null) => None,
            Some(value) => Some(json::switch(value).ok_or("must have as `discover_replicas` true or false")?),
        };
        let forget_replicas_after = match json.get("forget_replicas_after") {
            None | Some(Json::Null) => None,
            Some(value) => {
                Some(value.as_u64().ok_or("must have as `forget_replicas_after` a number of seconds")?)
            }
        };
        Ok(Self {
            discover_replicas,
            forget_replicas_after,
            cache: CacheSettings::of(&json)?,
            handle_warnings: json.get("handle_warnings").and_then(json::switch),
            monitor_slave_lag_when_null: json.get("monitor_slave_lag_when_null").and_then(Json::as_u64),
            balance,
            max_backend_connections: number(&json, "max_backend_connections", 1)?,
            min_idle_connections: number(&json, "min_idle_connections", 0)?,
        })
    }
}

/// A number of connections, if there is one.
fn number(json: &Json, name: &str, min: u32) -> Result<Option<u32>, String> {
    let Some(value) = json.get(name).filter(|value| **value != Json::Null) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number >= min);
    number.map(Some).ok_or_else(|| format!("must have `{name}` as a whole number of at least {min}"))
}

fn balance(value: &Json) -> Result<Balance, String> {
    let word = value.as_str().unwrap_or_default();
    let found = Balance::WORDS.into_iter().find(|(name, _)| *name == word).map(|(_, balance)| balance);
    found.ok_or_else(|| {
        let names = Balance::WORDS.map(|(name, _)| name);
        let (got, near) = match value.as_str() {
            Some(word) => (format!(", not \"{}\"", word.escape_debug()), suggestion(word, names)),
            None => (String::new(), String::new()),
        };
        format!("must have as `balance` one of `{}`{got}{near}", names.join("`, `"))
    })
}

impl FromScalar for HostgroupSettings {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { text.parse().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_from_json() {
        let mut row = crate::Row::presets(&MYSQL_HOSTGROUP_ATTRIBUTES);
        assert_eq!(HostgroupAttributes::from_row(&row).hostgroup_settings, HostgroupSettings::default());
        let (at, _) = MYSQL_HOSTGROUP_ATTRIBUTES.find("hostgroup_settings").unwrap();
        let json = r#"{"handle_warnings":0,"monitor_slave_lag_when_null":7,"balance":"least_loaded","x":1}"#;
        row.set(at, Scalar::Text(json.to_owned()));
        let settings = HostgroupAttributes::from_row(&row).hostgroup_settings;
        assert_eq!(settings.handle_warnings, Some(false));
        assert_eq!(settings.monitor_slave_lag_when_null, Some(7));
        assert_eq!(settings.balance, Some(Balance::LeastLoaded));
        let bounds: HostgroupSettings =
            r#"{"max_backend_connections":5,"min_idle_connections":0}"#.parse().unwrap();
        assert_eq!((bounds.max_backend_connections, bounds.min_idle_connections), (Some(5), Some(0)));
    }

    #[test]
    fn replicas_are_discovered_where_that_is_wanted() {
        let settings: HostgroupSettings =
            r#"{"discover_replicas":true,"forget_replicas_after":60}"#.parse().unwrap();
        assert_eq!((settings.discover_replicas, settings.forget_replicas_after), (Some(true), Some(60)));
        for text in [r#"{"discover_replicas":"yes"}"#, r#"{"forget_replicas_after":-1}"#] {
            assert!(text.parse::<HostgroupSettings>().unwrap_err().starts_with("must have as"), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, complaint) in [
            (r#"{"balance":"weigthed"}"#, "not \"weigthed\""),
            (
                r#"{"max_backend_connections":0}"#,
                "must have `max_backend_connections` as a whole number of at least 1",
            ),
            (
                r#"{"min_idle_connections":"3"}"#,
                "must have `min_idle_connections` as a whole number of at least 0",
            ),
            (r#"{"balance":1}"#, "must have as `balance` one of `weighted`, `least_loaded`"),
            ("{", "must be JSON, or empty"),
        ] {
            let error = text.parse::<HostgroupSettings>().unwrap_err();
            assert!(error.contains(complaint), "{error}");
        }
        for text in ["", "{}", r#"{"balance":null}"#, "[]", r#"{"handle_warnings":"x"}"#] {
            assert_eq!(text.parse(), Ok(HostgroupSettings::default()), "{text}");
        }
    }
}
