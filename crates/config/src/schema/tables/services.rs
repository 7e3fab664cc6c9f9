//! Programs, REST routes and peers.

use super::super::{COUNT, PORT, Section, Shape, choice, int, ms, switch, text};

/// Periods and limits of programs.
const PROGRAM_MS: (i64, i64) = (100, 100_000_000);

/// The table `scheduler`.
pub static SCHEDULER: Section = Section::new(
    "scheduler",
    Shape::Rows,
    &[&[
        int("id", 0, COUNT, "the number of the row").required().sql_type("INTEGER"),
        switch("active", true, "whether the row is in use"),
        ms("interval_ms", 0, PROGRAM_MS, "time between two starts").required(),
        text("filename", "", "the program").required(),
        text("arg1", "", "its first argument").null(),
        text("arg2", "", "its second argument").null(),
        text("arg3", "", "its third argument").null(),
        text("arg4", "", "its fourth argument").null(),
        text("arg5", "", "its fifth argument").null(),
        text("comment", "", "free text"),
    ]],
    "Programs that are started again and again.",
)
.unique(&[&["id"]]);

/// The table `restapi_routes`, whose section in files is called `restapi`.
pub static RESTAPI_ROUTES: Section = Section::new(
    "restapi",
    Shape::Rows,
    &[&[
        int("id", 0, COUNT, "the number of the row").required().sql_type("INTEGER"),
        switch("active", true, "whether the row is in use"),
        ms("timeout_ms", 0, PROGRAM_MS, "longest time for the script").required().alias("interval_ms"),
        choice("method", "GET", &["GET", "POST"], "the method of the request").required(),
        text("uri", "", "the path of the request").required(),
        text("script", "", "the script").required(),
        text("comment", "", "free text"),
    ]],
    "REST endpoints and the scripts behind them.",
)
.table("restapi_routes")
.unique(&[&["id"]]);

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
