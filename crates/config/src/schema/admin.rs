//! The group `admin_variables`: ProxySQL's `admin-` family.

use super::{COUNT, Field, Kind, PORT, Preset, Section, Shape, int, ms, seconds, switch, text};

/// The group `admin_variables`.
pub static ADMIN_VARIABLES: Section = Section::new(
    "admin_variables",
    Shape::Group,
    &[GENERAL, CLUSTER, CHECKSUMS, WEB],
    "The admin port, its statistics history, the cluster of proxies and the web interface.",
)
.prefix("admin-")
.removed(&["hash_passwords"]);

/// Differing checks before a peer's configuration is taken; 0 never.
const DIFFS: (i64, i64) = (0, 1_000);

const GENERAL: &[Field] = &[
    Field::new(
        "admin_credentials",
        Kind::Credentials,
        Preset::Text(""),
        "accounts of the admin port with full rights; `admin` may only log in from this machine",
    )
    .secret()
    .built(),
    Field::new(
        "stats_credentials",
        Kind::Credentials,
        Preset::Text(""),
        "accounts of the admin port that may only read statistics; `stats` may only log in from this machine",
    )
    .secret()
    .built(),
    Field::new(
        "mysql_ifaces",
        Kind::Addresses,
        Preset::Text("127.0.0.1:6032"),
        "where the admin port listens, separated by `;`; empty: nowhere",
    )
    .built(),
    text("telnet_admin_ifaces", "", "no effect in ProxySQL either"),
    text("telnet_stats_ifaces", "", "no effect in ProxySQL either"),
    switch("read_only", false, "refuse changes on the admin port").built(),
    ms("refresh_interval", 2_000, (101, 99_999), "period of the admin loop"),
    switch("vacuum_stats", true, "empty tables of statistics after they were read").built(),
    text("version", "", "read only: the version of the program"),
    seconds("stats_mysql_connections", 60, (0, 300), "period of this history; 0: none").built(),
    seconds("stats_mysql_connection_pool", 60, (0, 300), "period of this history; 0: none").built(),
    seconds("stats_mysql_query_cache", 60, (0, 300), "period of this history; 0: none").built(),
    seconds("stats_system_cpu", 60, (0, 600), "period of this history; 0: none").built(),
    seconds("stats_system_memory", 60, (0, 600), "period of this history; 0: none").built(),
    seconds(
        "stats_mysql_eventslog_sync_buffer_to_disk",
        0,
        (0, 86_400),
        "period of DUMP EVENTSLOG FROM BUFFER TO DISK; 0: none (ProxySQL 3)",
    )
    .built(),
    seconds("stats_mysql_query_digest_to_disk", 0, (0, 86_400), "period of digest dumps; 0: none").built(),
    ms("coredump_generation_interval_ms", 30_000, COUNT, "least time between two core files"),
    int("coredump_generation_threshold", 10, (1, 500), "most core files"),
    text("ssl_keylog_file", "", "file for the keys of TLS sessions"),
    switch("debug", false, "debug builds of ProxySQL only"),
    int("debug_output", 1, (1, 3), "debug builds of ProxySQL only"),
];

const CLUSTER: &[Field] = &[
    text("cluster_username", "", "user towards peers; empty: no cluster"),
    text("cluster_password", "", "password towards peers").secret(),
    ms("cluster_check_interval_ms", 1_000, (10, 300_000), "time between two checks of a peer"),
    int("cluster_check_status_frequency", 10, (0, 10_000), "checks between two reads of a peer's status"),
    int(
        "cluster_mysql_query_rules_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    int(
        "cluster_mysql_servers_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    int("cluster_mysql_users_diffs_before_sync", 3, DIFFS, "differing checks before taking these; 0: never"),
    int(
        "cluster_proxysql_servers_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    int(
        "cluster_mysql_variables_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    int(
        "cluster_admin_variables_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    int(
        "cluster_ldap_variables_diffs_before_sync",
        3,
        DIFFS,
        "differing checks before taking these; 0: never",
    ),
    switch("cluster_mysql_query_rules_save_to_disk", true, "save what was taken"),
    switch("cluster_mysql_servers_save_to_disk", true, "save what was taken"),
    switch("cluster_mysql_users_save_to_disk", true, "save what was taken"),
    switch("cluster_proxysql_servers_save_to_disk", true, "save what was taken"),
    switch("cluster_mysql_variables_save_to_disk", true, "save what was taken"),
    switch("cluster_admin_variables_save_to_disk", true, "save what was taken"),
    switch("cluster_ldap_variables_save_to_disk", true, "save what was taken"),
    int(
        "cluster_mysql_servers_sync_algorithm",
        1,
        (1, 3),
        "1: runtime state and configuration, 2: configuration, 3: as 1, without monitor as 2",
    ),
];

const CHECKSUMS: &[Field] = &[
    switch("checksum_mysql_query_rules", true, "deprecated; false: never take these from peers"),
    switch("checksum_mysql_servers", true, "deprecated; false: never take these from peers"),
    switch("checksum_mysql_users", true, "deprecated; false: never take these from peers"),
    switch("checksum_mysql_variables", true, "deprecated; false: never take these from peers"),
    switch("checksum_admin_variables", true, "deprecated; false: never take these from peers"),
    switch("checksum_ldap_variables", true, "deprecated; false: never take these from peers"),
];

const WEB: &[Field] = &[
    switch("restapi_enabled", false, "serve REST").built(),
    int("restapi_port", 6_070, PORT, "port of REST").built(),
    switch("web_enabled", false, "serve the page for operators").built(),
    int("web_port", 6_080, PORT, "port of the page for operators").built(),
    int("web_verbosity", 0, (0, 10), "detail of the status pages"),
    seconds("prometheus_memory_metrics_interval", 61, (1, 604_800), "period of the memory metrics"),
];
