//! A row of `mysql_query_rules`, and one of its short form.

use std::time::Duration;

use crate::row::from_row;
use crate::schema::{MYSQL_QUERY_RULES, MYSQL_QUERY_RULES_FAST_ROUTING};

/// A rule about statements. `None` is a column that is NULL (or, where that would mean nothing
/// else, an empty text): any value, or nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRule {
    /// Its place in the order.
    pub rule_id: i64,
    /// Whether it is in use.
    pub active: bool,
    /// The user that it is for.
    pub username: Option<String>,
    /// The current schema that it is for.
    pub schemaname: Option<String>,
    /// The state that the chain must be in (`flagIN`).
    pub flag_in: u32,
    /// The client's address, or the start of it and `%`.
    pub client_addr: Option<String>,
    /// The listener's address.
    pub proxy_addr: Option<String>,
    /// The listener's port.
    pub proxy_port: Option<u16>,
    /// The statement's digest, as a number in C's notation.
    pub digest: Option<String>,
    /// Regular expression on the digest's text.
    pub match_digest: Option<String>,
    /// Regular expression on the statement.
    pub match_pattern: Option<String>,
    /// Whether the expressions must not match.
    pub negate_match_pattern: bool,
    /// Comma list of `CASELESS` and `GLOBAL`.
    pub re_modifiers: Option<String>,
    /// The state after a match (`flagOUT`).
    pub flag_out: Option<u32>,
    /// What a match is replaced with.
    pub replace_pattern: Option<String>,
    /// Where the statement goes.
    pub destination_hostgroup: Option<u32>,
    /// How long the result is cached.
    pub cache_ttl: Option<Duration>,
    /// Whether results without rows are cached.
    pub cache_empty_result: Option<bool>,
    /// How long equal queries wait for the answer of the first.
    pub cache_timeout: Option<Duration>,
    /// Nothing; ProxySQL shows it.
    pub reconnect: Option<bool>,
    /// A statement that takes longer is killed.
    pub timeout: Option<Duration>,
    /// Further attempts.
    pub retries: Option<u32>,
    /// Artificial delay.
    pub delay: Option<Duration>,
    /// The state that the session's following statements start with (`next_query_flagIN`).
    pub next_query_flag_in: Option<u32>,
    /// The state that the mirrored copy starts with (`mirror_flagOUT`).
    pub mirror_flag_out: Option<u32>,
    /// Where a copy of the statement goes.
    pub mirror_hostgroup: Option<u32>,
    /// The error that the statement is answered with.
    pub error_msg: Option<String>,
    /// The text of the OK that the statement is answered with (`OK_msg`).
    pub ok_msg: Option<String>,
    /// Nothing; ProxySQL shows it.
    pub sticky_conn: Option<bool>,
    /// Sharing of the connection: 0 off, 1 on, 2 not switched off by this statement.
    pub multiplex: Option<u32>,
    /// The server must have what the session last wrote to this hostgroup.
    pub gtid_from_hostgroup: Option<u32>,
    /// Whether the statement is written to the query log.
    pub log: Option<bool>,
    /// Whether the chain ends with it.
    pub apply: bool,
    /// JSON; empty if there is none.
    pub attributes: String,
    /// Free text.
    pub comment: Option<String>,
}

from_row!(QueryRule, MYSQL_QUERY_RULES, {
    rule_id,
    active,
    username,
    schemaname,
    flag_in = "flagIN",
    client_addr,
    proxy_addr,
    proxy_port,
    digest,
    match_digest,
    match_pattern,
    negate_match_pattern,
    re_modifiers,
    flag_out = "flagOUT",
    replace_pattern,
    destination_hostgroup,
    cache_ttl,
    cache_empty_result,
    cache_timeout,
    reconnect,
    timeout,
    retries,
    delay,
    next_query_flag_in = "next_query_flagIN",
    mirror_flag_out = "mirror_flagOUT",
    mirror_hostgroup,
    error_msg,
    ok_msg = "OK_msg",
    sticky_conn,
    multiplex,
    gtid_from_hostgroup,
    log,
    apply,
    attributes,
    comment,
});

/// Where the statements of a user in a schema go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastRoute {
    /// The user; empty for any.
    pub username: String,
    /// The current schema.
    pub schemaname: String,
    /// The state that the chain must be in (`flagIN`).
    pub flag_in: u32,
    /// Where the statements go.
    pub destination_hostgroup: u32,
    /// Free text.
    pub comment: String,
}

from_row!(FastRoute, MYSQL_QUERY_RULES_FAST_ROUTING, {
    username,
    schemaname,
    flag_in = "flagIN",
    destination_hostgroup,
    comment,
});
