//! `mysql-` variables about clients, listeners and the protocol.

use super::super::{
    COUNT, DAYS_20_MS, Field, Kind, Preset, Unit, bytes, choice, int, ms, seconds, switch, text,
};

pub(super) const FIELDS: &[Field] = &[
    Field::new(
        "interfaces",
        Kind::Addresses,
        Preset::Text("0.0.0.0:6033"),
        "where MySQL clients connect: `ip:port`, `[ipv6]:port` or paths of Unix sockets, separated by `;`; \
         listens in addition to the rows of `listeners`, and the default counts only if there are none",
    )
    .built(),
    Field::new(
        "threads",
        Kind::Int { min: 1, max: 255, unit: Unit::None },
        Preset::Cores,
        "data-plane threads",
    )
    .proxysql_preset("4")
    .built(),
    bytes("stacksize", 1_048_576, (262_144, 4_194_304), "stack of a thread")
    .superseded("sessions are no threads, and what they hold is not on a stack"),
    int(
        "max_connections",
        10_000,
        (1, 1_000_000),
        "most clients at a time; one more is refused with error 1040",
    )
    .built(),
    int(
        "max_connections_per_address",
        0,
        COUNT,
        "most clients from one address at a time; one more is refused with error 1040; 0: no limit. ProxySQL has no such variable",
    )
    .built(),
    ms(
        "client_queue_timeout_ms",
        0,
        (0, 3_600_000),
        "clients that find as many as may be, of all or of their user, wait this long for a place; 0: they are refused at once. \
         ProxySQL has no such variable",
    )
    .built(),
    int(
        "client_queue_size",
        1_000,
        (1, 1_000_000),
        "most clients that wait for a place among all at a time, and for a place of each user; further ones are refused at once. ProxySQL has no such variable",
    )
    .built(),
    text(
        "server_version",
        "",
        "the server version that clients are told; empty: that of the first server in the configuration that answers",
    )
    .proxysql_preset("8.0.11")
    .built(),
    int("server_capabilities", 569_867, (11, 2_147_483_647), "the capability bits that clients are offered")
    .superseded("clients are offered what the servers behind can do"),
    text(
        "default_schema",
        "",
        "schema of a session for which neither the client nor its user names one; empty: none",
    )
    .proxysql_preset("information_schema")
    .built(),
    choice(
        "default_authentication_plugin",
        "mysql_native_password",
        &["mysql_native_password", "caching_sha2_password"],
        "the login method that clients are offered first",
    )
    .built(),
    switch("have_ssl", true, "offer TLS to clients").built(),
    switch("have_compress", true, "offer the compressed protocol to clients").built(),
    switch(
        "enable_client_deprecate_eof",
        true,
        "offer DEPRECATE_EOF to clients: results end with an OK packet. Sessions and their connections to servers agree on it alike",
    )
    .built(),
    switch(
        "enable_server_deprecate_eof",
        true,
        "ask servers for DEPRECATE_EOF where the client does; if not, it is not offered to clients either",
    )
    .built(),
    switch("enable_load_data_local_infile", false, "allow LOAD DATA LOCAL")
    .superseded("servers ask clients for their files, and the proxy reads none: `local_infile` of the server and of the client decide"),
    bytes(
        "max_allowed_packet",
        67_108_864,
        (8_192, 1_073_741_824),
        "longest message from a client; a longer one is refused with error 1153",
    )
    .built(),
    ms("connect_timeout_client", 10_000, (500, 3_600_000), "a login must be finished within this time")
        .built(),
    ms(
        "wait_timeout",
        28_800_000,
        (1, DAYS_20_MS),
        "a client that is idle for this time, outside a transaction, is disconnected",
    )
    .built(),
    ms(
        "max_transaction_idle_time",
        14_400_000,
        (1_000, DAYS_20_MS),
        "a client that is idle for this time, inside a transaction, is disconnected",
    )
    .built(),
    ms(
        "max_transaction_time",
        14_400_000,
        (1_000, DAYS_20_MS),
        "a client whose transaction lasts longer is disconnected",
    )
    .built(),
    switch("use_tcp_keepalive", true, "send TCP keepalive probes to clients and servers").built(),
    seconds(
        "tcp_keepalive_time",
        120,
        (0, 7_200),
        "how long a connection is idle before its first keepalive probe; 0: as the system is set",
    )
    .built(),
    bytes(
        "throttle_max_bytes_per_second_to_client",
        0,
        COUNT,
        "most bytes of answers per second to one client, which its server waits for as well; 0: no limit",
    )
    .built(),
    int(
        "throttle_ratio_server_to_client",
        0,
        (0, 100),
        "stop reading from a server that is this many times faster than the client; 0: never",
    )
    .superseded("nothing is read from a server while its client has not taken what was read before, which is 64 KiB at most"),
    ms("poll_timeout", 2_000, (10, 20_000), "longest wait of the event loop")
    .superseded("a thread wakes when there is something to do"),
    ms("poll_timeout_on_failure", 100, (10, 20_000), "longest wait of the event loop after a failed connect")
    .superseded("the same"),
    ms("session_idle_ms", 1, (1, 3_600_000), "idle time before a session moves to the idle threads")
    .superseded("sessions that wait cost no thread: there are no idle threads"),
    switch(
        "session_idle_show_processlist",
        true,
        "show the sessions of the idle threads in the process list",
    )
    .superseded("all sessions are shown"),
    switch("sessions_sort", true, "serve sessions in the order in which they wait")
    .superseded("sessions are served when their sockets are ready; who waits for a server waits in line"),
    int(
        "show_processlist_extended",
        0,
        (0, 2),
        "what else is known of a session, as JSON in `extended_info` of the process list: 1 compact, 2 indented; 0 only what binds it to its connection",
    )
    .built(),
    int(
        "client_host_cache_size",
        0,
        (0, 1_048_576),
        "client addresses whose connections that fail before or in their login are counted; 0: none",
    )
    .built(),
    int(
        "client_host_error_counts",
        0,
        (0, 1_048_576),
        "such failures in a row after which connections from an address are closed at once; 0: never",
    )
    .built(),
    Field::new(
        "proxy_protocol_networks",
        Kind::Networks,
        Preset::Text(""),
        "from where a connection must begin with a PROXY header, whose address is believed: networks like \
         `10.0.0.0/8` and addresses, separated by `,`; `*` for every address and Unix sockets, too",
    )
    .built(),
    text("default_charset", "utf8", "character set of a session; must be that of the collation")
    .superseded("a session has the collation that its client names at its login; where that is none that the server knows, it has the server's default, as without a proxy"),
    text("default_collation_connection", "utf8_general_ci", "collation of a session").superseded("the same"),
    int(
        "handle_unknown_charset",
        1,
        (0, 2),
        "login with an unknown collation: 0 refuse, 1 use the default and log, 2 use the default",
    )
    .superseded("servers are told the collation that the client has named, and do with one that they do not know what they do without a proxy"),
    choice(
        "default_session_track_gtids",
        "OFF",
        &["OFF", "OWN_GTID"],
        "OWN_GTID: servers are asked to tell the GTID of each write, for `gtid_from_hostgroup` of rules",
    )
    .built(),
    switch(
        "client_session_track_gtid",
        true,
        "clients that set session_track_gtids are told GTIDs; else that has no effect",
    )
    .built(),
    int("data_packets_history_size", 0, COUNT, "packets kept for debugging")
    .superseded("packets are passed on where they are read; no copy is made that could be kept"),
    switch("session_debug", true, "debug builds of ProxySQL only").superseded("it does nothing in ProxySQL's releases either"),
];
