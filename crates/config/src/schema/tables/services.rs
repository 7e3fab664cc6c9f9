//! Programs, REST routes and peers.

use super::super::{COUNT, PORT, Section, Shape, choice, int, ms, switch, text};

/// Periods and limits of programs.
const PROGRAM_MS: (i64, i64) = (100, 100_000_000);

/// The table `scheduler`.
pub static SCHEDULER: Section = Section::new(
    "scheduler",
    Shape::Rows,
    &[&[
        int("id", 0, COUNT, "the number of the row").required().sql_type("INTEGER").built(),
        switch("active", true, "whether the row is in use").built(),
        ms(
            "interval_ms",
            0,
            PROGRAM_MS,
            "time between two starts; a program that still runs is not started again",
        )
        .required()
        .built(),
        text("filename", "", "the program").required().built(),
        text("arg1", "", "its first argument").null().built(),
        text("arg2", "", "its second argument").null().built(),
        text("arg3", "", "its third argument").null().built(),
        text("arg4", "", "its fourth argument").null().built(),
        text("arg5", "", "its fifth argument").null().built(),
        text("comment", "", "free text").built(),
    ]],
    "Programs that are started again and again.",
)
.unique(&[&["id"]])
.examples(&[&[
    ("id", "1"),
    ("active", "false"),
    ("interval_ms", "10000"),
    ("filename", "\"/usr/local/bin/check-replicas\""),
    ("arg1", "\"--quiet\""),
]]);

/// The table `restapi_routes`, whose section in files is called `restapi`.
pub static RESTAPI_ROUTES: Section = Section::new(
    "restapi",
    Shape::Rows,
    &[&[
        int("id", 0, COUNT, "the number of the row").required().sql_type("INTEGER").built(),
        switch("active", true, "whether the row is in use").built(),
        ms("timeout_ms", 0, PROGRAM_MS, "longest time for the script")
            .required()
            .alias("interval_ms")
            .built(),
        choice("method", "GET", &["GET", "POST"], "the method of the request").required().built(),
        text("uri", "", "the path of the request, behind `/sync/`").required().built(),
        text("script", "", "the program that answers it").required().built(),
        text("comment", "", "free text").built(),
    ]],
    "REST endpoints and the scripts behind them.",
)
.table("restapi_routes")
.unique(&[&["id"]])
.examples(&[&[
    ("id", "1"),
    ("active", "false"),
    ("timeout_ms", "2000"),
    ("method", "\"GET\""),
    ("uri", "\"replicas\""),
    ("script", "\"/usr/local/bin/check-replicas\""),
]]);

/// The table `proxysql_servers`.
pub static PROXYSQL_SERVERS: Section = Section::new(
    "proxysql_servers",
    Shape::Rows,
    &[&[
        text("hostname", "", "the peer").required().alias("address"),
        int("port", 6_032, PORT, "its admin port"),
        int("weight", 0, COUNT, "no effect in ProxySQL either"),
        text("comment", "", "free text"),
    ]],
    "The other proxies of a cluster.",
)
.unique(&[&["hostname", "port"]]);
