//! The column `attributes` of `mysql_users`, as far as it has an effect.

use std::fmt;
use std::str::FromStr;

use super::{CacheSettings, CausalReads, SpiffeId};
use crate::json::{self, Json};
use crate::password;

/// What the JSON in the column says. Empty for an empty text.
#[derive(Clone, PartialEq, Eq)]
pub struct UserAttributes {
    /// A second password that is as good as the first, in the forms of `password`, so that
    /// passwords can be changed in clients, proxy and servers one after the other. Written as
    /// hexadecimal digits, as in ProxySQL. Never printed by `Debug`.
    pub additional_password: Option<Vec<u8>>,
    /// Whether both passwords are clear texts, whatever their form (`clear_password`).
    pub clear_password: bool,
    /// Whether hints in the comments of the user's statements count (`hints`).
    pub hints: bool,
    /// Most statements of the user in a second, on all its connections together; at least 1.
    pub max_qps: Option<u64>,
    /// Most statements of the user at a time; at least 1.
    pub max_concurrent: Option<u64>,
    /// Most connections to servers as the user; at least 1.
    pub max_backend_connections: Option<u64>,
    /// The isolation level of transactions that sessions of the user begin with, instead of the
    /// server's (`default-transaction_isolation`).
    pub isolation: Option<Isolation>,
    /// Whose certificate a client must show to log in (`spiffe_id`), besides the password.
    pub spiffe_id: Option<SpiffeId>,
    /// How answers to the user's statements are cached where no rule says something else.
    pub cache: Option<CacheSettings>,
    /// Whose writes reads of the user must see, instead of what the variable says
    /// (`causal_reads`).
    pub causal_reads: Option<CausalReads>,
}

/// An isolation level of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// What others have not committed is seen.
    ReadUncommitted,
    /// What others have committed is seen at once.
    ReadCommitted,
    /// What is seen does not change within a transaction.
    RepeatableRead,
    /// As if transactions came one after the other.
    Serializable,
}

impl Isolation {
    const ALL: [Self; 4] =
        [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// The level with this name, which may be written as the value of a variable is:
    /// `READ-COMMITTED`.
    fn of(name: &str) -> Option<Self> {
        let name = name.replace('-', " ");
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(&name))
    }
}

/// What an empty text says: hints count.
impl Default for UserAttributes {
    fn default() -> Self {
        Self {
            additional_password: None,
            clear_password: false,
            hints: true,
            max_qps: None,
            max_concurrent: None,
            max_backend_connections: None,
            isolation: None,
            spiffe_id: None,
            cache: None,
            causal_reads: None,
        }
    }
}

impl FromStr for UserAttributes {
    /// The rest of a sentence that starts with the setting's name.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let json = json::parse(text).ok_or("must be JSON, or empty")?;
        let clear_password = switch(&json, "clear_password", false)?;
        Ok(Self {
            additional_password: additional_password(&json, clear_password)?,
            clear_password,
            hints: switch(&json, "hints", true)?,
            max_qps: limit(&json, "max_qps")?,
            max_concurrent: limit(&json, "max_concurrent")?,
            max_backend_connections: limit(&json, "max_backend_connections")?,
            isolation: isolation(&json)?,
            spiffe_id: spiffe_id(&json)?,
            cache: CacheSettings::of(&json)?,
            causal_reads: CausalReads::in_json(&json)?,
        })
    }
}

/// A switch that is `preset` where it is not given.
fn switch(json: &Json, name: &str, preset: bool) -> Result<bool, String> {
    match json.get(name) {
        None | Some(Json::Null) => Ok(preset),
        Some(value) => json::switch(value).ok_or_else(|| format!("must have `{name}` as true or false")),
    }
}

/// A limit, if there is one.
fn limit(json: &Json, name: &str) -> Result<Option<u64>, String> {
    match json.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(format!("must have `{name}` as a whole number above 0")),
        },
    }
}

/// The isolation level, if there is one.
fn isolation(json: &Json) -> Result<Option<Isolation>, String> {
    let value = match json.get("default-transaction_isolation") {
        None | Some(Json::Null) => return Ok(None),
        Some(value) => value.as_str().and_then(Isolation::of),
    };
    let names = Isolation::ALL.map(Isolation::name).join("`, `");
    value.map(Some).ok_or_else(|| format!("must have as `default-transaction_isolation` one of `{names}`"))
}

/// The URI of a certificate, if clients must show one.
fn spiffe_id(json: &Json) -> Result<Option<SpiffeId>, String> {
    match json.get("spiffe_id") {
        None | Some(Json::Null) => Ok(None),
        Some(value) => value.as_str().ok_or("must have `spiffe_id` as a text")?.parse().map(Some),
    }
}

/// The second password, if there is one.
fn additional_password(json: &Json, clear: bool) -> Result<Option<Vec<u8>>, String> {
    let digits = match json.get("additional_password") {
        None | Some(Json::Null) => return Ok(None),
        Some(value) => value.as_str().and_then(bytes),
    };
    let password = digits.ok_or("must have `additional_password` as hexadecimal digits")?;
    if password.is_empty() {
        return Ok(None);
    }
    let check = std::str::from_utf8(&password).map_or(Ok(()), |text| password::check(text, clear));
    check.map_err(|error| format!("has an `additional_password` that {error}"))?;
    Ok(Some(password))
}

