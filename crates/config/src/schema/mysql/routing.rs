//! `mysql-` variables about routing, retries, errors and limits.

use super::super::{DAYS_20_MS, Field, int, ms, seconds, switch, text};

pub(super) const FIELDS: &[Field] = &[
    switch(
        "read_write_split",
        false,
        "where no rule decides: plain reads outside transactions go to the readers of the user's hostgroup, if \
         `mysql_replication_hostgroups` has them; ProxySQL has no such variable",
    )
    .built(),
    ms("default_query_timeout", 86_400_000, (1_000, DAYS_20_MS), "a statement that takes longer is killed").built(),
    ms("default_query_delay", 0, (0, 3_600_000), "artificial delay of every statement").built(),
    ms(
        "default_max_latency_ms",
        1_000,
        (0, DAYS_20_MS),
        "servers that took longer for the monitor's last ping, or the last connection with its login, are passed over for ten seconds if others work; \
         0: no limit",
    )
    .built(),
    int(
        "min_num_servers_lantency_awareness",
        1_000,
        (0, 10_000),
        "from this many candidates on, those with more than average latency are passed over",
    )
    .built(),
    int(
        "aurora_max_lag_ms_only_read_from_replicas",
        2,
        (0, 100),
        "from this many candidates on, a read with a lag limit does not go to the writer; 0: off",
    )
    .built(),
    int(
        "query_retries_on_failure",
        1,
        (0, 1_000),
        "further attempts of a statement that changes nothing, after its server was lost",
    )
    .built(),
    int(
        "shun_on_failures",
        5,
        (0, 10_000_000),
        "connect errors in a second after which a server is shunned; at most one more than `connect_retries_on_failure`",
    )
    .built(),
    seconds(
        "shun_recovery_time_sec",
        10,
        (0, 31_536_000),
        "how long a server stays shunned, less if sessions do not wait so long; a tenth of it, but a second at least, if no \
         other has room; 0: until no other is left",
    )
    .built(),
    int("unshun_algorithm", 0, (0, 1), "1: a server that comes back does so in every hostgroup")
    .superseded("in each hostgroup a server is shunned until its time there is over, whether or not a session asks for it"),
    int(
        "evaluate_replication_lag_on_servers_load",
        1,
        (0, 1),
        "1: a server that is shunned for its lag stays so when servers are loaded",
    )
    .superseded("what is known of a lag always holds when servers are loaded; it is compared with a limit that is another one at once"),
    int("query_processor_iterations", 0, (0, 1_000_000), "times that flagOUT may start the rules again")
    .built(),
    int("query_processor_regex", 1, (1, 2), "engine of the rules: 1 PCRE, 2 RE2").built(),
    int("query_rules_fast_routing_algorithm", 1, (1, 2), "copies of the map: 1 one per thread, 2 one")
    .superseded("there is one map"),
    int(
        "mirror_max_concurrency",
        16,
        (1, 8_192),
        "mirrored statements that run at a time; each worker has its share, and at least 1",
    )
    .built(),
    int(
        "mirror_max_queue_length",
        32_000,
        (0, 1_048_576),
        "mirrored statements that wait, of all workers; further ones are left out",
    )
    .built(),
    switch("verbose_query_error", false, "log errors of statements with their server, user, schema and digest, one in so many").built(),
    switch(
        "log_mysql_warnings_enabled",
        false,
        "log the warnings of statements, of one in so many, for which their servers are asked SHOW WARNINGS",
    )
    .built(),
    int("handle_warnings", 1, (0, 1), "1: keep the connection so that SHOW WARNINGS works")
    .superseded("warnings keep their connection until the next statement with tables (the pin `warnings`)"),
    ms("long_query_time", 1_000, (0, DAYS_20_MS), "a statement that takes longer counts as slow").built(),
    switch(
        "automatic_detect_sqli",
        false,
        "close connections that send what looks like injected SQL and has no row in `mysql_firewall_whitelist_sqli_fingerprints`",
    )
    .built(),
    switch("firewall_whitelist_enabled", false, "refuse statements that are on no list").built(),
    text(
        "firewall_whitelist_errormsg",
        "Firewall blocked this query",
        "the error that they are refused with",
    )
    .built(),
    int("hostgroup_manager_verbose", 1, (0, 3), "how much is logged about hostgroups")
    .superseded("`RUST_LOG` says how much is logged; what has changed of servers is in `stats_pointsman_server_events`"),
];
