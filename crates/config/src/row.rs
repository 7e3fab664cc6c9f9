//! Checked rows, and their way into the typed configuration.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{
    Address, AuthPlugin, CausalReads, CheckLogins, Credentials, FirewallMode, LogFormat, Networks, Protocol,
    ProxyProtocol, Role, ServerStatus, ShardTransactions, Strategy, TrackGtids, UserAttributes,
};
use crate::schema::{Column, Field, Kind, Null, Preset, Scalar, Section, Unit, addresses};
use crate::tree::Place;

/// One checked value for every field of a section: a row of a table, or a group of variables. Cheap
/// to clone.
#[derive(Clone)]
pub struct Row {
    section: &'static Section,
    cells: Arc<[Scalar]>,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.section.name == other.section.name && self.cells == other.cells
    }
}

/// Without what must not be printed.
#[expect(clippy::missing_fields_in_debug, reason = "the cells are the fields")]
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.section.name);
        for (field, cell) in self.section.fields().zip(self.cells()) {
            out.field(field.name, if field.secret { &"hidden" } else { cell });
        }
        out.finish()
    }
}

impl Row {
    /// The row without a given value. What must be given is empty, or the least possible number.
    pub(crate) fn presets(section: &'static Section) -> Self {
        let cells = section.fields().map(|field| match (field.preset, field.kind) {
            (Preset::Required, Kind::Int { min, .. }) => Scalar::Int(min),
            (Preset::Required, Kind::Bool) => Scalar::Bool(false),
            (preset, _) => preset.value().unwrap_or_else(|| Scalar::Text(String::new())),
        });
        Self { section, cells: cells.collect() }
    }

    /// The row of these values, one for each field of `section`, which its kind accepted.
    pub(crate) fn of(section: &'static Section, cells: Vec<Scalar>) -> Self {
        debug_assert_eq!(cells.len(), section.fields().count());
        Self { section, cells: cells.into() }
    }

    /// Gives the field at `position` a value that its kind accepted.
    pub(crate) fn set(&mut self, position: usize, value: Scalar) {
        if let Some(cell) = Arc::make_mut(&mut self.cells).get_mut(position) {
            *cell = value;
        }
    }

    /// The row with another value, which the field's kind accepts, of the field called `name`.
    #[must_use]
    pub fn with(&self, name: &str, value: Scalar) -> Self {
        let mut row = self.clone();
        if let Some((at, _)) = self.section.find(name) {
            row.set(at, value);
        }
        row
    }

    /// The section that it is a row of.
    pub fn section(&self) -> &'static Section {
        self.section
    }

    /// The values of all fields, in their order.
    pub fn cells(&self) -> &[Scalar] {
        &self.cells
    }

    /// The value of the field called `name`, which the section has.
    pub fn scalar(&self, name: &str) -> &Scalar {
        self.cell(name).0
    }

    /// Whether the field called `name`, which the section has, is at its default.
    pub(crate) fn is_preset(&self, name: &str) -> bool {
        let (scalar, field) = self.cell(name);
        field.preset.value().as_ref() == Some(scalar)
    }

    /// The value of the field called `name`, which the section has and whose kind fits `T`.
    pub(crate) fn get<T: FromScalar>(&self, name: &str) -> T {
        let (scalar, field) = self.cell(name);
        T::from_scalar(scalar, field)
            .unwrap_or_else(|| unreachable!("the kind of `{name}` admits only what its type can hold"))
    }

    /// The value of `column`, which the row's section has and whose kind fits `T`.
    pub(crate) fn at<T: FromScalar>(&self, column: Column) -> T {
        debug_assert_eq!(
            self.section.fields().nth(column.at).map(|field| field.name),
            Some(column.field.name)
        );
        let value = self.cells.get(column.at).and_then(|scalar| T::from_scalar(scalar, column.field));
        let name = column.field.name;
        value.unwrap_or_else(|| unreachable!("the kind of `{name}` admits only what its type can hold"))
    }

    fn cell(&self, name: &str) -> (&Scalar, &'static Field) {
        let found = self.section.find(name).and_then(|(at, field)| Some((self.cells.get(at)?, field)));
        found.unwrap_or_else(|| unreachable!("`{}` has no field `{name}`", self.section.name))
    }
}

