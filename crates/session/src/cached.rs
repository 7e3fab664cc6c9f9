//! What of a session, and of a text, an answer of the query cache depends on.

use cache::{Key, KeyBuilder, Refusal};
use sql::{Lexer, Modes};
use wire::Capabilities;

use crate::state::{SCHEMA, Settings};

/// Capabilities of a client that change bytes of an answer, or what a text means. `DEPRECATE_EOF`
/// is not among them: an answer is given in both forms.
const FORMS: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::ODBC)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MARIADB_EXTENDED_METADATA);

/// With this a server leaves out columns if the client says so.
const LEAVES_OUT: Capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA;

/// Settings that change no byte of an answer: time limits, logs, buffers.
const HARMLESS: [&str; 18] = [
    SCHEMA,
    "foreign_key_checks",
    "innodb_lock_wait_timeout",
    "interactive_timeout",
    "lock_wait_timeout",
    "log_slow_filter",
    "log_slow_rate_limit",
    "log_slow_verbosity",
    "long_query_time",
    "max_execution_time",
    "max_statement_time",
    "net_read_timeout",
    "net_retry_count",
    "net_write_timeout",
    "profiling",
    "sql_log_bin",
    "unique_checks",
    "wait_timeout",
];

/// Isolation levels that read only what is committed.
const COMMITTED: [&[u8]; 3] = [b"READ COMMITTED", b"REPEATABLE READ", b"SERIALIZABLE"];

/// What an answer depends on besides account, text and values, for a client with these
/// capabilities, whose login has named this collation, in this schema. The schema's name is not a
/// setting of its own: what is selected by a `USE` and by a login is the same.
///
/// # Errors
///
/// Why no answer may be given to a session that has set this.
pub fn class(
    key: KeyBuilder,
    settings: &Settings,
    schema: &[u8],
    capabilities: Capabilities,
    collation: u16,
) -> Result<Key, Refusal> {
    if capabilities.intersects(LEAVES_OUT) {
        return Err(Refusal::KeepsColumns);
    }
    let key = key.part(schema).number(u64::from(settings.was_schema_reset()));
    let mut key = key.number((capabilities & FORMS).bits()).number(collation.into());
    for setting in settings.since(0) {
        let name = &*setting.key;
        if matches!(name, "transaction_isolation" | "tx_isolation") && !is_committed(&setting.text) {
            return Err(Refusal::ReadUncommitted);
        }
        if name == "sql_auto_is_null" && !is_off(&setting.text) {
            // `a IS NULL` asks for the last row that the session has inserted.
            return Err(Refusal::ReadsLast);
        }
        // Statements that read user variables are refused.
        if !HARMLESS.contains(&name) && !name.starts_with('@') {
            key = key.part(name.as_bytes()).part(&setting.text);
        }
    }
    Ok(key.finish())
}

