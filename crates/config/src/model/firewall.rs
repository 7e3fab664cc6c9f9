//! Rows of the firewall's tables.

use crate::row::from_row;
use crate::schema::{
    MYSQL_FIREWALL_WHITELIST_RULES, MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    MYSQL_FIREWALL_WHITELIST_USERS,
};

/// What is done with a user's statements that are on no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirewallUser {
    /// Whether the row is in use.
    pub active: bool,
    /// The user.
    pub username: String,
    /// The client's address; empty for any that has no row of its own.
    pub client_address: String,
    /// What is done.
    pub mode: FirewallMode,
    /// Free text.
    pub comment: String,
}

from_row!(FirewallUser, MYSQL_FIREWALL_WHITELIST_USERS, {
    active,
    username,
    client_address,
    mode,
    comment,
});

/// The column `mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirewallMode {
    /// Nothing.
    #[default]
    Off,
    /// They are logged and counted.
    Detecting,
    /// They are refused.
    Protecting,
}

impl FirewallMode {
    /// The word for it in `mysql_firewall_whitelist_users`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Detecting => "DETECTING",
            Self::Protecting => "PROTECTING",
        }
    }
}

/// Statements that a user may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirewallRule {
    /// Whether the row is in use.
    pub active: bool,
    /// The user.
    pub username: String,
    /// The client's address, as in the row of the user that holds for it.
    pub client_address: String,
    /// The current schema; empty for none.
    pub schemaname: String,
    /// The state behind the last query rule (`flagIN`).
    pub flag_in: u32,
    /// The digest of the statements: [`digest_number`] of it is a number.
    pub digest: String,
    /// Free text.
    pub comment: String,
}

from_row!(FirewallRule, MYSQL_FIREWALL_WHITELIST_RULES, {
    active,
    username,
    client_address,
    schemaname,
    flag_in = "flagIN",
    digest,
    comment,
});

/// A kind of statements that pass although they look like injected SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliFingerprint {
    /// Whether the row is in use.
    pub active: bool,
    /// Its fingerprint: [`is_sqli_fingerprint`] of it is true.
    pub fingerprint: String,
}

from_row!(SqliFingerprint, MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS, {
    active,
    fingerprint,
});

/// Whether a text can be a fingerprint of libinjection: up to five tokens, each the letter or sign
/// of its kind.
pub fn is_sqli_fingerprint(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| b"&(),1:;ABETUXcfknostv".contains(&byte))
}

/// The digest that a text names, in C's notation for numbers, as tables show it (`0x` and
/// hexadecimal digits); nothing if it names none.
pub fn digest_number(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let number = match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16),
        (None, Some(digits)) if !digits.is_empty() => u64::from_str_radix(digits, 8),
        _ => lower.parse(),
    };
    number.ok().filter(|number| !matches!(*number, 0 | u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_numbers_in_the_notation_of_c() {
        assert_eq!(digest_number("0x1C46AE529DD5A40E"), Some(0x1C46_AE52_9DD5_A40E));
        assert_eq!(digest_number(" 0X1c46 "), Some(0x1C46));
        assert_eq!(digest_number("017"), Some(15));
        assert_eq!(digest_number("17"), Some(17));
        for text in ["", "0", "0x", "0x1C46AE529DD5A40E0", "-1", "SELECT ?", "0xFFFFFFFFFFFFFFFF"] {
            assert_eq!(digest_number(text), None, "{text}");
        }
    }

    #[test]
    fn fingerprints_have_up_to_five_tokens() {
        for text in ["X", "s&1", "Enknk", "E(1)k"] {
            assert!(is_sqli_fingerprint(text), "{text}");
        }
        for text in ["", "Enknkn", "enknk", "s s", "SELECT"] {
            assert!(!is_sqli_fingerprint(text), "{text}");
        }
    }
}
