//! `mysql-` variables about digests, statistics, the query cache and logs.

use super::super::{Field, Unit, bytes, int, number, percent, switch, text};

/// 1 MiB to 1 GiB.
const LOG_FILE: (i64, i64) = (1_048_576, 1_073_741_824);
/// Lengths of digests and of the statements that they are made of.
const DIGEST_LENGTH: (i64, i64) = (16, 1_048_576);

/// 1 MiB to 64 GiB.
const DIGEST_MEMORY: (i64, i64) = (1_048_576, 68_719_476_736);

pub(super) const FIELDS: &[Field] = &[
    switch("query_digests", true, "compute digests of statements").built(),
    bytes("query_digests_max_digest_length", 2_048, DIGEST_LENGTH, "longest text of a digest").built(),
    bytes(
        "query_digests_max_query_length",
        65_000,
        DIGEST_LENGTH,
        "part of a statement that its digest is of",
    )
    .built(),
    int("query_digests_grouping_limit", 3, (1, 2_089), "values of a list that a digest keeps").built(),
    int(
        "query_digests_groups_grouping_limit",
        10,
        (0, 2_089),
        "repeated groups of values that a digest keeps",
    )
    .built(),
    switch("query_digests_lowercase", false, "digests in lower case").built(),
    switch("query_digests_replace_null", false, "NULL counts as a value").built(),
    switch("query_digests_no_digits", false, "digits in names become `?`").built(),
    switch("query_digests_normalize_digest_text", false, "one text per digest, whatever schema and user").built(),
    switch("query_digests_track_hostname", false, "digests per client address").built(),
    switch("query_digests_keep_comment", false, "digests keep comments").built(),
    bytes(
        "query_digests_max_memory",
        134_217_728,
        DIGEST_MEMORY,
        "memory of the statistics per digest, all threads together: those that are used least make room for new ones; \
         ProxySQL has no such variable",
    )
    .built(),
    switch(
        "parse_failure_logs_digest",
        false,
        "log the digest, not the text, of a SET that is not understood",
    )
    .superseded("a `SET` that is not understood is not logged; it is told by the pin `setting`, and found by its digest"),
    switch("commands_stats", true, "count statements by kind").built(),
    switch("servers_stats", true, "count per server").superseded("what is counted of servers is always there"),
    switch("stats_time_backend_query", false, "measure the time of servers")
    .superseded("it is measured for the digests, and `Backend_query_time_nsec` is always counted"),
    switch("stats_time_query_processor", false, "measure the time of the rules")
    .superseded("what the rules say is remembered for each digest; to measure that would take longer than it does"),
    number("query_cache_size_MB", 256, (0, 10_485_760), Unit::Mebibytes, "memory of the query cache").built(),
    percent("query_cache_soft_ttl_pct", 0, "share of an entry's life after which one client refreshes it").built(),
    int("query_cache_handle_warnings", 0, (0, 1), "1: cache results that had warnings").superseded("what has warnings is not cached"),
    switch("query_cache_stores_empty_result", true, "cache results without rows").built(),
    text("eventslog_filename", "", "query log: start of the file names; empty: no log").built(),
    bytes("eventslog_filesize", 104_857_600, LOG_FILE, "query log: longest file").built(),
    int("eventslog_default_log", 0, (0, 1), "query log: 1 logs what no rule decides about").built(),
    int("eventslog_format", 1, (1, 2), "query log: 1 binary, 2 JSON").built(),
    int(
        "eventslog_buffer_history_size",
        0,
        (0, 8_000_000),
        "query log: newest statements that are kept in memory for DUMP EVENTSLOG; 0: none (ProxySQL 3)",
    )
    .built(),
    int("eventslog_table_memory_size", 10_000, (0, 8_000_000), "most rows of stats_mysql_query_events (ProxySQL 3)").built(),
    bytes(
        "eventslog_buffer_max_query_length",
        32_768,
        (128, 33_554_432),
        "query log: part of a statement that is kept in memory (ProxySQL 3)",
    )
    .built(),
    text("auditlog_filename", "", "audit log: start of the file names; empty: no log").built(),
    bytes("auditlog_filesize", 104_857_600, LOG_FILE, "audit log: longest file").built(),
];
