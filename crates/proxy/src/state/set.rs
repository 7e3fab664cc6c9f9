//! What a `SET` does to the session, from its text.
//!
//! Only what means the same on every server is a [setting](super::settings): literals, names of character sets, `DEFAULT`.
//! Everything else is [`Change::Unknown`].

use sql::lexer::Kind;

use super::settings::{Setting, key_of_null};
use super::switches;
use super::words::{Words, whole_tokens};

/// What a `SET` does to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// It sets these.
    Settings(Vec<Setting>),
    /// It sets these, and user variables to what is not written there.
    WithUserVariables(Vec<Setting>),
    /// It is for the next transaction only.
    NextTransaction,
    /// Nothing that another server would have to know: it is about the server, or an account.
    Nothing,
    /// Something that cannot be said again elsewhere.
    Unknown,
}

/// Session variables that mean something for one statement or for one server only, or that make a server answer with what the
/// session did there before.
const NOT_SETTINGS: &[&str] = &[
    "character_set_database",
    "collation_database",
    "gtid_next",
    "gtid_seq_no",
    "identity",
    "insert_id",
    "last_insert_id",
    "optimizer_trace",
    "profiling",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "server_id",
    "sql_auto_is_null",
    "gtid_domain_id",
];

/// What this `SET` does to the session.
pub(crate) fn change(text: &[u8]) -> Change {
    let Some(tokens) = whole_tokens(text) else { return Change::Unknown };
    if tokens.iter().any(|token| token.conditional) {
        return Change::Unknown;
    }
    let words = Words::new(text, &tokens);
    let end = tokens.iter().position(|token| token.kind == Kind::Sign(b';')).unwrap_or(tokens.len());
    if !words.is(0, "set") || tokens.get(end + 1).is_some() {
        return Change::Unknown;
    }
    let words = words.part(1..end);
    whole(&words).unwrap_or_else(|| assignments(&words))
}

/// Whether one of several statements in one text is a `USE`.
pub(crate) fn has_use(text: &[u8]) -> bool {
    let Some(tokens) = whole_tokens(text) else { return true };
    let mut statements = tokens.split(|token| token.kind == Kind::Sign(b';'));
    statements.any(|tokens| Words::new(text, tokens).is(0, "use"))
}

/// What the forms do that are no list of assignments.
fn whole(words: &Words<'_>) -> Option<Change> {
    match words.lower(0).as_str() {
        "transaction" => Some(Change::NextTransaction),
        "session" | "local" if words.is(1, "transaction") => Some(characteristics(words)),
        "global" | "persist" | "persist_only" if words.is(1, "transaction") => Some(Change::Nothing),
        "password" | "default" | "statement" => Some(Change::Nothing),
        "role" | "resource" => Some(Change::Unknown),
        _ => None,
    }
}

/// `SESSION TRANSACTION`, and an isolation level, an access mode, or both: each is a setting of its own.
fn characteristics(words: &Words<'_>) -> Change {
    let of_one = |part: Words<'_>| {
        let key = if part.is(0, "isolation") { "transaction_isolation" } else { "transaction_access" };
        Setting { key: key.into(), text: [&b"SET SESSION TRANSACTION "[..], part.source()].concat().into() }
    };
    Change::Settings(words.part(2..).split_at_commas().map(of_one).collect())
}

fn assignments(words: &Words<'_>) -> Change {
    let mut settings = Vec::new();
    let (mut global, mut unknown_value) = (false, false);
    for part in words.split_at_commas() {
        match assignment(&part) {
            // Servers differ in what a scope means for the assignments behind it.
            Some(Assignment::Session(_)) if global => return Change::Unknown,
            Some(Assignment::Session(setting)) => settings.push(setting),
            Some(Assignment::Global) => global = true,
            Some(Assignment::UserVariable) => unknown_value = true,
            None => return Change::Unknown,
        }
    }
    match (unknown_value, settings.is_empty()) {
        (true, _) => Change::WithUserVariables(settings),
        (false, true) => Change::Nothing,
        (false, false) => Change::Settings(settings),
    }
}

enum Assignment {
    Session(Setting),
    Global,
    /// To a value that is not written there.
    UserVariable,
}

