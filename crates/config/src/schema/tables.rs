//! The configuration tables. The order of columns is part of the contract: people insert by
//! position.

mod firewall;
mod hostgroups;
mod rules;
mod servers;
mod services;
mod shards;
mod users;

pub use firewall::{
    MYSQL_FIREWALL_WHITELIST_RULES, MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    MYSQL_FIREWALL_WHITELIST_USERS,
};
pub use hostgroups::{
    MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_GALERA_HOSTGROUPS, MYSQL_GROUP_REPLICATION_HOSTGROUPS,
    MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_REPLICATION_HOSTGROUPS,
};
pub use rules::{MYSQL_QUERY_RULES, MYSQL_QUERY_RULES_FAST_ROUTING};
pub use servers::{MYSQL_SERVERS, MYSQL_SERVERS_SSL_PARAMS};
pub use services::{PROXYSQL_SERVERS, RESTAPI_ROUTES, SCHEDULER};
pub use shards::{
    POINTSMAN_SHARD_GROUPS, POINTSMAN_SHARD_HOMES, POINTSMAN_SHARD_NODES, POINTSMAN_SHARD_SEQUENCES,
    POINTSMAN_SHARD_TABLES,
};
pub use users::MYSQL_USERS;
