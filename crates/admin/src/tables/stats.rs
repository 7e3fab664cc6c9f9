//! Tables of `stats`. They are filled when a statement names them.

use super::{PREPARED_STATEMENTS, Table};

/// What a client of a stats account finds as `global_variables`.
const GLOBAL_VARIABLES: Table = Table::new(
    "global_variables",
    &["variable_name VARCHAR NOT NULL PRIMARY KEY", "variable_value VARCHAR NOT NULL"],
    &[],
);

const STATS_MYSQL_GLOBAL: Table = Table::new(
    "stats_mysql_global",
    &["Variable_Name VARCHAR NOT NULL", "Variable_Value VARCHAR NOT NULL"],
    &["PRIMARY KEY (Variable_Name)"],
);

const STATS_MEMORY_METRICS: Table = Table::new(
    "stats_memory_metrics",
    &["Variable_Name VARCHAR NOT NULL", "Variable_Value VARCHAR NOT NULL"],
    &["PRIMARY KEY (Variable_Name)"],
);

pub(super) const STATS_MYSQL_CONNECTION_POOL: Table = Table::new(
    "stats_mysql_connection_pool",
    &[
        "hostgroup INT",
        "srv_host VARCHAR",
        "srv_port INT",
        "status VARCHAR",
        "ConnUsed INT",
        "ConnFree INT",
        "ConnOK INT",
        "ConnERR INT",
        "MaxConnUsed INT",
        "Queries INT",
        "Queries_GTID_sync INT",
        "Bytes_data_sent INT",
        "Bytes_data_recv INT",
        "Latency_us INT",
    ],
    &[],
);

const STATS_MYSQL_FREE_CONNECTIONS: Table = Table::new(
    "stats_mysql_free_connections",
    &[
        "fd INT NOT NULL",
        "hostgroup INT NOT NULL",
        "srv_host VARCHAR NOT NULL",
        "srv_port INT NOT NULL",
        "user VARCHAR NOT NULL",
        "schema VARCHAR",
        "init_connect VARCHAR",
        "time_zone VARCHAR",
        "sql_mode VARCHAR",
        "autocommit VARCHAR",
        "idle_ms INT",
        "statistics VARCHAR",
        "mysql_info VARCHAR",
    ],
    &[],
);

pub(super) const STATS_MYSQL_QUERY_DIGEST: Table = Table::new(
    "stats_mysql_query_digest",
    &[
        "hostgroup INT",
        "schemaname VARCHAR NOT NULL",
        "username VARCHAR NOT NULL",
        "client_address VARCHAR NOT NULL",
        "digest VARCHAR NOT NULL",
        "digest_text VARCHAR NOT NULL",
        "count_star INT NOT NULL",
        "first_seen INT NOT NULL",
        "last_seen INT NOT NULL",
        "sum_time INT NOT NULL",
        "min_time INT NOT NULL",
        "max_time INT NOT NULL",
        "sum_rows_affected INT NOT NULL",
        "sum_rows_sent INT NOT NULL",
    ],
    &["PRIMARY KEY (hostgroup, schemaname, username, client_address, digest)"],
);

const STATS_POINTSMAN_DIGEST_LATENCY: Table = Table::new(
    "stats_pointsman_digest_latency",
    &[
        "hostgroup INT",
        "schemaname VARCHAR NOT NULL",
        "username VARCHAR NOT NULL",
        "client_address VARCHAR NOT NULL",
        "digest VARCHAR NOT NULL",
        "digest_text VARCHAR NOT NULL",
        "count_star INT NOT NULL",
        "first_seen INT NOT NULL",
        "last_seen INT NOT NULL",
        "min_us INT NOT NULL",
        "p50_us INT NOT NULL",
        "p95_us INT NOT NULL",
        "p99_us INT NOT NULL",
        "p999_us INT NOT NULL",
        "max_us INT NOT NULL",
        "rows_affected INT NOT NULL",
        "rows_sent INT NOT NULL",
        "bytes_received INT NOT NULL",
        "bytes_sent INT NOT NULL",
        "errors INT NOT NULL",
    ],
    &["PRIMARY KEY (hostgroup, schemaname, username, client_address, digest)"],
);

