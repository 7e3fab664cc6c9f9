//! `mysql-monitor_` variables.

use super::super::{DAYS_7_MS, Field, int, ms, seconds, switch, text};

/// Pauses between two checks.
const INTERVAL: (i64, i64) = (100, DAYS_7_MS);
/// Longest waits for an answer.
const TIMEOUT: (i64, i64) = (100, 600_000);
/// Checks in a row.
const CHECKS: (i64, i64) = (1, 10);
/// Limits of the worker pool's queue and of the resolver's.
const QUEUE: (i64, i64) = (16, 1_024);

pub(super) const FIELDS: &[Field] = &[
    switch("monitor_enabled", true, "check servers").built(),
    text(
        "monitor_username",
        "monitor",
        "user of the checks; also an account of the admin port that may only read statistics",
    )
    .built(),
    text("monitor_password", "monitor", "password of that user").secret().built(),
    ms("monitor_history", 7_200_000, (1_000, DAYS_7_MS), "how long results are kept").built(),
    ms("monitor_connect_interval", 120_000, INTERVAL, "time between two connect checks").built(),
    ms("monitor_connect_timeout", 600, TIMEOUT, "longest time for a connect check").built(),
    ms("monitor_ping_interval", 8_000, INTERVAL, "time between two pings").built(),
    ms("monitor_ping_timeout", 1_000, TIMEOUT, "longest time for a ping").built(),
    int(
        "monitor_ping_max_failures",
        3,
        (1, 1_000_000),
        "missed pings in a row after which a server is shunned and its connections are closed",
    )
    .built(),
    ms("monitor_read_only_interval", 1_000, INTERVAL, "time between two read_only checks").built(),
    ms("monitor_read_only_timeout", 800, TIMEOUT, "longest time for a read_only check").built(),
    int(
        "monitor_read_only_max_timeout_count",
        3,
        (1, 1_000_000),
        "timeouts in a row after which a server counts as read-only",
    )
    .built(),
    switch("monitor_writer_is_also_reader", true, "writers are in the reader hostgroup, too").built(),
    ms("monitor_replication_lag_interval", 10_000, INTERVAL, "time between two lag checks").built(),
    ms("monitor_replication_lag_timeout", 1_000, TIMEOUT, "longest time for a lag check").built(),
    int(
        "monitor_replication_lag_count",
        1,
        CHECKS,
        "checks in a row over the limit after which a server is shunned",
    )
    .built(),
    switch(
        "monitor_replication_lag_group_by_host",
        false,
        "no difference: a server is asked once for all its rows",
    )
    .built(),
    text(
        "monitor_replication_lag_use_percona_heartbeat",
        "",
        "`db.table` of pt-heartbeat to measure the lag with; empty: ask the server",
    )
    .built(),
    seconds(
        "monitor_slave_lag_when_null",
        60,
        (0, 604_800),
        "the lag of a replica that does not know its own",
    )
    .built(),
    ms(
        "monitor_groupreplication_healthcheck_interval",
        5_000,
        INTERVAL,
        "time between two Group Replication checks",
    )
    .built(),
    ms(
        "monitor_groupreplication_healthcheck_timeout",
        800,
        TIMEOUT,
        "longest time for a Group Replication check",
    )
    .built(),
    int(
        "monitor_groupreplication_healthcheck_max_timeout_count",
        3,
        CHECKS,
        "timeouts after which a Group Replication member is offline",
    )
    .built(),
    int(
        "monitor_groupreplication_max_transactions_behind_count",
        3,
        CHECKS,
        "checks over the limit after which a Group Replication member is shunned",
    )
    .built(),
    int(
        "monitor_groupreplication_max_transactions_behind_for_read_only",
        1,
        (0, 2),
        "where members are shunned for their lag: 0 writers, 1 readers, 2 both",
    )
    .built(),
    ms("monitor_galera_healthcheck_interval", 5_000, (50, DAYS_7_MS), "time between two Galera checks")
        .built(),
    ms("monitor_galera_healthcheck_timeout", 800, (50, 600_000), "longest time for a Galera check").built(),
    int(
        "monitor_galera_healthcheck_max_timeout_count",
        3,
        CHECKS,
        "timeouts after which a Galera node is offline",
    )
    .built(),
    int(
        "monitor_aws_rds_topology_discovery_interval",
        0,
        (0, 100_000),
        "servers of `mysql_replication_hostgroups` are asked for the RDS Multi-AZ cluster that they are part of once in so many \
         read_only checks; 0: never",
    )
    .built(),
    ms("monitor_query_interval", 60_000, INTERVAL, "no effect in ProxySQL either")
    .superseded("each check has an interval of its own, as in ProxySQL"),
    ms("monitor_query_timeout", 100, TIMEOUT, "no effect in ProxySQL either")
    .superseded("each check has a limit of its own, as in ProxySQL"),
    int("monitor_threads_min", 8, (2, 256), "fewest threads of checks")
    .superseded("one thread makes all checks, and waits for none of them"),
    int("monitor_threads_max", 128, (4, 1_024), "most threads of checks").superseded("the same"),
    int("monitor_threads_queue_maxsize", 128, QUEUE, "checks that wait before a thread is added")
    .superseded("the same"),
    ms(
        "monitor_local_dns_cache_ttl",
        300_000,
        (0, DAYS_7_MS),
        "age of an address of a server's name after which the name is looked up anew; 0: addresses are not kept",
    )
    .built(),
    ms(
        "monitor_local_dns_cache_refresh_interval",
        60_000,
        (0, DAYS_7_MS),
        "time between two looks for addresses that are older; 0: addresses are not kept",
    )
    .built(),
    int("monitor_local_dns_resolver_queue_maxsize", 128, QUEUE, "names that wait to be resolved").built(),
    switch("monitor_wait_timeout", true, "SET wait_timeout on the connections of checks")
    .superseded("a check whose connection its server has closed meanwhile opens another one"),
];
