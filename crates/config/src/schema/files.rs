//! What else a `proxysql.cnf` may have at its top level.

use super::{COUNT, Section, Shape, choice, int, switch, text};

/// The settings outside of every section.
pub static TOP_LEVEL: Section = Section::new(
    "",
    Shape::Group,
    &[&[
        text("datadir", "", "folder of the process's files: the certificate that it makes for itself")
            .built(),
        text(
            "errorlog",
            "",
            "file of the process's own log, from when the configuration is read; empty: standard error",
        )
        .built(),
        choice(
            "log_format",
            "text",
            &["text", "json"],
            "form of the process's own log, from when the configuration is read: lines of text, or a JSON object for each",
        )
        .built(),
        text("pidfile", "", "file that has the process's id while it serves").built(),
        text("uuid", "", "name of this process in a cluster"),
        int("restart_on_missing_heartbeats", 10, COUNT, "missed heartbeats of a thread before a restart"),
        text("execute_on_exit_failure", "", "program to run after a crash"),
        switch("cluster_sync_interfaces", false, "whether listeners are taken from peers"),
        text("sqlite3_plugin", "", "file of a plugin"),
        text("web_interface_plugin", "", "file of a plugin"),
        text("ldap_auth_plugin", "", "file of a plugin"),
    ]],
    "Settings of the process, outside of every section.",
);

/// The group `sqliteserver_variables`: ProxySQL's `sqliteserver-` family. No such server is here.
pub static SQLITESERVER_VARIABLES: Section = Section::new(
    "sqliteserver_variables",
    Shape::Group,
    &[&[
        text("mysql_ifaces", "127.0.0.1:6030", "where ProxySQL's SQLite server listens"),
        switch("read_only", false, "whether it refuses changes"),
    ]],
    "Settings of ProxySQL's SQLite server, which is not here.",
)
.prefix("sqliteserver-");

/// The group `ldap_variables`, whose names belong to ProxySQL's LDAP plugin.
pub static LDAP_VARIABLES: Section =
    Section::new("ldap_variables", Shape::Open, &[], "Settings of ProxySQL's LDAP plugin; any names.");
