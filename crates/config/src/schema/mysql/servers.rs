//! `mysql-` variables about connections to servers.

use super::super::{DAYS_7_MS, Field, bytes, int, ms, percent, switch, text};

/// 1 KiB to 1 GiB.
const THRESHOLD: (i64, i64) = (1_024, 1_073_741_824);

pub(super) const FIELDS: &[Field] = &[
    ms("connect_timeout_server", 1_000, (10, 120_000), "longest time for one attempt to connect to a server")
        .built(),
    ms(
        "connect_timeout_server_max",
        10_000,
        (10, 3_600_000),
        "longest time that a session waits for a connection, all attempts together; then error 9001",
    )
    .built(),
    int(
        "connect_retries_on_failure",
        10,
        (0, 1_000),
        "further attempts to connect after a failed one; then error 9001",
    )
    .built(),
    ms("connect_retries_delay", 1, (0, 10_000), "pause between two attempts to connect").built(),
    ms(
        "connection_max_age_ms",
        0,
        (0, 86_400_000),
        "connections that are older, or up to a fifth less, are ended when they are idle; 0: no limit",
    )
    .built(),
    percent(
        "free_connections_pct",
        10,
        "share of a server's max_connections that may be kept open as idle connections",
    )
    .built(),
    switch("connection_warming", false, "connections are opened ahead of need until that share exists")
        .built(),
    int(
        "throttle_connections_per_sec_to_hostgroup",
        1_000_000,
        (1, 100_000_000),
        "most new connections per second to a hostgroup; a session that waits may get an idle connection meanwhile",
    )
    .built(),
    int(
        "connpoll_reset_queue_length",
        50,
        (0, 10_000),
        "connections that wait for their reset, with algorithm 1; further ones are closed",
    )
    .superseded("the worker that needs a connection resets it, together with the setup commands of the next session"),
    int(
        "reset_connection_algorithm",
        2,
        (1, 2),
        "who resets used connections: 1 a background thread, 2 the worker",
    )
    .superseded("the same"),
    switch("default_reconnect", true, "no effect in ProxySQL either"),
    ms(
        "ping_interval_server_msec",
        10_000,
        (1_000, DAYS_7_MS),
        "time between two pings of an idle connection",
    )
    .built(),
    ms("ping_timeout_server", 200, (10, 600_000), "longest time for an answer to that ping").built(),
    switch("multiplexing", true, "sessions share connections to servers").built(),
    ms("connection_delay_multiplex_ms", 0, (0, 300_000), "keep a connection this long after its last use")
    .superseded("a session that comes back gets the connection that it had, unless another session has needed that connection"),
    int(
        "auto_increment_delay_multiplex",
        5,
        (0, 1_000_000),
        "statements for which a connection is kept after it generated an insert id",
    )
    .superseded("`LAST_INSERT_ID()` is kept for each session, and written into statements that ask for it on another connection"),
    ms(
        "auto_increment_delay_multiplex_timeout_ms",
        10_000,
        (0, 3_600_000),
        "time for which a connection is kept after it generated an insert id",
    )
    .superseded("the same"),
    text(
        "keep_multiplexing_variables",
        "tx_isolation,transaction_isolation,version",
        "`@@` variables whose use does not keep the connection",
    )
    .superseded("no variable that is read keeps a connection, but for `@@pseudo_thread_id`"),
    int(
        "set_query_lock_on_hostgroup",
        1,
        (0, 1),
        "a SET that is not understood ties the session to its hostgroup",
    )
    .superseded("a `SET` that is not understood keeps its connection (the pin `setting`) until a reset, and statements that cannot do without it do not leave its hostgroup (error 9006)"),
    int("set_parser_algorithm", 2, (1, 2), "generation of the SET parser")
    .superseded("there is one parser"),
    switch("kill_backend_connection_when_disconnect", true, "KILL the statement of a client that vanished")
        .built(),
    int(
        "max_stmts_per_connection",
        20,
        (1, 1_024),
        "prepared statements that stay at a connection when it becomes another session's; more are closed",
    )
    .built(),
    int("max_stmts_cache", 10_000, (128, 1_048_576), "prepared statements kept in the process")
    .superseded("a text that sessions of a thread have prepared is kept once, 256 MiB of texts in all; a statement beyond that is executed where it was prepared"),
    bytes(
        "threshold_query_length",
        524_288,
        THRESHOLD,
        "a connection that sent a longer statement is not pooled",
    )
    .superseded("buffers belong to threads: a long statement leaves nothing at its connection"),
    bytes("threshold_resultset_size", 4_194_304, THRESHOLD, "a longer result is streamed to the client")
    .superseded("every result is passed on as it comes"),
    text("init_connect", "", "statement that every new connection to a server starts with").built(),
    text("ldap_user_variable", "", "LDAP: session variable that carries the client's user"),
    text("add_ldap_user_comment", "", "LDAP: comment that carries the client's user"),
    switch(
        "enforce_autocommit_on_reads",
        false,
        "set autocommit on the server before a plain SELECT as well",
    )
    .superseded("the settings of a session, `autocommit` too, are set at a connection before the first statement of the session there, also before a read"),
    switch("autocommit_false_is_transaction", false, "treat autocommit=0 as an open transaction")
    .superseded("with `autocommit = 0` a transaction is open from the first statement that uses a table, as servers say"),
    switch("autocommit_false_not_reusable", false, "do not pool connections with autocommit=0")
    .superseded("whether `autocommit` is on is said for each session"),
    switch(
        "log_unhealthy_connections",
        true,
        "log idle connections that are dropped because their server has ended them or does not answer a ping, one in so many",
    )
    .built(),
    text(
        "ssl_p2s_ca",
        "",
        "TLS to servers: file of certificate authorities; with one the certificate is verified",
    )
    .built(),
    text("ssl_p2s_capath", "", "TLS to servers: folder of certificate authorities").built(),
    text("ssl_p2s_cert", "", "TLS to servers: file of the certificate that servers are shown").built(),
    text("ssl_p2s_key", "", "TLS to servers: file of its key").built(),
    text("ssl_p2s_cipher", "", "TLS to servers: cipher suites, names of OpenSSL separated by `:`").built(),
    text("ssl_p2s_crl", "", "TLS to servers: file of revoked certificates").built(),
    text("ssl_p2s_crlpath", "", "TLS to servers: folder of revoked certificates").built(),
    ms(
        "binlog_reader_connect_retry_msec",
        3_000,
        (200, 120_000),
        "pause before connecting to a GTID reader again",
    )
    .built(),
];
