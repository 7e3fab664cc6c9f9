//! `mysql_servers` and what belongs to single servers.

use super::super::{
    COUNT, Field, PORT, Rule, Section, Shape, UNSIGNED, choice, int, ms, seconds, switch, text,
};

/// The table `mysql_servers`.
pub static MYSQL_SERVERS: Section = Section::new(
    "mysql_servers",
    Shape::Rows,
    &[SERVER],
    "The servers: one row for each hostgroup that a server is in.",
)
.unique(&[&["hostgroup_id", "hostname", "port"]])
.rules(&[Rule::ZeroOrOther("gtid_port", "port")])
.examples(&[
    &[("hostgroup_id", "0"), ("hostname", "\"127.0.0.1\""), ("port", "3306")],
    &[("hostgroup_id", "1"), ("hostname", "\"/run/mysqld/mysqld.sock\""), ("port", "0")],
]);

const SERVER: &[Field] = &[
    int("hostgroup_id", 0, COUNT, "the hostgroup that this row belongs to").alias("hostgroup").built(),
    text("hostname", "", "a DNS name, an IP address, or with port 0 the absolute path of a Unix socket")
        .required()
        .alias("address")
        .built(),
    int("port", 3_306, PORT, "TCP port; 0: `hostname` is the path of a Unix socket").built(),
    int("gtid_port", 0, PORT, "port of a reader of executed GTIDs; 0: none").built(),
    choice(
        "status",
        "ONLINE",
        &["ONLINE", "SHUNNED", "OFFLINE_SOFT", "OFFLINE_HARD"],
        "`OFFLINE_SOFT`: no new connections; `OFFLINE_HARD`: none at all; any case",
    )
    .built(),
    int(
        "weight",
        1,
        (0, 10_000_000),
        "share of new connections, relative to the other servers of the hostgroup; 0: none",
    )
    .built(),
    switch("compression", false, "speak the compressed protocol to this server, if it can").built(),
    int("max_connections", 1_000, COUNT, "most connections to this server").built(),
    seconds("max_replication_lag", 0, (0, 126_144_000), "shun this server when it lags more; 0: never")
        .built(),
    switch("use_ssl", false, "TLS to this server, or no connection").built(),
    ms(
        "max_latency_ms",
        0,
        UNSIGNED,
        "pass this server over when it is slower; 0: `mysql-default_max_latency_ms`",
    )
    .sql_type("INT UNSIGNED")
    .built(),
    text("comment", "", "free text").built(),
];

/// The table `mysql_servers_ssl_params`.
pub static MYSQL_SERVERS_SSL_PARAMS: Section = Section::new(
    "mysql_servers_ssl_params",
    Shape::Rows,
    &[&[
        text("hostname", "", "the server, as in `mysql_servers`").required().built(),
        int("port", 3_306, PORT, "its port").built(),
        text("username", "", "the user; empty: any").built(),
        text("ssl_ca", "", "file of certificate authorities; with one the server's certificate is verified")
            .built(),
        text("ssl_cert", "", "file of the certificate that the server is shown").built(),
        text("ssl_key", "", "file of its key").built(),
        text("ssl_capath", "", "folder of certificate authorities").built(),
        text("ssl_crl", "", "file of revoked certificates").built(),
        text("ssl_crlpath", "", "folder of revoked certificates").built(),
        text("ssl_cipher", "", "cipher suites, names of OpenSSL separated by `:`").built(),
        text("tls_version", "", "no effect in ProxySQL either"),
        text("comment", "", "free text").built(),
    ]],
    "TLS settings of single servers and users. A row stands for all `ssl_p2s_` variables; empty: unset.",
)
.unique(&[&["hostname", "port", "username"]]);
