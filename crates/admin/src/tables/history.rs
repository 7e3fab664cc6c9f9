//! Tables of `stats_history`: counters over time.

use super::Table;
use super::stats::{QUERY_EVENTS_COLUMNS, STATS_MYSQL_CONNECTION_POOL, STATS_MYSQL_QUERY_DIGEST};

const MYSQL_CONNECTIONS: Table = Table::new(
    "mysql_connections",
    &[
        "timestamp INT NOT NULL",
        "Client_Connections_aborted INT NOT NULL",
        "Client_Connections_connected INT NOT NULL",
        "Client_Connections_created INT NOT NULL",
        "Server_Connections_aborted INT NOT NULL",
        "Server_Connections_connected INT NOT NULL",
        "Server_Connections_created INT NOT NULL",
        "ConnPool_get_conn_failure INT NOT NULL",
        "ConnPool_get_conn_immediate INT NOT NULL",
        "ConnPool_get_conn_success INT NOT NULL",
        "Questions INT NOT NULL",
        "Slow_queries INT NOT NULL",
        "GTID_consistent_queries INT NOT NULL",
    ],
    &["PRIMARY KEY (timestamp)"],
);

const MYHGM_CONNECTIONS: Table = Table::new(
    "myhgm_connections",
    &[
        "timestamp INT NOT NULL",
        "MyHGM_myconnpoll_destroy INT NOT NULL",
        "MyHGM_myconnpoll_get INT NOT NULL",
        "MyHGM_myconnpoll_get_ok INT NOT NULL",
        "MyHGM_myconnpoll_push INT NOT NULL",
        "MyHGM_myconnpoll_reset INT NOT NULL",
    ],
    &["PRIMARY KEY (timestamp)"],
);

const MYSQL_QUERY_CACHE: Table = Table::new(
    "mysql_query_cache",
    &[
        "timestamp INT NOT NULL",
        "count_GET INT NOT NULL",
        "count_GET_OK INT NOT NULL",
        "count_SET INT NOT NULL",
        "bytes_IN INT NOT NULL",
        "bytes_OUT INT NOT NULL",
        "Entries_Purged INT NOT NULL",
        "Entries_In_Cache INT NOT NULL",
        "Memory_Bytes INT NOT NULL",
    ],
    &["PRIMARY KEY (timestamp)"],
);

const SYSTEM_CPU: Table = Table::new(
    "system_cpu",
    &["timestamp INT NOT NULL", "tms_utime INT NOT NULL", "tms_stime INT NOT NULL"],
    &["PRIMARY KEY (timestamp)"],
);

const SYSTEM_MEMORY: Table = Table::new(
    "system_memory",
    &[
        "timestamp INT NOT NULL",
        "allocated INT NOT NULL",
        "resident INT NOT NULL",
        "active INT NOT NULL",
        "mapped INT NOT NULL",
        "metadata INT NOT NULL",
        "retained INT NOT NULL",
    ],
    &["PRIMARY KEY (timestamp)"],
);

const HISTORY_MYSQL_STATUS_VARIABLES: Table = Table::new(
    "history_mysql_status_variables",
    &["timestamp INT NOT NULL", "variable_id INT NOT NULL", "variable_value VARCHAR NOT NULL"],
    &["PRIMARY KEY (timestamp, variable_id)"],
);

const HISTORY_MYSQL_STATUS_VARIABLES_LOOKUP: Table = Table::new(
    "history_mysql_status_variables_lookup",
    &["variable_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", "variable_name VARCHAR NOT NULL UNIQUE"],
    &[],
);

const HISTORY_STATS_MYSQL_CONNECTION_POOL: Table = Table::with_time(
    "history_stats_mysql_connection_pool",
    "timestamp INT NOT NULL",
    &STATS_MYSQL_CONNECTION_POOL,
    &["PRIMARY KEY (timestamp, hostgroup, srv_host, srv_port)"],
);

const HISTORY_MYSQL_QUERY_DIGEST: Table =
    Table::with_time("history_mysql_query_digest", "dump_time INT NOT NULL", &STATS_MYSQL_QUERY_DIGEST, &[]);

const HISTORY_MYSQL_QUERY_EVENTS: Table = Table::new("history_mysql_query_events", QUERY_EVENTS_COLUMNS, &[]);

/// Those that are also there for hours and days.
pub(super) const ROLLED: &[&Table] =
    &[&MYSQL_CONNECTIONS, &MYHGM_CONNECTIONS, &MYSQL_QUERY_CACHE, &SYSTEM_CPU, &SYSTEM_MEMORY];

/// The others.
pub(super) const TABLES: &[&Table] = &[
    &HISTORY_MYSQL_STATUS_VARIABLES,
    &HISTORY_MYSQL_STATUS_VARIABLES_LOOKUP,
    &HISTORY_STATS_MYSQL_CONNECTION_POOL,
    &HISTORY_MYSQL_QUERY_DIGEST,
    &HISTORY_MYSQL_QUERY_EVENTS,
];

/// What queries of the digests' history look for.
pub(super) const INDEXES: &[&str] = &[
    "CREATE INDEX IF NOT EXISTS stats_history.idx_history_mysql_query_digest_first_seen \
     ON history_mysql_query_digest (first_seen)",
    "CREATE INDEX IF NOT EXISTS stats_history.idx_history_mysql_query_digest_dump_time \
     ON history_mysql_query_digest (dump_time)",
];