/// A row, and where its parts stand in the file.
#[derive(Debug, Clone)]
pub(crate) struct PlacedRow {
    /// The values.
    pub(crate) row: Row,
    /// Where the row starts.
    pub(crate) at: Place,
    /// Where each field's value stands; nothing where the preset holds. Without this list, which
    /// rows of tables lack, every value other than the preset counts as given, in the row.
    pub(crate) given: Option<Vec<Option<Place>>>,
    /// Whether every given value was accepted, and none is missing.
    pub(crate) sound: bool,
}

impl PlacedRow {
    /// Where the field called `name` got its value; nothing if it got none.
    pub(crate) fn given(&self, name: &str) -> Option<&Place> {
        let (at, field) = self.row.section.find(name)?;
        match &self.given {
            Some(given) => given.get(at)?.as_ref(),
            None => Some(&self.at).filter(|_| field.preset.value().as_ref() != self.row.cells.get(at)),
        }
    }

    /// Where to point at for the field called `name`: its value, or the row.
    pub(crate) fn place(&self, name: &str) -> &Place {
        self.given(name).unwrap_or(&self.at)
    }
}

/// A type that a checked value becomes.
pub(crate) trait FromScalar: Sized {
    /// The value; nothing if `scalar` is none that `field` admits.
    fn from_scalar(scalar: &Scalar, field: &Field) -> Option<Self>;
}

impl FromScalar for bool {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Bool(value) = scalar { Some(*value) } else { None }
    }
}

impl FromScalar for u16 {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Int(value) = scalar { Self::try_from(*value).ok() } else { None }
    }
}

impl FromScalar for u32 {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Int(value) = scalar { Self::try_from(*value).ok() } else { None }
    }
}

impl FromScalar for u64 {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Int(value) = scalar { Self::try_from(*value).ok() } else { None }
    }
}

impl FromScalar for i64 {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Int(value) = scalar { Some(*value) } else { None }
    }
}

impl FromScalar for Duration {
    fn from_scalar(scalar: &Scalar, field: &Field) -> Option<Self> {
        let Scalar::Int(value) = scalar else { return None };
        let value = u64::try_from(*value).ok()?;
        match field.kind {
            Kind::Int { unit: Unit::Milliseconds, .. } => Some(Self::from_millis(value)),
            Kind::Int { unit: Unit::Seconds, .. } => Some(Self::from_secs(value)),
            _ => None,
        }
    }
}

impl FromScalar for String {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { Some(text.clone()) } else { None }
    }
}

impl FromScalar for Vec<Address> {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { addresses(text).ok() } else { None }
    }
}

impl FromScalar for UserAttributes {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { text.parse().ok() } else { None }
    }
}

impl FromScalar for Credentials {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { text.parse().ok() } else { None }
    }
}

/// NULL is `None`, and so is an empty text, as in ProxySQL: programs write one for the other. Not
/// where it is an answer, or takes the place of something.
impl FromScalar for Option<String> {
    fn from_scalar(scalar: &Scalar, field: &Field) -> Option<Self> {
        match scalar {
            Scalar::Null => Some(None),
            Scalar::Text(text) => {
                Some(Some(text.clone()).filter(|text| field.null == Null::UnlikeEmpty || !text.is_empty()))
            }
            Scalar::Bool(_) | Scalar::Int(_) => None,
        }
    }
}

/// Implements [`FromScalar`] for what may be NULL.
macro_rules! nullable {
    ($($type:ty),*) => {
        $(impl FromScalar for Option<$type> {
            fn from_scalar(scalar: &Scalar, field: &Field) -> Option<Self> {
                match scalar {
                    Scalar::Null => Some(None),
                    _ => <$type>::from_scalar(scalar, field).map(Some),
                }
            }
        })*
    };
}

