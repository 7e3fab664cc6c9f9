//! Modules, and the moves of their rows between file, disk, memory and runtime.

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
    pub const ALL: [Self; 15] = [
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
