//! ProxySQL 3's tables of its second protocol. Nothing comes of their rows: they are there so that
//! programs that compare and load them come to an end. Source: ProxySQL 3.0's admin interface.

use super::Table;

const SERVERS: Table = Table::new(
    "pgsql_servers",
    &[
        "hostgroup_id INT CHECK (hostgroup_id>=0) NOT NULL DEFAULT 0",
        "hostname VARCHAR NOT NULL",
        "port INT CHECK (port >= 0 AND port <= 65535) NOT NULL DEFAULT 5432",
        "status VARCHAR NOT NULL DEFAULT 'ONLINE'",
        "weight INT CHECK (weight >= 0 AND weight <=10000000) NOT NULL DEFAULT 1",
        "compression INT CHECK (compression IN(0,1)) NOT NULL DEFAULT 0",
        "max_connections INT CHECK (max_connections >=0) NOT NULL DEFAULT 1000",
        "max_replication_lag INT NOT NULL DEFAULT 0",
        "use_ssl INT CHECK (use_ssl IN(0,1)) NOT NULL DEFAULT 0",
        "max_latency_ms INT UNSIGNED NOT NULL DEFAULT 0",
        "comment VARCHAR NOT NULL DEFAULT ''",
    ],
    &["PRIMARY KEY (hostgroup_id, hostname, port)"],
);

const USERS: Table = Table::new(
    "pgsql_users",
    &[
        "username VARCHAR NOT NULL",
        "password VARCHAR",
        "active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 1",
        "use_ssl INT CHECK (use_ssl IN (0,1)) NOT NULL DEFAULT 0",
        "default_hostgroup INT NOT NULL DEFAULT 0",
        "transaction_persistent INT CHECK (transaction_persistent IN (0,1)) NOT NULL DEFAULT 1",
        "fast_forward INT CHECK (fast_forward IN (0,1)) NOT NULL DEFAULT 0",
        "backend INT CHECK (backend IN (0,1)) NOT NULL DEFAULT 1",
        "frontend INT CHECK (frontend IN (0,1)) NOT NULL DEFAULT 1",
        "max_connections INT CHECK (max_connections >=0) NOT NULL DEFAULT 10000",
        "attributes VARCHAR NOT NULL DEFAULT ''",
        "comment VARCHAR NOT NULL DEFAULT ''",
    ],
    &["PRIMARY KEY (username, backend)", "UNIQUE (username, frontend)"],
);

const QUERY_RULES: Table = Table::new(
    "pgsql_query_rules",
    &[
        "rule_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 0",
        "username VARCHAR",
        "database VARCHAR",
        "flagIN INT CHECK (flagIN >= 0) NOT NULL DEFAULT 0",
        "client_addr VARCHAR",
        "proxy_addr VARCHAR",
        "proxy_port INT",
        "digest VARCHAR",
        "match_digest VARCHAR",
        "match_pattern VARCHAR",
        "negate_match_pattern INT CHECK (negate_match_pattern IN (0,1)) NOT NULL DEFAULT 0",
        "re_modifiers VARCHAR DEFAULT 'CASELESS'",
        "flagOUT INT",
        "replace_pattern VARCHAR",
        "destination_hostgroup INT DEFAULT NULL",
        "cache_ttl INT",
        "cache_empty_result INT DEFAULT NULL",
        "cache_timeout INT",
        "reconnect INT DEFAULT NULL",
        "timeout INT UNSIGNED",
        "retries INT",
        "delay INT UNSIGNED",
        "next_query_flagIN INT UNSIGNED",
        "mirror_flagOUT INT UNSIGNED",
        "mirror_hostgroup INT UNSIGNED",
        "error_msg VARCHAR",
        "OK_msg VARCHAR",
        "sticky_conn INT",
        "multiplex INT",
        "log INT",
        "apply INT CHECK(apply IN (0,1)) NOT NULL DEFAULT 0",
        "attributes VARCHAR NOT NULL DEFAULT ''",
        "comment VARCHAR",
    ],
    &[],
);

const QUERY_RULES_FAST_ROUTING: Table = Table::new(
    "pgsql_query_rules_fast_routing",
    &[
        "username VARCHAR NOT NULL",
        "database VARCHAR NOT NULL",
        "flagIN INT NOT NULL DEFAULT 0",
        "destination_hostgroup INT NOT NULL",
        "comment VARCHAR NOT NULL",
    ],
    &["PRIMARY KEY (username, database, flagIN)"],
);

const HOSTGROUP_ATTRIBUTES: Table = Table::new(
    "pgsql_hostgroup_attributes",
    &[
        "hostgroup_id INT NOT NULL PRIMARY KEY",
        "max_num_online_servers INT NOT NULL DEFAULT 1000000",
        "autocommit INT NOT NULL DEFAULT -1",
        "free_connections_pct INT NOT NULL DEFAULT 10",
        "init_connect VARCHAR NOT NULL DEFAULT ''",
        "multiplex INT NOT NULL DEFAULT 1",
        "connection_warming INT NOT NULL DEFAULT 0",
        "throttle_connections_per_sec INT NOT NULL DEFAULT 1000000",
        "ignore_session_variables VARCHAR NOT NULL DEFAULT ''",
        "hostgroup_settings VARCHAR NOT NULL DEFAULT ''",
        "servers_defaults VARCHAR NOT NULL DEFAULT ''",
        "comment VARCHAR NOT NULL DEFAULT ''",
    ],
    &[],
);

const REPLICATION_HOSTGROUPS: Table = Table::new(
    "pgsql_replication_hostgroups",
    &[
        "writer_hostgroup INT CHECK (writer_hostgroup>=0) NOT NULL PRIMARY KEY",
        "reader_hostgroup INT NOT NULL CHECK (reader_hostgroup<>writer_hostgroup AND reader_hostgroup>=0)",
        "check_type VARCHAR NOT NULL DEFAULT 'read_only'",
        "comment VARCHAR NOT NULL DEFAULT ''",
        "UNIQUE (reader_hostgroup)",
    ],
    &[],
);

const FIREWALL_USERS: Table = Table::new(
    "pgsql_firewall_whitelist_users",
    &[
        "active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 1",
        "username VARCHAR NOT NULL",
        "client_address VARCHAR NOT NULL",
        "mode VARCHAR NOT NULL DEFAULT 'OFF'",
        "comment VARCHAR NOT NULL",
    ],
    &["PRIMARY KEY (username, client_address)"],
);

const FIREWALL_RULES: Table = Table::new(
    "pgsql_firewall_whitelist_rules",
    &[
        "active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 1",
        "username VARCHAR NOT NULL",
        "client_address VARCHAR NOT NULL",
        "database VARCHAR NOT NULL",
        "flagIN INT NOT NULL DEFAULT 0",
        "digest VARCHAR NOT NULL",
        "comment VARCHAR NOT NULL",
    ],
    &["PRIMARY KEY (username, client_address, database, flagIN, digest)"],
);

const FIREWALL_FINGERPRINTS: Table = Table::new(
    "pgsql_firewall_whitelist_sqli_fingerprints",
    &["active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 1", "fingerprint VARCHAR NOT NULL"],
    &["PRIMARY KEY (fingerprint)"],
);

/// All of them; each has a `runtime_` copy.
pub(super) const TABLES: &[&Table] = &[
    &SERVERS,
    &USERS,
    &QUERY_RULES,
    &QUERY_RULES_FAST_ROUTING,
    &HOSTGROUP_ATTRIBUTES,
    &REPLICATION_HOSTGROUPS,
    &FIREWALL_USERS,
    &FIREWALL_RULES,
    &FIREWALL_FINGERPRINTS,
];