/// The bytes that hexadecimal digits stand for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let whole = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
            whole.then(|| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).flatten()
        })
        .collect()
}

impl fmt::Debug for UserAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = if self.additional_password.is_some() { "hidden" } else { "none" };
        f.debug_struct("UserAttributes")
            .field("additional_password", &password)
            .field("clear_password", &self.clear_password)
            .field("hints", &self.hints)
            .field("max_qps", &self.max_qps)
            .field("max_concurrent", &self.max_concurrent)
            .field("max_backend_connections", &self.max_backend_connections)
            .field("isolation", &self.isolation)
            .field("spiffe_id", &self.spiffe_id)
            .field("cache", &self.cache)
            .field("causal_reads", &self.causal_reads)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Result<Option<Vec<u8>>, String> {
        text.parse().map(|attributes: UserAttributes| attributes.additional_password)
    }

    #[test]
    fn a_second_password_is_hexadecimal() {
        for (text, expected) in [
            ("", None),
            ("{}", None),
            ("[1]", None),
            (r#"{"spiffe_id": "spiffe://x/y"}"#, None),
            (r#"{"additional_password": ""}"#, None),
            (r#"{"additional_password": "736563726574"}"#, Some("secret")),
            (
                r#" { "a": {"additional_password": "00"}, "additional_password" : "7365" , "b":1 } "#,
                Some("se"),
            ),
        ] {
            assert_eq!(password(text), Ok(expected.map(|text| text.as_bytes().to_vec())), "{text}");
        }
        for text in [
            "{x}",
            r#"{"additional_password": "7"}"#,
            r#"{"additional_password": "secret"}"#,
            r#"{"additional_password": true}"#,
            r#"{"additional_password": "2a3030303030303030303030303030303030303030303030303030303030303030"}"#,
        ] {
            assert!(password(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_second_password_that_looks_like_a_hash_can_be_clear() {
        let text = r#"{"clear_password": true, "additional_password": "2441243030352461"}"#;
        assert_eq!(password(text), Ok(Some(b"$A$005$a".to_vec())));
        assert!(password(&text.replace("true", "false")).unwrap_err().contains("`clear_password`"));
        assert!(password(&text.replace("true", "3")).is_err());
    }

    #[test]
    fn hints_count_unless_they_are_switched_off() {
        let hints = |text: &str| text.parse().map(|attributes: UserAttributes| attributes.hints).ok();
        for (text, expected) in [
            ("", Some(true)),
            ("{}", Some(true)),
            (r#"{"hints": true}"#, Some(true)),
            (r#"{"hints": null}"#, Some(true)),
            (r#"{"hints": false, "additional_password": "7365"}"#, Some(false)),
            (r#"{"hints": 0}"#, Some(false)),
            (r#"{"hints": "off"}"#, None),
            (r#"{"hints": 2}"#, None),
        ] {
            assert_eq!(hints(text), expected, "{text}");
        }
    }

    #[test]
    fn limits_are_numbers_above_zero() {
        let limits = |text: &str| {
            let parsed: Result<UserAttributes, String> = text.parse();
            parsed.map(|all| (all.max_qps, all.max_concurrent))
        };
        assert_eq!(limits("{}"), Ok((None, None)));
        assert_eq!(limits(r#"{"max_qps": 5, "max_concurrent": null}"#), Ok((Some(5), None)));
        assert_eq!(limits(r#"{"max_concurrent": 1}"#), Ok((None, Some(1))));
        for text in [r#"{"max_qps": 0}"#, r#"{"max_qps": -1}"#, r#"{"max_concurrent": "7"}"#] {
            assert!(limits(text).unwrap_err().ends_with("as a whole number above 0"), "{text}");
        }
    }

    #[test]
    fn debug_hides_it() {
        let attributes: UserAttributes = r#"{"additional_password": "736563726574"}"#.parse().unwrap();
        assert_eq!(
            format!("{attributes:?}"),
            r#"UserAttributes { additional_password: "hidden", clear_password: false, hints: true, max_qps: None, max_concurrent: None, max_backend_connections: None, isolation: None, spiffe_id: None, cache: None, causal_reads: None }"#
        );
    }

    #[test]
    fn isolation_levels_have_the_names_of_sql() {
        let level = |text: &str| text.parse().map(|attributes: UserAttributes| attributes.isolation);
        assert_eq!(
            level(r#"{"default-transaction_isolation": "read committed"}"#),
            Ok(Some(Isolation::ReadCommitted))
        );
        assert_eq!(
            level(r#"{"default-transaction_isolation": "SERIALIZABLE"}"#),
            Ok(Some(Isolation::Serializable))
        );
        assert_eq!(
            level(r#"{"default-transaction_isolation": "REPEATABLE-READ"}"#),
            Ok(Some(Isolation::RepeatableRead))
        );
        for text in [r#"{"default-transaction_isolation": "X"}"#, r#"{"default-transaction_isolation": 1}"#] {
            assert!(level(text).unwrap_err().starts_with("must have as"), "{text}");
        }
    }
}
