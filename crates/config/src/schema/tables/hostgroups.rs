//! The tables about hostgroups: topologies, and overrides of global settings.

use super::super::{
    COUNT, Field, Kind, Preset, Rule, Section, Shape, choice, int, json, ms, percent, switch, text,
};

/// The table `mysql_replication_hostgroups`.
pub static MYSQL_REPLICATION_HOSTGROUPS: Section = Section::new(
    "mysql_replication_hostgroups",
    Shape::Rows,
    &[&[
        int("writer_hostgroup", 0, COUNT, "the primary").required().built(),
        int("reader_hostgroup", 0, COUNT, "the replicas").required().built(),
        choice(
            "check_type",
            "read_only",
            &[
                "read_only",
                "innodb_read_only",
                "super_read_only",
                "read_only|innodb_read_only",
                "read_only&innodb_read_only",
            ],
            "the server variables that are looked at",
        )
        .built(),
        text("comment", "", "free text").built(),
    ]],
    "Pairs of writers and readers of the read/write split. The monitor moves servers by `read_only`.",
)
.unique(&[&["writer_hostgroup"], &["reader_hostgroup"]])
.rules(&[Rule::Differ("reader_hostgroup", "writer_hostgroup")])
.examples(&[&[("writer_hostgroup", "0"), ("reader_hostgroup", "1")]]);

/// The keys that Group Replication and Galera tables share.
const CLUSTER_KEYS: &[&[&str]] =
    &[&["writer_hostgroup"], &["reader_hostgroup"], &["offline_hostgroup"], &["backup_writer_hostgroup"]];

/// What holds in each of their rows.
const CLUSTER_RULES: &[Rule] = &[
    Rule::Differ("backup_writer_hostgroup", "writer_hostgroup"),
    Rule::Differ("reader_hostgroup", "writer_hostgroup"),
    Rule::Differ("reader_hostgroup", "backup_writer_hostgroup"),
    Rule::Differ("offline_hostgroup", "writer_hostgroup"),
    Rule::Differ("offline_hostgroup", "reader_hostgroup"),
    Rule::Differ("offline_hostgroup", "backup_writer_hostgroup"),
];

/// The table `mysql_group_replication_hostgroups`.
pub static MYSQL_GROUP_REPLICATION_HOSTGROUPS: Section = Section::new(
    "mysql_group_replication_hostgroups",
    Shape::Rows,
    &[CLUSTER],
    "Clusters of MySQL Group Replication, whose members the monitor asks who takes writes.",
)
.unique(CLUSTER_KEYS)
.rules(CLUSTER_RULES);

/// The table `mysql_galera_hostgroups`.
pub static MYSQL_GALERA_HOSTGROUPS: Section = Section::new(
    "mysql_galera_hostgroups",
    Shape::Rows,
    &[CLUSTER],
    "Clusters of Galera, whose nodes the monitor asks whether they can be used.",
)
.unique(CLUSTER_KEYS)
.rules(CLUSTER_RULES);

const CLUSTER: &[Field] = &[
    int("writer_hostgroup", 0, COUNT, "writers").required().built(),
    int("backup_writer_hostgroup", 0, COUNT, "writers above `max_writers`").required().built(),
    int("reader_hostgroup", 0, (1, COUNT.1), "readers").required().built(),
    int("offline_hostgroup", 0, COUNT, "nodes that cannot be used").required().built(),
    switch("active", true, "whether the row is in use").built(),
    int("max_writers", 1, COUNT, "most nodes in the writer hostgroup").built(),
    int("writer_is_also_reader", 0, (0, 2), "1: writers are readers too; 2: only backup writers are readers")
        .built(),
    int(
        "max_transactions_behind",
        0,
        COUNT,
        "transactions to apply above which a server is passed over; 0: any number",
    )
    .built(),
    text("comment", "", "free text").null().built(),
];