const STATS_POINTSMAN_SHARD_DDL: Table = Table::new(
    "stats_pointsman_shard_ddl",
    &[
        "id INT NOT NULL",
        "statement VARCHAR NOT NULL",
        "tables VARCHAR NOT NULL",
        "hostgroup INT NOT NULL",
        "node VARCHAR NOT NULL",
        "state VARCHAR NOT NULL",
        "error VARCHAR NOT NULL",
        "running INT NOT NULL",
    ],
    &["PRIMARY KEY (id, hostgroup, node)"],
);

const STATS_POINTSMAN_SERVER_EVENTS: Table = Table::new(
    "stats_pointsman_server_events",
    &[
        "time_us INT NOT NULL",
        "hostgroup INT NOT NULL",
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL",
        "event VARCHAR NOT NULL",
        "cause VARCHAR NOT NULL",
    ],
    &[],
);

pub(super) const QUERY_EVENTS_COLUMNS: &[&str] = &[
    "id INTEGER PRIMARY KEY AUTOINCREMENT",
    "thread_id INTEGER",
    "username TEXT",
    "schemaname TEXT",
    "start_time INTEGER",
    "end_time INTEGER",
    "query_digest TEXT",
    "query TEXT",
    "server TEXT",
    "client TEXT",
    "event_type INTEGER",
    "hid INTEGER",
    "extra_info TEXT",
    "affected_rows INTEGER",
    "last_insert_id INTEGER",
    "rows_sent INTEGER",
    "client_stmt_id INTEGER",
    "gtid TEXT",
    "errno INT",
    "error TEXT",
];

const STATS_MYSQL_QUERY_EVENTS: Table = Table::new("stats_mysql_query_events", QUERY_EVENTS_COLUMNS, &[]);

const STATS_POINTSMAN_PINS: Table = Table::new(
    "stats_pointsman_pins",
    &[
        "reason VARCHAR NOT NULL",
        "username VARCHAR NOT NULL",
        "hostgroup INT NOT NULL",
        "sessions INT NOT NULL",
        "oldest_ms INT NOT NULL",
        "oldest_session INT NOT NULL",
    ],
    &["PRIMARY KEY (reason, username, hostgroup)"],
);

const STATS_POINTSMAN_SQLI_FINGERPRINTS: Table = Table::new(
    "stats_pointsman_sqli_fingerprints",
    &["fingerprint VARCHAR NOT NULL", "found INT NOT NULL", "passed INT NOT NULL", "digest VARCHAR NOT NULL"],
    &["PRIMARY KEY (fingerprint)"],
);

const STATS_POINTSMAN_CACHE: Table = Table::new(
    "stats_pointsman_cache",
    &[
        "rule_id INT",
        "digest VARCHAR",
        "hits INT NOT NULL",
        "first_level_hits INT NOT NULL",
        "stale INT NOT NULL",
        "misses INT NOT NULL",
        "misses_absent INT NOT NULL",
        "misses_expired INT NOT NULL",
        "misses_invalidated INT NOT NULL",
        "misses_unproven INT NOT NULL",
        "misses_behind INT NOT NULL",
        "waited INT NOT NULL",
        "stored INT NOT NULL",
        "invalidated VARCHAR NOT NULL",
        "not_stored VARCHAR NOT NULL",
        "refused VARCHAR NOT NULL",
        "bytes_in INT NOT NULL",
        "bytes_out INT NOT NULL",
        "average_age_ms INT NOT NULL",
        "server_us_saved INT NOT NULL",
    ],
    &[],
);

const STATS_POINTSMAN_SOURCES: Table = Table::new(
    "stats_pointsman_sources",
    &[
        "hostgroup INT NOT NULL",
        "server VARCHAR",
        "followed INT NOT NULL",
        "behind_us INT",
        "file INT NOT NULL",
        "position INT NOT NULL",
        "transactions INT NOT NULL",
        "unsettled INT NOT NULL",
        "probes INT NOT NULL",
        "unknown_events INT NOT NULL",
        "flushes INT NOT NULL",
        "resumed INT NOT NULL",
        "reason VARCHAR NOT NULL",
    ],
    &["PRIMARY KEY (hostgroup)"],
);

