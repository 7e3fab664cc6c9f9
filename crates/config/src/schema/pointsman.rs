//! The sections that ProxySQL does not have.

use super::{COUNT, Field, Kind, PORT, Preset, Section, Shape, bytes, choice, int, ms, switch, text};

/// 1 MiB to 1 GiB, as for ProxySQL's logs.
const LOG_FILE: (i64, i64) = (1_048_576, 1_073_741_824);
/// All to one in a million.
const SAMPLE: (i64, i64) = (1, 1_000_000);

/// The list `listeners`.
pub static LISTENERS: Section = Section::new(
    "listeners",
    Shape::Rows,
    &[&[
        Field::new(
            "address",
            Kind::Address,
            Preset::Required,
            "`ip:port`, `[ipv6]:port`, `name:port`, or the absolute path of a Unix socket of at most 107 bytes; \
             with port 0 the system chooses one",
        )
        .built(),
        choice(
            "protocol",
            "mysql",
            &["mysql", "tcp"],
            "`mysql`: clients log in to the proxy; `tcp`: bytes are copied to a server and back, unread (the same as \
             `role = \"tcp\"`)",
        )
        .built(),
        int(
            "hostgroup",
            0,
            COUNT,
            "where clients of this listener are sent: with `tcp` a hostgroup that has a server (unless set: 0), with `read_write` and \
             `read_only` in place of the hostgroups of the users; with `auto` it may not be set",
        )
        .null()
        .built(),
        choice(
            "role",
            "auto",
            &["auto", "read_write", "read_only", "tcp"],
            "`auto`: rules, the split and the users' rows decide where each statement goes; `read_write`: all go to `hostgroup`, or to \
             the user's; `read_only`: all go to `hostgroup`, or to the readers of the user's; `tcp`: bytes are copied to a server and \
             back, unread",
        )
        .built(),
        choice(
            "strategy",
            "",
            &["first_available", "next_available", "round_robin", "round_robin_with_fallback", "least_loaded"],
            "how a server of `hostgroup` is chosen, in place of `balance` of the hostgroup, which must not say otherwise; \
             `next_available`: as `first_available`, but what has failed is not used again; `round_robin_with_fallback`: in turn, and \
             while none can be used a server of the hostgroup whose readers these are",
        )
        .null()
        .built(),
        int("max_connections", 0, COUNT, "most clients of this listener at a time; 0: `mysql-max_connections` alone counts").built(),
        ms(
            "connect_timeout_client",
            0,
            (500, 3_600_000),
            "in place of the variable of that name, for clients of this listener; with `tcp` a client must have sent a byte within it",
        )
        .null()
        .built(),
        ms(
            "connect_timeout_server",
            0,
            (10, 120_000),
            "in place of the variable of that name; only with `tcp`, as others share connections to servers",
        )
        .null()
        .built(),
        ms("connect_timeout_server_max", 0, (10, 3_600_000), "in place of the variable of that name; only with `tcp`").null().built(),
        int(
            "client_host_error_counts",
            0,
            (0, 1_048_576),
            "in place of the variable of that name; failures are counted by themselves for each `hostgroup` of such listeners",
        )
        .null()
        .built(),
    ]],
    "Where clients connect. Without any, `interfaces` of `mysql_variables` counts.",
)
.table("pointsman_listeners")
.examples(&[
    &[("address", "\"127.0.0.1:6033\"")],
    &[("address", "\"127.0.0.1:6040\""), ("protocol", "\"tcp\""), ("hostgroup", "1")],
    &[("address", "\"127.0.0.1:6447\""), ("role", "\"read_only\"")],
]);