/// The table `mysql_aws_aurora_hostgroups`.
pub static MYSQL_AWS_AURORA_HOSTGROUPS: Section = Section::new(
    "mysql_aws_aurora_hostgroups",
    Shape::Rows,
    &[AURORA],
    "Clusters of Amazon Aurora, whose servers the monitor asks in turn how all of them are.",
)
.unique(&[&["writer_hostgroup"], &["reader_hostgroup"]])
.rules(&[Rule::Differ("reader_hostgroup", "writer_hostgroup"), Rule::StartsWith("domain_name", '.')]);

const AURORA: &[Field] = &[
    int("writer_hostgroup", 0, COUNT, "the writer").required().built(),
    int("reader_hostgroup", 0, (1, COUNT.1), "readers").required().built(),
    switch("active", true, "whether the row is in use").built(),
    int("aurora_port", 3_306, COUNT, "port of discovered nodes").built(),
    text("domain_name", "", "what is appended to discovered names; starts with `.`").required().built(),
    ms("max_lag_ms", 600_000, (10, 600_000), "readers that lag more are shunned").built(),
    ms("check_interval_ms", 1_000, (100, 600_000), "time between two checks").built(),
    ms("check_timeout_ms", 800, (80, 3_000), "longest time for a check").built(),
    switch("writer_is_also_reader", false, "the writer is a reader too").built(),
    int("new_reader_weight", 1, (0, 10_000_000), "weight of discovered readers").built(),
    ms("add_lag_ms", 30, (0, 600_000), "added to the estimated lag").built(),
    ms("min_lag_ms", 30, (0, 600_000), "least estimated lag").built(),
    int("lag_num_checks", 1, (1, 16), "checks whose greatest lag counts").built(),
    text("comment", "", "free text").null().built(),
];

/// The table `mysql_hostgroup_attributes`.
pub static MYSQL_HOSTGROUP_ATTRIBUTES: Section = Section::new(
    "mysql_hostgroup_attributes",
    Shape::Rows,
    &[ATTRIBUTES],
    "Overrides of global settings for single hostgroups.",
)
.unique(&[&["hostgroup_id"]])
.examples(&[&[("hostgroup_id", "1"), ("hostgroup_settings", r#"'{"balance": "least_loaded"}'"#)]]);

const ATTRIBUTES: &[Field] = &[
    int("hostgroup_id", 0, COUNT, "the hostgroup").required().built(),
    int(
        "max_num_online_servers",
        1_000_000,
        (0, 1_000_000),
        "with more servers online, the hostgroup is not used",
    )
    .built(),
    int("autocommit", -1, (-1, 1), "no effect in ProxySQL either"),
    percent("free_connections_pct", 10, "instead of the variable, where that is not 0").built(),
    text("init_connect", "", "instead of the variable, unless empty").built(),
    switch("multiplex", true, "share connections between sessions").built(),
    switch("connection_warming", false, "instead of the variable").built(),
    int(
        "throttle_connections_per_sec",
        1_000_000,
        (1, 1_000_000),
        "most new connections per second; instead of the variable, unless 1000000",
    )
    .built(),
    json("ignore_session_variables", "no effect in ProxySQL either"),
    Field::new(
        "hostgroup_settings",
        Kind::HostgroupSettings,
        Preset::Text(""),
        "JSON: `balance`, how a server is chosen: `weighted` (at random, by weight; unless set), `least_loaded` (of two drawn \
         by weight the one that runs fewer statements), `round_robin` (in turn), `first_available` (in the order of the rows), \
         `next_available` (the same, but one that has failed is not used again); \
         `max_backend_connections`, most connections to all servers of the hostgroup together; `min_idle_connections`, idle connections to \
         each server that are kept, and opened ahead of need; \
         `monitor_slave_lag_when_null`, seconds, instead of the variable; `discover_replicas`, true or false, of a writer \
         hostgroup of `mysql_replication_hostgroups`: whether replicas are used that `mysql_servers` does not name; \
         `forget_replicas_after`, seconds (180 unless set) after which one of those is forgotten that its primary does not name any \
         more; `cache`, an object as in `mysql_query_rules`, where neither a rule nor the user says something else; `handle_warnings` has no effect so far",
    )
    .built(),
    json("servers_defaults", "JSON for discovered servers: `weight`, `max_connections`, `use_ssl`").built(),
    text("comment", "", "free text").built(),
];
