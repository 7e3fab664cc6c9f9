//! `mysql_users`.

use super::super::{COUNT, Field, Kind, Preset, Section, Shape, int, switch, text};

/// The table `mysql_users`.
pub static MYSQL_USERS: Section = Section::new(
    "mysql_users",
    Shape::Rows,
    &[USER],
    "The accounts that clients log in with, and that the proxy logs in to servers with.",
)
.unique(&[&["username", "backend"], &["username", "frontend"]])
.examples(&[&[("username", "\"app\""), ("password", "\"change me\""), ("default_hostgroup", "0")]]);

const USER: &[Field] = &[
    text("username", "", "the name").required().built(),
    Field::new(
        "password",
        Kind::Password,
        Preset::Text(""),
        "clear text, `*` and 40 hex digits (`mysql_native_password`), or `$A$005$` with salt and hash \
         (`caching_sha2_password`); empty: none; with `clear_password` in `attributes`: clear text, whatever it looks like",
    )
    .nullable()
    .secret()
    .built(),
    switch("active", true, "whether the account is in use").built(),
    switch(
        "use_ssl",
        false,
        "clients must use TLS; without it they are refused as if the password was wrong",
    )
    .built(),
    int("default_hostgroup", 0, COUNT, "where statements go when nothing else decides").built(),
    text("default_schema", "", "schema of a session whose client names none").null().built(),
    switch("schema_locked", false, "no effect in ProxySQL either"),
    switch("transaction_persistent", true, "a transaction stays on one hostgroup, whatever rules say").built(),
    switch(
        "fast_forward",
        false,
        "behind the login bytes are copied without a look at statements: no rules, no digests, and a connection of its own for each \
         client",
    )
    .built(),
    switch("backend", true, "the proxy may log in to servers with it").built(),
    switch("frontend", true, "clients may log in with it").built(),
    int("max_connections", 10_000, COUNT, "most clients with this name at a time").built(),
    Field::new(
        "attributes",
        Kind::UserAttributes,
        Preset::Text(""),
        "JSON: `additional_password`, the hexadecimal digits of a second password that is as good, in clear text or of the \
         kind that `password` has; `clear_password`, true if both passwords are clear texts although they may look like hashes; `hints`, false if hints in the comments of the user's statements must not count; `max_qps` and `max_concurrent`, most statements of the user in a second and at a time; `max_backend_connections`, most connections to servers as the user; `default-transaction_isolation`, the isolation level that its sessions begin with, such as `READ COMMITTED` (not with `fast_forward`); `spiffe_id`, the URI that a client's certificate must have, or `!` and a regular expression for the whole of it (`pointsman-tls_ca` says whose certificates count); `cache`, an object as in `mysql_query_rules`, where no rule says something else; `causal_reads` as the variable `pointsman-causal_reads`",
    )
    .secret()
    .built(),
    text("comment", "", "free text").built(),
];