/// Whether a setting switches its variable off.
fn is_off(text: &[u8]) -> bool {
    let value = text.rsplit(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
    let value = value.strip_prefix(b"'").and_then(|value| value.strip_suffix(b"'")).unwrap_or(value);
    [&b"0"[..], b"off", b"false"].iter().any(|off| off.eq_ignore_ascii_case(value))
}

/// Whether a setting of the isolation level is one of [`COMMITTED`].
fn is_committed(text: &[u8]) -> bool {
    let text: Vec<u8> =
        text.iter().map(|byte| if *byte == b'-' { b' ' } else { byte.to_ascii_uppercase() }).collect();
    COMMITTED.iter().any(|level| text.windows(level.len()).any(|part| part == *level))
}

/// The text without blanks and plain comments in front and behind, of which no column is named: so
/// the ids that tracing tools add do not make other answers of it.
pub fn trimmed(text: &[u8], modes: Modes) -> &[u8] {
    let mut text = text.trim_ascii();
    while let Some(inside) = text.strip_prefix(b"/*") {
        if inside.starts_with(b"!") || inside.starts_with(b"M!") || inside.starts_with(b"+") {
            break;
        }
        let Some(end) = inside.windows(2).position(|two| two == b"*/") else { break };
        text = inside.get(end + 2..).unwrap_or_default().trim_ascii_start();
    }
    // In the other mode of double quotes a backslash may not escape.
    let is_certain = !(text.contains(&b'"') && text.contains(&b'\\'));
    if !text.ends_with(b"*/") || !is_certain {
        return text;
    }
    let mut tokens = Lexer::new(text, modes);
    let last = tokens.by_ref().last();
    match last.filter(|last| !last.conditional && !tokens.broken()) {
        Some(last) if !text.get(last.end..).unwrap_or_default().windows(3).any(is_executed) => {
            text.get(..last.end).unwrap_or(text)
        }
        _ => text,
    }
}

/// Whether a comment begins with these that is more than that.
fn is_executed(three: &[u8]) -> bool {
    matches!(three, b"/*!" | b"/*M" | b"/*+")
}

#[cfg(test)]
mod tests {
    use cache::Keys;

    use super::*;
    use crate::state::Setting;

    const CAPS: Capabilities = Capabilities::PROTOCOL_41;

    fn of(list: &[(&str, &str)], capabilities: Capabilities) -> Result<Key, Refusal> {
        let mut settings = Settings::default();
        for (key, text) in list {
            assert!(settings.set(Setting { key: (*key).into(), text: text.as_bytes().into() }));
        }
        class(Keys::new([1, 2]).builder(), &settings, b"shop", capabilities, 45)
    }

    #[test]
    fn c03_each_setting_but_harmless_ones_makes_another_answer() {
        let plain = of(&[], CAPS).unwrap();
        assert_eq!(of(&[("wait_timeout", "SET wait_timeout = 9")], CAPS), Ok(plain));
        assert_eq!(of(&[("@x", "SET @x = 1"), (SCHEMA, "shop")], CAPS), Ok(plain));
        assert_eq!(of(&[], CAPS | Capabilities::DEPRECATE_EOF | Capabilities::SSL), Ok(plain));
        assert_ne!(of(&[], CAPS | Capabilities::MARIADB_EXTENDED_METADATA), Ok(plain));
        for setting in ["time_zone", "sql_mode", "names", "sql_select_limit", "never_heard_of"] {
            let one = of(&[(setting, "SET x = 1")], CAPS).unwrap();
            assert_ne!(one, plain, "{setting}");
            assert_ne!(of(&[(setting, "SET x = 2")], CAPS), Ok(one), "{setting}");
        }
        assert_eq!(of(&[], CAPS | Capabilities::OPTIONAL_RESULTSET_METADATA), Err(Refusal::KeepsColumns));
    }

    #[test]
    fn who_reads_uncommitted_rows_gets_no_answer() {
        let of = |text| of(&[("transaction_isolation", text)], CAPS);
        for text in ["SET tx_isolation = 'READ-UNCOMMITTED'", "SET transaction_isolation = 0"] {
            assert_eq!(of(text), Err(Refusal::ReadUncommitted), "{text}");
        }
        assert!(of("SET SESSION TRANSACTION ISOLATION LEVEL read committed").is_ok());
        assert!(of("SET transaction_isolation = 'REPEATABLE-READ'").is_ok());
    }

    #[test]
    fn c03_nulls_that_stand_for_the_last_insert_get_no_answer() {
        let of = |text| of(&[("sql_auto_is_null", text)], CAPS);
        for text in ["SET sql_auto_is_null = 1", "SET sql_auto_is_null=ON", "SET sql_auto_is_null = DEFAULT"]
        {
            assert_eq!(of(text), Err(Refusal::ReadsLast), "{text}");
        }
        for text in
            ["SET SQL_AUTO_IS_NULL = 0", "SET @@sql_auto_is_null := off", "SET sql_auto_is_null = 'OFF'"]
        {
            assert!(of(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn comments_around_a_text_do_not_make_another_of_it() {
        for (text, expected) in [
            ("SELECT 1 ", "SELECT 1"),
            ("/* id=7 */ /* b */SELECT /* in */ a FROM t /* id=8 */", "SELECT /* in */ a FROM t"),
            ("SELECT a FROM t /* 1 */ /* 2 */", "SELECT a FROM t"),
            ("/*!40000 SELECT */ a FROM t", "/*!40000 SELECT */ a FROM t"),
            ("SELECT a FROM t /*!40000 LIMIT 1 */", "SELECT a FROM t /*!40000 LIMIT 1 */"),
            ("SELECT a FROM t /* x */ /*! */", "SELECT a FROM t /* x */ /*! */"),
            ("SELECT '/* a */", "SELECT '/* a */"),
            ("SELECT 'a\\' /* b */", "SELECT 'a\\' /* b */"),
            ("SELECT \"a\\\" /* b */", "SELECT \"a\\\" /* b */"),
            ("/* only */", ""),
        ] {
            assert_eq!(trimmed(text.as_bytes(), Modes::default()), expected.as_bytes(), "{text}");
        }
        let plain = Modes { no_backslash_escapes: true, ..Modes::default() };
        assert_eq!(trimmed(b"SELECT 'a\\' /* b */", plain), b"SELECT 'a\\'");
    }
}