nullable!(bool, u16, u32, Duration, Strategy);

impl FromScalar for Address {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { text.parse().ok() } else { None }
    }
}

impl FromScalar for Networks {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        if let Scalar::Text(text) = scalar { text.parse().ok() } else { None }
    }
}

impl FromScalar for ProxyProtocol {
    fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
        match scalar {
            Scalar::Int(0) => Some(Self::Off),
            Scalar::Int(1) => Some(Self::V1),
            Scalar::Int(2) => Some(Self::V2),
            _ => None,
        }
    }
}

/// Implements [`FromScalar`] for types that stand for words.
macro_rules! words {
    ($type:ty { $($word:literal => $value:expr,)* }) => {
        impl FromScalar for $type {
            fn from_scalar(scalar: &Scalar, _: &Field) -> Option<Self> {
                match scalar {
                    $(Scalar::Text(text) if text == $word => Some($value),)*
                    _ => None,
                }
            }
        }
    };
}

words!(Protocol { "mysql" => Self::Mysql, "tcp" => Self::Tcp, });
words!(Role {
    "auto" => Self::Auto,
    "read_write" => Self::ReadWrite,
    "read_only" => Self::ReadOnly,
    "tcp" => Self::Tcp,
});
words!(Strategy {
    "first_available" => Self::FirstAvailable,
    "next_available" => Self::NextAvailable,
    "round_robin" => Self::RoundRobin,
    "round_robin_with_fallback" => Self::RoundRobinWithFallback,
    "least_loaded" => Self::LeastLoaded,
});
words!(ServerStatus {
    "ONLINE" => Self::Online,
    "SHUNNED" => Self::Shunned,
    "OFFLINE_SOFT" => Self::OfflineSoft,
    "OFFLINE_HARD" => Self::OfflineHard,
});
words!(FirewallMode {
    "OFF" => Self::Off,
    "DETECTING" => Self::Detecting,
    "PROTECTING" => Self::Protecting,
});
words!(LogFormat { "text" => Self::Text, "json" => Self::Json, });
words!(CheckLogins { "never" => Self::Never, "first" => Self::First, "always" => Self::Always, });
words!(CausalReads { "off" => Self::Off, "session" => Self::Session, "user" => Self::User,
    "application" => Self::Application, });
words!(ShardTransactions { "single" => Self::Single, "best_effort" => Self::BestEffort, });
words!(TrackGtids { "OFF" => Self::Off, "OWN_GTID" => Self::OwnGtid, });
words!(AuthPlugin {
    "mysql_native_password" => Self::MysqlNativePassword,
    "caching_sha2_password" => Self::CachingSha2Password,
});

