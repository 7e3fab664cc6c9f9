//! `mysql_query_rules` and its short form.

use super::super::{COUNT, Field, PORT, Rule, Section, Shape, UNSIGNED, int, json, ms, switch, text};

/// The table `mysql_query_rules`.
pub static MYSQL_QUERY_RULES: Section = Section::new(
    "mysql_query_rules",
    Shape::Rows,
    &[RULE],
    "The rules that decide about statements, in the order of their numbers.",
)
.unique(&[&["rule_id"]])
.rules(&[Rule::Needs("replace_pattern", "match_pattern")])
.examples(&[&[
    ("rule_id", "1"),
    ("active", "true"),
    ("match_digest", "\"^SELECT .* FROM reports\""),
    ("destination_hostgroup", "1"),
    ("apply", "true"),
]]);

const RULE: &[Field] = &[
    int("rule_id", 0, (i64::MIN, i64::MAX), "the place in the order")
        .required()
        .sql_type("INTEGER PRIMARY KEY AUTOINCREMENT")
        .built(),
    switch("active", false, "whether the rule is in use").built(),
    text("username", "", "the user").null().built(),
    text("schemaname", "", "the current schema").null().built(),
    int("flagIN", 0, COUNT, "the state that the chain must be in").built(),
    text("client_addr", "", "the client's address, or the start of it and `%`").null().built(),
    text("proxy_addr", "", "the listener's address").null().built(),
    int("proxy_port", 0, PORT, "the listener's port").null().built(),
    text("digest", "", "the statement's digest, `0x...`").null().built(),
    text("match_digest", "", "regular expression on the digest's text").null().built(),
    text("match_pattern", "", "regular expression on the statement").null().built(),
    switch("negate_match_pattern", false, "the expressions must not match").built(),
    text("re_modifiers", "CASELESS", "comma list of CASELESS and GLOBAL").nullable().built(),
    int("flagOUT", 0, COUNT, "the state after a match").null().built(),
    text("replace_pattern", "", "what a match is replaced with; empty: it is taken out").null_or_empty().built(),
    int("destination_hostgroup", 0, COUNT, "where the statement goes").null().built(),
    ms("cache_ttl", 1, (1, i64::MAX), "how long the result is cached").null().built(),
    switch("cache_empty_result", false, "cache results without rows").null().built(),
    ms("cache_timeout", 0, COUNT, "how long equal queries wait for the answer of the first; 10,000 unless set").null().built(),
    switch("reconnect", false, "no effect in ProxySQL either").null(),
    ms("timeout", 0, UNSIGNED, "a statement that takes longer is killed; 0 says nothing").null().sql_type("INT UNSIGNED").built(),
    int("retries", 0, (0, 1_000), "further attempts of a statement that changes nothing, after its server was lost; instead of `mysql-query_retries_on_failure`")
        .null()
        .built(),
    ms("delay", 0, UNSIGNED, "artificial delay").null().sql_type("INT UNSIGNED").built(),
    int("next_query_flagIN", 0, UNSIGNED, "the state that the session's next statement starts with")
        .null()
        .sql_type("INT UNSIGNED")
        .built(),
    int("mirror_flagOUT", 0, UNSIGNED, "the state that the mirrored copy starts with")
        .null()
        .sql_type("INT UNSIGNED")
        .built(),
    int("mirror_hostgroup", 0, UNSIGNED, "where a copy of the statement goes")
        .null()
        .sql_type("INT UNSIGNED")
        .built(),
    text("error_msg", "", "answer with this error").null_or_empty().built(),
    text("OK_msg", "", "answer with OK and this text").null_or_empty().built(),
    switch("sticky_conn", false, "no effect in ProxySQL either").null(),
    int("multiplex", 0, (0, 2), "sharing of the connection: 0 off, 1 on, 2 not switched off by this")
        .null()
        .built(),
    int("gtid_from_hostgroup", 0, UNSIGNED, "the server must have what the session has last written there")
        .null()
        .sql_type("INT UNSIGNED")
        .built(),
    switch("log", false, "write the statement to the query log and the slow log").null().built(),
    switch("apply", false, "stop here").built(),
    json(
        "attributes",
        "JSON: `flagOUTs`; `compare`, with which the answer is compared with that of the mirrored copy; `max_qps` and \
         `max_concurrent`, most statements in a second and at a time to which the rule points; `cache`, an object: `mode` (`ttl` unless set, `own`, `bounded` or `strict`), `max_staleness_ms` of the mode `bounded`, `scope` (`proven` unless set, `user` or `shared`), \
         `soft_ttl_ms`, `stale_if_error_ms`, `max_answer` (bytes), and `ttl_ms`, which counts where the column `cache_ttl` is not set, 0 for no caching; `causal_reads` as the variable `pointsman-causal_reads`",
    )
    .built(),
    text("comment", "", "free text").null().built(),
];

/// The table `mysql_query_rules_fast_routing`.
pub static MYSQL_QUERY_RULES_FAST_ROUTING: Section = Section::new(
    "mysql_query_rules_fast_routing",
    Shape::Rows,
    &[&[
        text("username", "", "the user; empty: any").required().built(),
        text("schemaname", "", "the current schema").required().built(),
        int("flagIN", 0, COUNT, "the state that the chain must be in").built(),
        int("destination_hostgroup", 0, COUNT, "where the statement goes").required().built(),
        text("comment", "", "free text").required().built(),
    ]],
    "Hostgroups by user and schema.",
)
.unique(&[&["username", "schemaname", "flagIN"]])
.examples(&[&[
    ("username", "\"app\""),
    ("schemaname", "\"archive\""),
    ("destination_hostgroup", "1"),
    ("comment", "\"\""),
]]);
