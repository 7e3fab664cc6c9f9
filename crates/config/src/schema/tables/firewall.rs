//! The tables of the firewall.

use super::super::{COUNT, Section, Shape, choice, int, switch, text};

/// The table `mysql_firewall_whitelist_users`.
pub static MYSQL_FIREWALL_WHITELIST_USERS: Section = Section::new(
    "mysql_firewall_whitelist_users",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use").built(),
        text("username", "", "the user").required().built(),
        text("client_address", "", "the client's address; empty: any that has no row of its own")
            .required()
            .built(),
        choice("mode", "OFF", &["OFF", "DETECTING", "PROTECTING"], "what is done with unlisted statements")
            .built(),
        text("comment", "", "free text").required().built(),
    ]],
    "The firewall's mode by user and client address.",
)
.unique(&[&["username", "client_address"]])
.examples(&[&[
    ("username", "\"app\""),
    ("client_address", "\"\""),
    ("mode", "\"DETECTING\""),
    ("comment", "\"\""),
]]);

/// The table `mysql_firewall_whitelist_rules`.
pub static MYSQL_FIREWALL_WHITELIST_RULES: Section = Section::new(
    "mysql_firewall_whitelist_rules",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use").built(),
        text("username", "", "the user").required().built(),
        text("client_address", "", "the client's address, as in the row of the user that holds for it")
            .required()
            .built(),
        text("schemaname", "", "the current schema; empty: none").required().built(),
        int("flagIN", 0, COUNT, "the state behind the last query rule").built(),
        text("digest", "", "the statement's digest, `0x...`").required().built(),
        text("comment", "", "free text").required().built(),
    ]],
    "The statements that the firewall lets pass.",
)
.unique(&[&["username", "client_address", "schemaname", "flagIN", "digest"]])
.examples(&[&[
    ("username", "\"app\""),
    ("client_address", "\"\""),
    ("schemaname", "\"shop\""),
    ("digest", "\"0x1C46AE529DD5A40E\""),
    ("comment", "\"\""),
]]);

/// The table `mysql_firewall_whitelist_sqli_fingerprints`.
pub static MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS: Section = Section::new(
    "mysql_firewall_whitelist_sqli_fingerprints",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use").built(),
        text("fingerprint", "", "the fingerprint, as libinjection writes it").required().built(),
    ]],
    "Fingerprints of injected SQL with which statements pass (`mysql-automatic_detect_sqli`).",
)
.unique(&[&["fingerprint"]])
.examples(&[&[("fingerprint", "\"Enknk\"")]]);