/// Makes a struct readable from the rows of a section: each field from the column of its name, or
/// from the one named behind it.
macro_rules! from_row {
    ($type:ty, $section:expr, { $($field:ident $(= $column:literal)?,)* }) => {
        impl $type {
            /// The section's columns that end up in this type.
            #[cfg(test)]
            pub(crate) const COLUMNS: &[&str] =
                &[$($crate::row::from_row!(@column $field $($column)?),)*];

            /// The typed form of a row.
            pub(crate) fn from_row(row: &$crate::row::Row) -> Self {
                Self { $($field: row.at(const { $section.column($crate::row::from_row!(@column $field $($column)?)) }),)* }
            }
        }

        impl Default for $type {
            fn default() -> Self {
                Self::from_row(&$crate::row::Row::presets(&$section))
            }
        }
    };
    (@column $field:ident) => { stringify!($field) };
    (@column $field:ident $column:literal) => { $column };
}
pub(crate) use from_row;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        AdminVariables, AuroraHostgroups, ClusterHostgroups, FastRoute, FirewallRule, FirewallUser,
        HostgroupAttributes, Listener, MonitorVariables, MysqlVariables, PointsmanVariables, QueryRule,
        ReplicationHostgroups, Server, ServerOptions, ServerTls, SqliFingerprint, User,
    };
    use crate::schema::{
        ADMIN_VARIABLES, LISTENERS, MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_FIREWALL_WHITELIST_RULES,
        MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS, MYSQL_FIREWALL_WHITELIST_USERS, MYSQL_GALERA_HOSTGROUPS,
        MYSQL_GROUP_REPLICATION_HOSTGROUPS, MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_QUERY_RULES,
        MYSQL_QUERY_RULES_FAST_ROUTING, MYSQL_REPLICATION_HOSTGROUPS, MYSQL_SERVERS,
        MYSQL_SERVERS_SSL_PARAMS, MYSQL_USERS, MYSQL_VARIABLES, POINTSMAN_SERVERS, POINTSMAN_VARIABLES,
        TOP_LEVEL,
    };

    /// Variables that the admin port reads from its own tables.
    const READ_FROM_TABLES: &[&str] = &[
        "restapi_enabled",
        "restapi_port",
        "stats_mysql_connection_pool",
        "stats_mysql_connections",
        "stats_mysql_eventslog_sync_buffer_to_disk",
        "stats_mysql_query_cache",
        "stats_mysql_query_digest_to_disk",
        "stats_system_cpu",
        "stats_system_memory",
        "vacuum_stats",
        "web_enabled",
        "web_port",
    ];

    #[test]
    fn what_is_built_is_what_the_types_hold() {
        let monitor = [&["interfaces"], MonitorVariables::COLUMNS].concat();
        for (section, columns, elsewhere) in [
            (&MYSQL_VARIABLES, MysqlVariables::COLUMNS, &monitor[..]),
            (
                &POINTSMAN_VARIABLES,
                PointsmanVariables::COLUMNS,
                &["restapi_address", "restapi_credentials", "restapi_get"],
            ),
            (&ADMIN_VARIABLES, AdminVariables::COLUMNS, READ_FROM_TABLES),
            (&MYSQL_SERVERS, Server::COLUMNS, &[]),
            (&POINTSMAN_SERVERS, ServerOptions::COLUMNS, &[]),
            (&MYSQL_USERS, User::COLUMNS, &[]),
            (&MYSQL_FIREWALL_WHITELIST_USERS, FirewallUser::COLUMNS, &[]),
            (&MYSQL_FIREWALL_WHITELIST_RULES, FirewallRule::COLUMNS, &[]),
            (&MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS, SqliFingerprint::COLUMNS, &[]),
            (&MYSQL_SERVERS_SSL_PARAMS, ServerTls::COLUMNS, &[]),
            (&TOP_LEVEL, &["datadir", "errorlog", "log_format", "pidfile"], &[]),
            (&LISTENERS, Listener::COLUMNS, &[]),
        ] {
            let mut held: Vec<_> = columns.iter().chain(elsewhere).copied().collect();
            let mut built: Vec<_> =
                section.fields().filter(|field| field.built).map(|field| field.name).collect();
            held.sort_unstable();
            built.sort_unstable();
            assert_eq!(held, built, "{}", section.name);
        }
    }

    /// Some of their columns are not built yet, so they are not in the list above.
    #[test]
    fn types_of_what_is_not_built_yet_hold_all_columns_but_those_without_effect() {
        for (section, columns) in [
            (&MYSQL_QUERY_RULES, QueryRule::COLUMNS),
            (&MYSQL_QUERY_RULES_FAST_ROUTING, FastRoute::COLUMNS),
            (&MYSQL_REPLICATION_HOSTGROUPS, ReplicationHostgroups::COLUMNS),
            (&MYSQL_GROUP_REPLICATION_HOSTGROUPS, ClusterHostgroups::COLUMNS),
            (&MYSQL_GALERA_HOSTGROUPS, ClusterHostgroups::COLUMNS),
            (&MYSQL_AWS_AURORA_HOSTGROUPS, AuroraHostgroups::COLUMNS),
            (&MYSQL_HOSTGROUP_ATTRIBUTES, HostgroupAttributes::COLUMNS),
        ] {
            let missing = section.fields().filter(|field| !columns.contains(&field.name));
            for field in missing {
                assert_eq!(field.doc, "no effect in ProxySQL either", "{}.{}", section.name, field.name);
            }
        }
    }

    #[test]
    fn rules_do_all_that_they_do_in_proxysql() {
        let mut missing = MYSQL_QUERY_RULES.fields().filter(|field| !field.built);
        assert!(missing.all(|field| field.doc == "no effect in ProxySQL either"));
    }

    #[test]
    fn the_types_hold_every_value_of_their_columns() {
        for section in [
            &MYSQL_VARIABLES,
            &POINTSMAN_VARIABLES,
            &ADMIN_VARIABLES,
            &MYSQL_SERVERS,
            &POINTSMAN_SERVERS,
            &MYSQL_USERS,
            &MYSQL_SERVERS_SSL_PARAMS,
            &MYSQL_QUERY_RULES,
            &MYSQL_QUERY_RULES_FAST_ROUTING,
            &MYSQL_FIREWALL_WHITELIST_USERS,
            &MYSQL_FIREWALL_WHITELIST_RULES,
            &MYSQL_REPLICATION_HOSTGROUPS,
            &MYSQL_GROUP_REPLICATION_HOSTGROUPS,
            &MYSQL_GALERA_HOSTGROUPS,
            &MYSQL_AWS_AURORA_HOSTGROUPS,
            &MYSQL_HOSTGROUP_ATTRIBUTES,
        ] {
            let mut least = Row::presets(section);
            let mut greatest = Row::presets(section);
            for (at, field) in section.fields().enumerate() {
                match field.kind {
                    Kind::Int { min, max, .. } => {
                        least.set(at, Scalar::Int(min));
                        greatest.set(at, Scalar::Int(max));
                    }
                    Kind::Choice(of) => {
                        least.set(at, Scalar::Text(of[0].to_owned()));
                        greatest.set(at, Scalar::Text(of[of.len() - 1].to_owned()));
                    }
                    _ => {}
                }
            }
            for row in [least, greatest] {
                match section.name {
                    "mysql_variables" => {
                        drop((MysqlVariables::from_row(&row), MonitorVariables::from_row(&row)));
                    }
                    "pointsman_variables" => drop(PointsmanVariables::from_row(&row)),
                    "admin_variables" => drop(AdminVariables::from_row(&row)),
                    "mysql_servers_ssl_params" => drop(ServerTls::from_row(&row)),
                    "mysql_servers" => drop(Server::from_row(&row)),
                    "pointsman_servers" => drop(ServerOptions::from_row(&row)),
                    "mysql_query_rules" => drop(QueryRule::from_row(&row)),
                    "mysql_query_rules_fast_routing" => drop(FastRoute::from_row(&row)),
                    "mysql_firewall_whitelist_users" => drop(FirewallUser::from_row(&row)),
                    "mysql_firewall_whitelist_rules" => drop(FirewallRule::from_row(&row)),
                    "mysql_firewall_whitelist_sqli_fingerprints" => drop(SqliFingerprint::from_row(&row)),
                    "mysql_replication_hostgroups" => drop(ReplicationHostgroups::from_row(&row)),
                    "mysql_group_replication_hostgroups" | "mysql_galera_hostgroups" => {
                        drop(ClusterHostgroups::from_row(&row));
                    }
                    "mysql_aws_aurora_hostgroups" => drop(AuroraHostgroups::from_row(&row)),
                    "mysql_hostgroup_attributes" => drop(HostgroupAttributes::from_row(&row)),
                    _ => drop(User::from_row(&row)),
                }
            }
        }
    }
}