/// One assignment; `None` if it cannot be said again elsewhere.
fn assignment(words: &Words<'_>) -> Option<Assignment> {
    if words.kind(0)? == Kind::UserVariable {
        return Some(user_variable(words).map_or(Assignment::UserVariable, Assignment::Session));
    }
    let said = |key: &str, text: &[u8]| {
        let text = [&b"SET "[..], text].concat().into();
        Some(Assignment::Session(Setting { key: key.into(), text }))
    };
    let (lower, mut at) = (words.lower(0), 1);
    let charset = match lower.as_str() {
        "names" | "charset" => 1,
        "character" if words.is(1, "set") => 2,
        _ => 0,
    };
    if charset > 0 {
        let value = is_literal(words, charset);
        let ends =
            words.len() == charset + 1 || words.is(charset + 1, "collate") && words.len() == charset + 3;
        return if value && ends { said("names", words.source()) } else { None };
    }
    let mut name = lower;
    match name.as_str() {
        "global" | "persist" | "persist_only" => return Some(Assignment::Global),
        "session" | "local" => {
            name = words.lower(1);
            at = 2;
        }
        _ => {}
    }
    if let Some(variable) = name.strip_prefix("@@") {
        let (scope, variable) = variable.split_once('.').unwrap_or(("session", variable));
        match scope {
            "global" | "persist" | "persist_only" => return Some(Assignment::Global),
            "session" | "local" => name = variable.to_owned(),
            _ => return None,
        }
    }
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_name || NOT_SETTINGS.contains(&name.as_str()) {
        return None;
    }
    // `=` or `:=`.
    at += usize::from(words.is_sign(at, b':'));
    let value = words.is_sign(at, b'=').then_some(at + 1)?;
    let signed = usize::from(words.is_sign(value, b'-') || words.is_sign(value, b'+'));
    if !is_literal(words, value + signed) || words.len() != value + signed + 1 {
        return None;
    }
    let key = switches::key(&name, words.bytes(value + signed))?;
    let value = words.part(value..);
    said(&key, &[format!("SESSION {name} = ").as_bytes(), value.source()].concat())
}

fn is_literal(words: &Words<'_>, at: usize) -> bool {
    matches!(words.kind(at), Some(Kind::Word | Kind::Text | Kind::Number))
}