const STATS_MYSQL_ERRORS: Table = Table::new(
    "stats_mysql_errors",
    &[
        "hostgroup INT NOT NULL",
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL",
        "username VARCHAR NOT NULL",
        "client_address VARCHAR NOT NULL",
        "schemaname VARCHAR NOT NULL",
        "errno INT NOT NULL",
        "count_star INT NOT NULL",
        "first_seen INT NOT NULL",
        "last_seen INT NOT NULL",
        "last_error VARCHAR NOT NULL DEFAULT ''",
    ],
    &["PRIMARY KEY (hostgroup, hostname, port, username, schemaname, errno)"],
);

const STATS_MYSQL_PROCESSLIST: Table = Table::new(
    "stats_mysql_processlist",
    &[
        "ThreadID INT NOT NULL",
        "SessionID INT NOT NULL",
        "user VARCHAR",
        "db VARCHAR",
        "cli_host VARCHAR",
        "cli_port INT",
        "hostgroup INT",
        "l_srv_host VARCHAR",
        "l_srv_port INT",
        "srv_host VARCHAR",
        "srv_port INT",
        "command VARCHAR",
        "time_ms INT NOT NULL",
        "info VARCHAR",
        "status_flags INT",
        "extended_info VARCHAR",
    ],
    &["PRIMARY KEY (SessionID)"],
);

const STATS_MYSQL_COMMANDS_COUNTERS: Table = Table::new(
    "stats_mysql_commands_counters",
    &[
        "Command VARCHAR NOT NULL",
        "Total_Time_us INT NOT NULL",
        "Total_cnt INT NOT NULL",
        "cnt_100us INT NOT NULL",
        "cnt_500us INT NOT NULL",
        "cnt_1ms INT NOT NULL",
        "cnt_5ms INT NOT NULL",
        "cnt_10ms INT NOT NULL",
        "cnt_50ms INT NOT NULL",
        "cnt_100ms INT NOT NULL",
        "cnt_500ms INT NOT NULL",
        "cnt_1s INT NOT NULL",
        "cnt_5s INT NOT NULL",
        "cnt_10s INT NOT NULL",
        "cnt_INFs",
    ],
    &["PRIMARY KEY (Command)"],
);

const STATS_MYSQL_QUERY_RULES: Table = Table::new(
    "stats_mysql_query_rules",
    &["rule_id INT NOT NULL", "hits INT NOT NULL"],
    &["PRIMARY KEY (rule_id)"],
);

const STATS_MYSQL_USERS: Table = Table::new(
    "stats_mysql_users",
    &[
        "username VARCHAR NOT NULL",
        "frontend_connections INT NOT NULL",
        "frontend_max_connections INT NOT NULL",
    ],
    &["PRIMARY KEY (username)"],
);

const STATS_MYSQL_GTID_EXECUTED: Table = Table::new(
    "stats_mysql_gtid_executed",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "gtid_executed VARCHAR",
        "events INT NOT NULL",
    ],
    &[],
);

const STATS_MYSQL_PREPARED_STATEMENTS_INFO: Table = Table::new(
    PREPARED_STATEMENTS,
    &[
        "global_stmt_id INT NOT NULL",
        "schemaname VARCHAR NOT NULL",
        "username VARCHAR NOT NULL",
        "digest VARCHAR NOT NULL",
        "ref_count_client INT NOT NULL",
        "ref_count_server INT NOT NULL",
        "num_columns INT NOT NULL",
        "num_params INT NOT NULL",
        "query VARCHAR NOT NULL",
    ],
    &[],
);

const STATS_MYSQL_CLIENT_HOST_CACHE: Table = Table::new(
    "stats_mysql_client_host_cache",
    &["client_address VARCHAR NOT NULL", "error_count INT NOT NULL", "last_updated BIGINT NOT NULL"],
    &[],
);

const STATS_PROXYSQL_SERVERS_CHECKSUMS: Table = Table::new(
    "stats_proxysql_servers_checksums",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 6032",
        "name VARCHAR NOT NULL",
        "version INT NOT NULL",
        "epoch INT NOT NULL",
        "checksum VARCHAR NOT NULL",
        "changed_at INT NOT NULL",
        "updated_at INT NOT NULL",
        "diff_check INT NOT NULL",
    ],
    &["PRIMARY KEY (hostname, port, name)"],
);