/// The group `pointsman_variables`.
pub static POINTSMAN_VARIABLES: Section = Section::new(
    "pointsman_variables",
    Shape::Group,
    &[&[ms(
        "drain_timeout_ms",
        10_000,
        (0, 3_600_000),
        "how long running transactions may go on after SIGTERM",
    )
    .built(),
    choice(
        "check_logins",
        "first",
        &["never", "first", "always"],
        "whether a client that logs in gets its connection to a server at once, so that it hears there and then what the \
         server has against its user or schema: `never`: with its first statement; `first`: unless a server has \
         accepted the same user and schema within the last minute; `always`",
    )
    .built(),
    text(
        "tls_cert",
        "",
        "file of the certificate that clients are shown, and of those between it and its authority; empty: \
         `pointsman-cert.pem` in `datadir`, else `proxysql-cert.pem` there, else one that is made at the first start",
    )
    .built(),
    text("tls_key", "", "file of its key; empty: `pointsman-key.pem`, or `proxysql-key.pem`, in `datadir`").built(),
    text(
        "tls_ca",
        "",
        "file of certificate authorities: clients may show certificates, and those that do must show one of these",
    )
    .built(),
    int(
        "eventslog_sample",
        1,
        SAMPLE,
        "query log: of the statements that no rule decides about, one in so many is logged",
    )
    .built(),
    text("slow_log_filename", "", "slow log: start of the file names; empty: no log").built(),
    bytes("slow_log_filesize", 104_857_600, LOG_FILE, "slow log: longest file").built(),
    int(
        "slow_log_sample",
        1,
        SAMPLE,
        "slow log: of the slow statements that no rule decides about, one in so many is logged",
    )
    .built(),
    Field::new(
        "health_address",
        Kind::Addresses,
        Preset::Text(""),
        "where health checks are answered over HTTP, `ip:port` separated by `;`; empty: nowhere",
    )
    .built(),
    Field::new(
        "web_address",
        Kind::Addresses,
        Preset::Text(""),
        "with `admin-web_enabled`: where the page is served, `ip:port` separated by `;`; empty: at `admin-web_port`, of all addresses, \
         or of 127.0.0.1 where `mysql-have_ssl` is off",
    )
    .built(),
    Field::new(
        "restapi_address",
        Kind::Text,
        Preset::Text("127.0.0.1"),
        "with `admin-restapi_enabled`: the IP address at which REST is served, at `admin-restapi_port`",
    )
    .built(),
    Field::new(
        "restapi_credentials",
        Kind::Credentials,
        Preset::Text(""),
        "accounts of REST, `user:password` separated by `;`; empty: a client needs none",
    )
    .secret()
    .built(),
    switch("restapi_get", false, "REST: whether a GET runs scripts, too, of routes with the method GET").built(),
    Field::new(
        "otlp_address",
        Kind::Addresses,
        Preset::Text(""),
        "traces: collectors of OpenTelemetry, `ip:port` or `name:port` separated by `;`; spans go to the first that takes them, over plain HTTP; \
         empty: no statement is traced",
    )
    .built(),
    int(
        "otlp_sample",
        0,
        (0, 1_000_000),
        "traces: of the statements without a `traceparent`, one in so many is traced; 0: none",
    )
    .built(),
    bytes("log_text_max", 16_384, (256, 65_536), "query and slow log: longest text of a statement; what is longer is cut")
        .built(),
    switch(
        "sqli_detect_only",
        false,
        "with `mysql-automatic_detect_sqli`: what looks like injected SQL passes all the same, and is counted and logged",
    )
    .built(),
    ms(
        "connection_turn_ms",
        10,
        (0, 1_000),
        "where sessions wait in line for connections: the next statements of one that has waited longer than 10 ms, three at most, come \
         before others for an eighth of the time beyond that, and for so long at most; 0: all statements are served in the order in which they came",
    )
    .built(),
    int(
        "statements_together",
        32,
        (1, 64),
        "where sessions wait in line for connections: so many of their statements at most go out together over one of them, if they are plain \
         reads that are done in no time; 1: each goes out alone",
    )
    .built(),
    switch(
        "judge_routines",
        true,
        "behind a statement that calls stored procedures or functions, ask its server for their definitions: where nothing of them outlives the \
         call, they do not bind the session to its connection",
    )
    .built(),
    switch(
        "judge_tables",
        true,
        "behind the first statement with a table, ask its server whether a view or triggers are behind the name: where these leave something \
         in a session, statements with it bind the session to its connection; the query cache asks for definitions, too",
    )
    .built(),
    int("cache_advise", 0, (0, 1), "1: follow one key in a hundred for `POINTSMAN CACHE ADVISE`").built(),
    choice(
        "shard_transactions",
        "single",
        &["single", "best_effort"],
        "what a transaction, or a statement outside of one, may change in [sharded tables](shards.md): `single`: rows of one shard; \
         `best_effort`: rows of any shards, which commit at the same time",
    )
    .built(),
    choice(
        "causal_reads",
        "off",
        &["off", "session", "user", "application"],
        "whose acknowledged writes a statement must see that goes to a [reader](causal.md): those of its `session`, of its `user`, of its \
         `application`; `off`: no one's. It counts for clients that log in after it was set",
    )
    .built(),
    ms(
        "causal_wait_ms",
        50,
        (0, 5_000),
        "such a statement waits so long for its replica to have the writes, and goes to the writer then; 0: at once",
    )
    .built()]],
    "Variables that ProxySQL does not have.",
)
.prefix("pointsman-");

/// The table `pointsman_servers`.
pub static POINTSMAN_SERVERS: Section = Section::new(
    "pointsman_servers",
    Shape::Rows,
    &[&[
        text("hostname", "", "`hostname` of the server in `mysql_servers`").required().built(),
        int("port", 3_306, PORT, "its `port` there").built(),
        int(
            "proxy_protocol",
            0,
            (0, 2),
            "version of the PROXY header that tells this server the address of the client; 0: none is sent",
        )
        .built(),
        text("comment", "", "free text").built(),
    ]],
    "Settings of single servers that ProxySQL does not have; they hold in all hostgroups of a server.",
)
.unique(&[&["hostname", "port"]])
.examples(&[&[("hostname", "\"127.0.0.1\""), ("port", "3306")]]);
