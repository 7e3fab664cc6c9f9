//! Tables of `monitor`: what checks of servers found.

use super::Table;

const MYSQL_SERVER_CONNECT_LOG: Table = Table::new(
    "mysql_server_connect_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "connect_success_time_us INT DEFAULT 0",
        "connect_error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_PING_LOG: Table = Table::new(
    "mysql_server_ping_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "ping_success_time_us INT DEFAULT 0",
        "ping_error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_READ_ONLY_LOG: Table = Table::new(
    "mysql_server_read_only_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "success_time_us INT DEFAULT 0",
        "read_only INT DEFAULT 1",
        "error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_REPLICATION_LAG_LOG: Table = Table::new(
    "mysql_server_replication_lag_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "success_time_us INT DEFAULT 0",
        "repl_lag INT DEFAULT 0",
        "error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_GROUP_REPLICATION_LOG: Table = Table::new(
    "mysql_server_group_replication_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "success_time_us INT DEFAULT 0",
        "viable_candidate VARCHAR NOT NULL DEFAULT 'NO'",
        "read_only VARCHAR NOT NULL DEFAULT 'YES'",
        "transactions_behind INT DEFAULT 0",
        "error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_GALERA_LOG: Table = Table::new(
    "mysql_server_galera_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "success_time_us INT DEFAULT 0",
        "primary_partition VARCHAR NOT NULL DEFAULT 'NO'",
        "read_only VARCHAR NOT NULL DEFAULT 'YES'",
        "wsrep_local_recv_queue INT DEFAULT 0",
        "wsrep_local_state INT DEFAULT 0",
        "wsrep_desync VARCHAR NOT NULL DEFAULT 'NO'",
        "wsrep_reject_queries VARCHAR NOT NULL DEFAULT 'NO'",
        "wsrep_sst_donor_rejects_queries VARCHAR NOT NULL DEFAULT 'NO'",
        "pxc_maint_mode VARCHAR NOT NULL DEFAULT 'NO'",
        "error VARCHAR",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us)"],
);

const MYSQL_SERVER_AWS_AURORA_LOG: Table = Table::new(
    "mysql_server_aws_aurora_log",
    &[
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "time_start_us INT NOT NULL DEFAULT 0",
        "success_time_us INT DEFAULT 0",
        "error VARCHAR",
        "SERVER_ID VARCHAR NOT NULL DEFAULT ''",
        "SESSION_ID VARCHAR",
        "LAST_UPDATE_TIMESTAMP VARCHAR",
        "replica_lag_in_milliseconds INT NOT NULL DEFAULT 0",
        "estimated_lag_ms INT NOT NULL DEFAULT 0",
        "CPU INT NOT NULL DEFAULT 0",
    ],
    &["PRIMARY KEY (hostname, port, time_start_us, SERVER_ID)"],
);

const MYSQL_SERVER_AWS_AURORA_CHECK_STATUS: Table = Table::new(
    "mysql_server_aws_aurora_check_status",
    &[
        "writer_hostgroup INT NOT NULL",
        "hostname VARCHAR NOT NULL",
        "port INT NOT NULL DEFAULT 3306",
        "last_checked_at VARCHAR",
        "checks_tot INT NOT NULL DEFAULT 0",
        "checks_ok INT NOT NULL DEFAULT 0",
        "last_error VARCHAR",
    ],
    &["PRIMARY KEY (writer_hostgroup, hostname, port)"],
);

const MYSQL_SERVER_AWS_AURORA_FAILOVERS: Table = Table::new(
    "mysql_server_aws_aurora_failovers",
    &["writer_hostgroup INT NOT NULL", "hostname VARCHAR NOT NULL", "inserted_at VARCHAR NOT NULL"],
    &[],
);

/// All of them.
pub(super) const TABLES: &[&Table] = &[
    &MYSQL_SERVER_CONNECT_LOG,
    &MYSQL_SERVER_PING_LOG,
    &MYSQL_SERVER_READ_ONLY_LOG,
    &MYSQL_SERVER_REPLICATION_LAG_LOG,
    &MYSQL_SERVER_GROUP_REPLICATION_LOG,
    &MYSQL_SERVER_GALERA_LOG,
    &MYSQL_SERVER_AWS_AURORA_LOG,
    &MYSQL_SERVER_AWS_AURORA_CHECK_STATUS,
    &MYSQL_SERVER_AWS_AURORA_FAILOVERS,
];