const STATS_PROXYSQL_SERVERS_METRICS: Table = Table::new(
    "stats_proxysql_servers_metrics",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 6032",
        "weight INT CHECK (weight >= 0) NOT NULL DEFAULT 0",
        "comment VARCHAR NOT NULL DEFAULT ''",
        "response_time_ms INT NOT NULL",
        "Uptime_s INT NOT NULL",
        "last_check_ms INT NOT NULL",
        "Queries INT NOT NULL",
        "Client_Connections_connected INT NOT NULL",
        "Client_Connections_created INT NOT NULL",
    ],
    &["PRIMARY KEY (hostname, port)"],
);

const STATS_PROXYSQL_SERVERS_STATUS: Table = Table::new(
    "stats_proxysql_servers_status",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 6032",
        "weight INT CHECK (weight >= 0) NOT NULL DEFAULT 0",
        "master VARCHAR NOT NULL",
        "global_version INT NOT NULL",
        "check_age_us INT NOT NULL",
        "ping_time_us INT NOT NULL",
        "checks_OK INT NOT NULL",
        "checks_ERR INT NOT NULL",
    ],
    &["PRIMARY KEY (hostname, port)"],
);

const STATS_PROXYSQL_SERVERS_CLIENTS_STATUS: Table = Table::new(
    "stats_proxysql_servers_clients_status",
    &[
        "uuid VARCHAR NOT NULL",
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL",
        "admin_mysql_ifaces VARCHAR NOT NULL",
        "last_seen_at INT NOT NULL",
    ],
    &["PRIMARY KEY (uuid, hostname, port)"],
);

const STATS_PROXYSQL_MESSAGE_METRICS: Table = Table::new(
    "stats_proxysql_message_metrics",
    &[
        "message_id VARCHAR NOT NULL",
        "filename VARCHAR NOT NULL",
        "line INT CHECK (line >= 0) NOT NULL DEFAULT 0",
        "func VARCHAR NOT NULL",
        "count_star INT NOT NULL",
        "first_seen INT NOT NULL",
        "last_seen INT NOT NULL",
    ],
    &["PRIMARY KEY (filename, line, func)"],
);

/// Those whose reading changes nothing.
pub(super) const TABLES: &[&Table] = &[
    &GLOBAL_VARIABLES,
    &STATS_MYSQL_GLOBAL,
    &STATS_MEMORY_METRICS,
    &STATS_MYSQL_FREE_CONNECTIONS,
    &STATS_MYSQL_PROCESSLIST,
    &STATS_MYSQL_COMMANDS_COUNTERS,
    &STATS_MYSQL_QUERY_RULES,
    &STATS_MYSQL_USERS,
    &STATS_MYSQL_GTID_EXECUTED,
    &STATS_MYSQL_PREPARED_STATEMENTS_INFO,
    &STATS_PROXYSQL_SERVERS_CHECKSUMS,
    &STATS_PROXYSQL_SERVERS_METRICS,
    &STATS_PROXYSQL_SERVERS_STATUS,
    &STATS_PROXYSQL_SERVERS_CLIENTS_STATUS,
    &STATS_POINTSMAN_DIGEST_LATENCY,
    &STATS_POINTSMAN_SERVER_EVENTS,
    &STATS_POINTSMAN_SHARD_DDL,
    &STATS_MYSQL_QUERY_EVENTS,
    &STATS_POINTSMAN_PINS,
    &STATS_POINTSMAN_SQLI_FINGERPRINTS,
];

/// Those with a twin `..._reset`, whose reading sets counters back.
pub(super) const WITH_RESET: &[&Table] = &[
    &STATS_MYSQL_CONNECTION_POOL,
    &STATS_MYSQL_QUERY_DIGEST,
    &STATS_MYSQL_ERRORS,
    &STATS_MYSQL_CLIENT_HOST_CACHE,
    &STATS_POINTSMAN_CACHE,
    &STATS_POINTSMAN_SOURCES,
    &STATS_PROXYSQL_MESSAGE_METRICS,
];