/// A user variable that gets a literal, which means the same wherever it is said.
fn user_variable(words: &Words<'_>) -> Option<Setting> {
    let name = words.lower(0);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'_' | b'.' | b'$');
    let at = 1 + usize::from(words.is_sign(1, b':'));
    let value = words.is_sign(at, b'=').then_some(at + 1)?;
    let signed = usize::from(words.is_sign(value, b'-') || words.is_sign(value, b'+'));
    let text = words.bytes(value + signed);
    let is_literal = match words.kind(value + signed)? {
        Kind::Number => true,
        // What is in double quotes may be a name, and a backslash a letter.
        Kind::Text => {
            signed == 0 && text.first() == Some(&b'\'') && text.is_ascii() && !text.contains(&b'\\')
        }
        Kind::Word => ["null", "true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes())),
        _ => false,
    };
    let is_all = words.len() == value + signed + 1;
    let is_name = name.bytes().all(is_name);
    let key = if text.eq_ignore_ascii_case(b"null") { key_of_null(&name) } else { name };
    (is_literal && is_all && is_name)
        .then(|| Setting { key: key.into(), text: [&b"SET "[..], words.source()].concat().into() })
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    fn settings(text: &str) -> Vec<(String, String)> {
        match change(text.as_bytes()) {
            Change::Settings(settings) => settings
                .into_iter()
                .map(|setting| (setting.key.into(), String::from_utf8(setting.text.into()).unwrap()))
                .collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn one(text: &str) -> (String, String) {
        let mut all = settings(text);
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    #[test]
    fn literals_are_settings() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(one("SET autocommit=0"), pair("autocommit", "SET SESSION autocommit = 0"));
        assert_eq!(
            one("set @@session.Sql_Mode := 'ANSI' ;"),
            pair("sql_mode", "SET SESSION sql_mode = 'ANSI'")
        );
        assert_eq!(
            one("SET LOCAL wait_timeout = DEFAULT"),
            pair("wait_timeout", "SET SESSION wait_timeout = DEFAULT")
        );
        assert_eq!(one("SET timestamp=-1"), pair("timestamp", "SET SESSION timestamp = -1"));
        assert_eq!(
            one("SET NAMES utf8mb4 COLLATE utf8mb4_bin"),
            pair("names", "SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        );
        assert_eq!(one("SET CHARACTER SET 'latin1'"), pair("names", "SET CHARACTER SET 'latin1'"));
        assert_eq!(
            settings("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"),
            [
                pair("transaction_isolation", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                pair("transaction_access", "SET SESSION TRANSACTION READ ONLY"),
            ],
            "neither takes the place of the other"
        );
        assert_eq!(one("SET @A := -1"), pair("@a", "SET @A := -1"));
        assert_eq!(one("SET @a.b$c='x'"), pair("@a.b$c", "SET @a.b$c='x'"));
        assert_eq!(one("SET @a = NULL"), pair("@a null", "SET @a = NULL"));
    }

    #[test]
    fn c04_a_variable_that_is_set_to_null_keeps_its_type() {
        let mut all = Settings::default();
        let mut said = |text: &str| {
            let Change::Settings(settings) = change(text.as_bytes()) else { panic!("{text}") };
            assert!(settings.into_iter().all(|one| all.set(one)));
            all.since(0).map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(said("SET @a = 1"), ["SET @a = 1"]);
        assert_eq!(said("SET @a = NULL"), ["SET @a = 1", "SET @a = NULL"]);
        assert_eq!(said("SET @a = 'x'"), ["SET @a = 'x'"]);
    }

    #[test]
    fn c04_switches_do_not_take_the_place_of_others() {
        let mut all = Settings::default();
        for text in [
            "SET optimizer_switch = 'mrr=on,index_merge=off'",
            "SET optimizer_switch = 'mrr_sort_keys=on'",
            "SET optimizer_switch = 'mrr=off'",
            "SET optimizer_switch = 'index_merge=on,mrr=on'",
        ] {
            let Change::Settings(settings) = change(text.as_bytes()) else { panic!("{text}") };
            assert!(settings.into_iter().all(|one| all.set(one)));
        }
        let said: Vec<_> = all.since(0).map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect();
        let set = |switches| format!("SET SESSION optimizer_switch = '{switches}'");
        assert_eq!(said, [set("mrr_sort_keys=on"), set("mrr=off"), set("index_merge=on,mrr=on")]);
        assert_eq!(change(b"SET optimizer_switch = 'mrr'"), Change::Unknown);
    }

    #[test]
    fn c04_a_setting_that_changes_another_one_is_said_behind_it() {
        let mut all = Settings::default();
        for text in ["SET max_join_size = 2", "SET sql_big_selects = 1", "SET max_join_size = 2"] {
            let Change::Settings(settings) = change(text.as_bytes()) else { panic!("{text}") };
            assert!(settings.into_iter().all(|one| all.set(one)));
        }
        assert_eq!(
            all.since(0).map(|one| &*one.key).collect::<Vec<_>>(),
            ["sql_big_selects", "max_join_size"]
        );
    }

    #[test]
    fn whether_there_is_another_schema() {
        assert!(has_use(b"SELECT 1; use `b` ;"));
        assert!(!has_use(b"SELECT 'use x'; SELECT `use` FROM t"));
    }

    #[test]
    fn user_variables_may_get_what_is_not_written_there() {
        for text in [
            "SET @a = @@sql_mode",
            "SET @a = 1 + 1",
            "SET @a = \"x\"",
            "SET @a = 'x\\\\'",
            "SET @`a` = 1",
            "SET @a = b",
        ] {
            assert_eq!(change(text.as_bytes()), Change::WithUserVariables(vec![]), "{text}");
        }
        let Change::WithUserVariables(both) =
            change(b"SET NAMES utf8, @a := @@sql_mode, sql_safe_updates = ON")
        else {
            panic!("its value is not written there")
        };
        assert_eq!(both.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["names", "sql_safe_updates"]);
    }

    #[test]
    fn what_servers_would_understand_differently_is_unknown() {
        for text in [
            "SET sql_mode = CONCAT(@@sql_mode, ',ANSI')",
            "SET time_zone = @old",
            "SET sql_mode = @@global.sql_mode",
            "SET insert_id = 5",
            "SET profiling = 1",
            "SET sql_auto_is_null = 1",
            "SET gtid_next = 'AUTOMATIC'",
            "SET ROLE admin",
            "SET a = 1; DROP TABLE t",
            "/*!40101 SET NAMES utf8 */",
            "SET GLOBAL a = 1, b = 2",
            "SET NAMES",
            "SET x = (SELECT 1)",
            "SET x.y = 1",
            "SET x = 'unterminated",
        ] {
            assert_eq!(change(text.as_bytes()), Change::Unknown, "{text}");
        }
    }

    #[test]
    fn what_is_not_of_the_session_changes_nothing() {
        for text in ["SET GLOBAL a = 1", "SET @@global.a = f(1)", "SET PASSWORD = 'x'"] {
            assert_eq!(change(text.as_bytes()), Change::Nothing, "{text}");
        }
        assert_eq!(change(b"SET TRANSACTION READ ONLY"), Change::NextTransaction);
    }
}
