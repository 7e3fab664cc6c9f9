//! The tables of the firewall.

use super::super::{COUNT, Section, Shape, choice, int, switch, text};

/// The table `mysql_firewall_whitelist_users`.
pub static MYSQL_FIREWALL_WHITELIST_USERS: Section = Section::new(
    "mysql_firewall_whitelist_users",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use"),
        text("username", "", "the user").required(),
        text("client_address", "", "the client's address").required(),
        choice("mode", "OFF", &["OFF", "DETECTING", "PROTECTING"], "what is done with unlisted statements"),
        text("comment", "", "free text").required(),
    ]],
    "The firewall's mode by user and client address.",
)
.unique(&[&["username", "client_address"]]);

/// The table `mysql_firewall_whitelist_rules`.
pub static MYSQL_FIREWALL_WHITELIST_RULES: Section = Section::new(
    "mysql_firewall_whitelist_rules",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use"),
        text("username", "", "the user").required(),
        text("client_address", "", "the client's address").required(),
        text("schemaname", "", "the current schema").required(),
        int("flagIN", 0, COUNT, "the state of the rules"),
        text("digest", "", "the statement's digest").required(),
        text("comment", "", "free text").required(),
    ]],
    "The statements that the firewall lets pass.",
)
.unique(&[&["username", "client_address", "schemaname", "flagIN", "digest"]]);

/// The table `mysql_firewall_whitelist_sqli_fingerprints`.
pub static MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS: Section = Section::new(
    "mysql_firewall_whitelist_sqli_fingerprints",
    Shape::Rows,
    &[&[
        switch("active", true, "whether the row is in use"),
        text("fingerprint", "", "the fingerprint").required(),
    ]],
    "Fingerprints of the injection detector to let pass.",
)
.unique(&[&["fingerprint"]]);
