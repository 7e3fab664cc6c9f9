//! Modules, and the moves of their rows between file, disk, memory and runtime.

mod load;
mod moves;

use config::schema::{self, Section};

/// A part of the configuration that is moved as a whole: the word between LOAD and TO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// `MYSQL USERS`: `mysql_users`.
    MysqlUsers,
    /// `MYSQL SERVERS`: `mysql_servers` and the tables about hostgroups and single servers.
    MysqlServers,
    /// `MYSQL QUERY RULES`: `mysql_query_rules` and `mysql_query_rules_fast_routing`.
    MysqlQueryRules,
    /// `MYSQL FIREWALL`: the three whitelist tables.
    MysqlFirewall,
    /// `MYSQL VARIABLES`: the rows `mysql-...` of `global_variables`.
    MysqlVariables,
    /// `ADMIN VARIABLES`: the rows `admin-...`.
    AdminVariables,
    /// `SQLITESERVER VARIABLES`: the rows `sqliteserver-...`, which nothing reads.
    SqliteserverVariables,
    /// `CLICKHOUSE USERS`: nothing.
    ClickhouseUsers,
    /// `CLICKHOUSE VARIABLES`: nothing.
    ClickhouseVariables,
    /// `POINTSMAN VARIABLES`: the rows `pointsman-...`, which ProxySQL does not have.
    PointsmanVariables,
    /// `POINTSMAN LISTENERS`: `pointsman_listeners`, which ProxySQL does not have.
    PointsmanListeners,
    /// `SHARDS`: the tables `pointsman_shard_...`, which ProxySQL does not have.
    Shards,
    /// `SCHEDULER`: `scheduler`.
    Scheduler,
    /// `RESTAPI`: `restapi_routes`.
    Restapi,
    /// `PROXYSQL SERVERS`: `proxysql_servers`.
    ProxysqlServers,
    /// `COREDUMP`: `coredump_filters`, which is in no file and not on disk.
    Coredump,
}

impl Module {
    /// Every module.
    pub const ALL: [Self; 16] = [
        Self::MysqlUsers,
        Self::MysqlServers,
        Self::MysqlQueryRules,
        Self::MysqlFirewall,
        Self::MysqlVariables,
        Self::AdminVariables,
        Self::SqliteserverVariables,
        Self::ClickhouseUsers,
        Self::ClickhouseVariables,
        Self::PointsmanVariables,
        Self::PointsmanListeners,
        Self::Shards,
        Self::Scheduler,
        Self::Restapi,
        Self::ProxysqlServers,
        Self::Coredump,
    ];

    /// The words of commands that name it, in upper case with one blank between.
    pub const fn words(self) -> &'static str {
        match self {
            Self::MysqlUsers => "MYSQL USERS",
            Self::MysqlServers => "MYSQL SERVERS",
            Self::MysqlQueryRules => "MYSQL QUERY RULES",
            Self::MysqlFirewall => "MYSQL FIREWALL",
            Self::MysqlVariables => "MYSQL VARIABLES",
            Self::AdminVariables => "ADMIN VARIABLES",
            Self::SqliteserverVariables => "SQLITESERVER VARIABLES",
            Self::ClickhouseUsers => "CLICKHOUSE USERS",
            Self::ClickhouseVariables => "CLICKHOUSE VARIABLES",
            Self::PointsmanVariables => "POINTSMAN VARIABLES",
            Self::PointsmanListeners => "POINTSMAN LISTENERS",
            Self::Shards => "SHARDS",
            Self::Scheduler => "SCHEDULER",
            Self::Restapi => "RESTAPI",
            Self::ProxysqlServers => "PROXYSQL SERVERS",
            Self::Coredump => "COREDUMP",
        }
    }
}

/// From which layer to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// `LOAD ... TO MEMORY`, `LOAD ... FROM DISK`.
    DiskToMemory,
    /// `SAVE ... TO DISK`, `SAVE ... FROM MEMORY`.
    MemoryToDisk,
    /// `LOAD ... TO RUNTIME`, `LOAD ... FROM MEMORY`.
    MemoryToRuntime,
    /// `SAVE ... TO MEMORY`, `SAVE ... FROM RUNTIME`.
    RuntimeToMemory,
    /// `LOAD ... FROM CONFIG`.
    FileToMemory,
}

impl Module {
    /// The sections of the configuration that it consists of; none for what is not configured here.
    pub(crate) fn sections(self) -> &'static [&'static Section] {
        match self {
            Self::MysqlUsers => const { &[&schema::MYSQL_USERS] },
            Self::MysqlServers => {
                const {
                    &[
                        &schema::MYSQL_SERVERS,
                        &schema::MYSQL_REPLICATION_HOSTGROUPS,
                        &schema::MYSQL_GROUP_REPLICATION_HOSTGROUPS,
                        &schema::MYSQL_GALERA_HOSTGROUPS,
                        &schema::MYSQL_AWS_AURORA_HOSTGROUPS,
                        &schema::MYSQL_HOSTGROUP_ATTRIBUTES,
                        &schema::MYSQL_SERVERS_SSL_PARAMS,
                        &schema::POINTSMAN_SERVERS,
                    ]
                }
            }
            Self::MysqlQueryRules => {
                const { &[&schema::MYSQL_QUERY_RULES, &schema::MYSQL_QUERY_RULES_FAST_ROUTING] }
            }
            Self::MysqlFirewall => {
                const {
                    &[
                        &schema::MYSQL_FIREWALL_WHITELIST_USERS,
                        &schema::MYSQL_FIREWALL_WHITELIST_RULES,
                        &schema::MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
                    ]
                }
            }
            Self::MysqlVariables => const { &[&schema::MYSQL_VARIABLES] },
            Self::AdminVariables => const { &[&schema::ADMIN_VARIABLES] },
            Self::SqliteserverVariables => const { &[&schema::SQLITESERVER_VARIABLES] },
            Self::PointsmanVariables => const { &[&schema::POINTSMAN_VARIABLES] },
            Self::PointsmanListeners => const { &[&schema::LISTENERS] },
            Self::Shards => {
                const {
                    &[
                        &schema::POINTSMAN_SHARD_TABLES,
                        &schema::POINTSMAN_SHARD_NODES,
                        &schema::POINTSMAN_SHARD_GROUPS,
                        &schema::POINTSMAN_SHARD_SEQUENCES,
                        &schema::POINTSMAN_SHARD_HOMES,
                    ]
                }
            }
            Self::Scheduler => const { &[&schema::SCHEDULER] },
            Self::Restapi => const { &[&schema::RESTAPI_ROUTES] },
            Self::ProxysqlServers => const { &[&schema::PROXYSQL_SERVERS] },
            Self::ClickhouseUsers | Self::ClickhouseVariables | Self::Coredump => const { &[] },
        }
    }

    /// What the names of its variables begin with, if it consists of variables.
    pub(crate) fn prefix(self) -> Option<&'static str> {
        self.sections().iter().find_map(|section| section.prefix)
    }
}
