//! What a client has set in its session: kept, so that every server that it gets has it as well.
//!
//! A setting is the client's own text, said again in the order in which it was said first. Only what means the same on
//! every server is one: literals, names of character sets, `DEFAULT`. Everything else is [`Change::Unknown`].

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sql::lexer::Kind;

use super::words::{Words, whole_tokens};
use super::{OPTION, SCHEMA, switches};
use crate::limits::{SETTINGS_BYTES_MAX, SETTINGS_MAX};

/// A setting: what it replaces, and how it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The variable in lower case, or a word that no variable is called.
    pub(crate) key: Box<str>,
    /// The statement.
    pub(crate) text: Box<[u8]>,
}

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

/// The settings of a session, in the order in which they were made.
#[derive(Debug, Default, Clone)]
pub(crate) struct Settings {
    all: VecDeque<(u64, Setting)>,
    bytes: usize,
    version: u64,
    /// The sum of the hashes of all but the schema: settings that are the same have the same.
    hash: u64,
    /// How often something was set that decides what a text means.
    modes: u64,
    /// The version that a reset has made.
    reset_at: Option<u64>,
}

impl Settings {
    /// How often settings were made. A server that has all has this version.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Adds a setting, in place of an older one with the same key; false if there are too many.
    pub(crate) fn set(&mut self, setting: Setting) -> bool {
        let is_schema_again = *setting.key == *SCHEMA && self.was_schema_reset();
        if self.holds_already(&setting) && !is_schema_again {
            return true;
        }
        self.forget(&setting.key);
        if setting.key.starts_with('@') {
            self.forget(&key_of_null(&setting.key));
        }
        let bytes = self.bytes + setting.text.len();
        if self.all.len() >= SETTINGS_MAX || bytes > SETTINGS_BYTES_MAX {
            return false;
        }
        self.bytes = bytes;
        self.version += 1;
        self.hash = self.hash.wrapping_add(setting.hash());
        self.modes += u64::from(setting.is_mode());
        self.all.push_back((self.version, setting));
        true
    }

    /// Changes with everything that decides what a text means: the schema, character sets, modes. A statement that was prepared
    /// under other ones is another statement.
    pub(crate) const fn modes(&self) -> u64 {
        self.modes
    }

    /// Whether saying it once more changes nothing.
    fn holds_already(&self, setting: &Setting) -> bool {
        let Some(at) = self.all.iter().position(|(_, one)| one == setting) else { return false };
        !setting.interplays() || !self.all.iter().skip(at + 1).any(|(_, later)| later.interplays())
    }

    /// Forgets all but the schema and `COM_SET_OPTION`: what `COM_RESET_CONNECTION` leaves.
    pub(crate) fn reset(&mut self) {
        self.version += 1;
        self.reset_at = Some(self.version);
        self.all.retain(|(_, setting)| matches!(&*setting.key, SCHEMA | OPTION));
        self.bytes = self.all.iter().map(|(_, setting)| setting.text.len()).sum();
        self.hash = self.all.iter().fold(0, |sum, (_, setting)| sum.wrapping_add(setting.hash()));
    }

    /// Whether the session was reset since it is in its schema. Servers take away the schema's character set then, which is
    /// `character_set_database`, and leave the schema.
    pub(crate) fn was_schema_reset(&self) -> bool {
        self.reset_at.is_some_and(|version| !self.since(version).any(|one| *one.key == *SCHEMA))
    }

    /// What was set before the last reset and outlives it, in order.
    pub(crate) fn before_reset(&self) -> impl Iterator<Item = &Setting> {
        let reset_at = self.reset_at.unwrap_or_default();
        self.all.iter().filter(move |(made, _)| *made < reset_at).map(|(_, setting)| setting)
    }

    /// The version of a server that has these, and was reset then.
    pub(crate) fn version_of_reset(&self) -> u64 {
        self.reset_at.unwrap_or_default()
    }

    /// Whether there is a user variable.
    pub(crate) fn has_user_variables(&self) -> bool {
        self.all.iter().any(|(_, setting)| setting.key.starts_with('@'))
    }

    /// What a server that has `version` lacks, in order.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Setting> {
        self.all.iter().filter(move |(made, _)| *made > version).map(|(_, setting)| setting)
    }

    /// What has to be said where all of `there` is set, and nothing else, to have these settings there; `None` if there is
    /// something that these do not have. Schemas do not count: who asks knows them.
    pub(crate) fn missing(&self, there: &Self) -> Option<Vec<Setting>> {
        if self.hash == there.hash && self.besides_schema().eq(there.besides_schema()) {
            return Some(Vec::new());
        }
        let mut missing: Vec<&Setting> = self.besides_schema().collect();
        // What depends on an order was said there in the order in which it was said here, as far as it was.
        let mut ordered = self.besides_schema().filter(|one| one.interplays());
        for setting in there.besides_schema() {
            if setting.interplays() && ordered.next() != Some(setting) {
                return None;
            }
            let at = missing.iter().position(|one| *one == setting)?;
            missing.remove(at);
        }
        Some(missing.into_iter().cloned().collect())
    }

    /// Whether nothing has to be said for that.
    pub(crate) fn are_at(&self, there: &Self) -> bool {
        self.hash == there.hash && self.missing(there).is_some_and(|missing| missing.is_empty())
    }

    /// What the client has said with `COM_SET_OPTION`, as a payload; nothing if it has not.
    pub(crate) fn option(&self) -> Option<&[u8]> {
        self.since(0).find(|one| *one.key == *OPTION).map(|one| &*one.text)
    }

    /// All but the schema, in order.
    pub(crate) fn besides_schema(&self) -> impl Iterator<Item = &Setting> {
        self.since(0).filter(|one| *one.key != *SCHEMA)
    }

    fn forget(&mut self, key: &str) {
        if let Some(at) = self.all.iter().position(|(_, setting)| *setting.key == *key)
            && let Some((_, setting)) = self.all.remove(at)
        {
            self.bytes -= setting.text.len();
            self.hash = self.hash.wrapping_sub(setting.hash());
        }
    }
}

impl Setting {
    /// Whether it matters which of such settings comes first: character sets are set by several variables, a literal is in
    /// the one of its moment, lists of switches may have some in common, and to set `max_join_size` changes `sql_big_selects`.
    fn interplays(&self) -> bool {
        const GROUPS: [&str; 11] = [
            "names",
            "character_set",
            "collation",
            "transaction",
            "tx_",
            "sql_mode",
            switches::GROUP,
            "max_join_size",
            "sql_max_join_size",
            "sql_big_selects",
            "@",
        ];
        GROUPS.iter().any(|group| self.key.starts_with(group)) || self.text.contains(&b'"')
    }

    /// Whether it decides what a text means.
    pub(crate) fn is_mode(&self) -> bool {
        ["names", "character_set", "collation", "sql_mode"].iter().any(|group| self.key.starts_with(group))
            || *self.key == *SCHEMA
    }

    fn hash(&self) -> u64 {
        if *self.key == *SCHEMA {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        (&self.key, &self.text).hash(&mut hasher);
        hasher.finish()
    }
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

/// The key of the setting of a user variable to `NULL`. It does not take the place of the one before, of which the variable keeps the
/// type.
fn key_of_null(name: &str) -> String {
    format!("{name} null")
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

    #[test]
    fn a_setting_takes_the_place_of_the_one_before() {
        let mut all = Settings::default();
        let setting = |key: &str, text: &str| Setting { key: key.into(), text: text.as_bytes().into() };
        assert!(all.set(setting("a", "1")) && all.set(setting("b", "2")) && all.set(setting("a", "3")));
        let texts = |version| all.since(version).map(|s| s.text.to_vec()).collect::<Vec<_>>();
        assert_eq!(texts(0), [b"2", b"3"]);
        assert_eq!(texts(2), [b"3"]);
        assert_eq!(texts(all.version()).len(), 0);
    }

    #[test]
    fn what_is_missing_elsewhere() {
        let of = |list: &[(&str, &str)]| {
            let mut all = Settings::default();
            for (key, text) in list {
                assert!(all.set(Setting { key: (*key).into(), text: text.as_bytes().into() }));
            }
            all
        };
        let missing = |one: &[(&str, &str)], there: &[(&str, &str)]| {
            let missing = of(one).missing(&of(there))?;
            Some(missing.iter().map(|one| one.key.to_string()).collect::<Vec<_>>().join(" "))
        };
        let (a, b, names, results) = (("a", "1"), ("b", "2"), ("names", "x"), ("character_set_results", "y"));
        for (one, there, expected) in [
            (&[a, b][..], &[a, b][..], Some("")),
            (&[a, b], &[b, a], Some("")),
            (&[a, b], &[b], Some("a")),
            (&[a], &[a, b], None),
            (&[a], &[("a", "2")], None),
            (&[a, names, results], &[names, a], Some("character_set_results")),
            (&[names, results], &[results, names], None),
            (&[names, results], &[results], None),
            (&[(SCHEMA, "one"), a], &[(SCHEMA, "two"), a], Some("")),
        ] {
            assert_eq!(missing(one, there).as_deref(), expected, "{one:?} {there:?}");
        }
    }

    #[test]
    fn what_is_set_already_changes_nothing() {
        let mut all = Settings::default();
        let setting = |key: &str, text: &str| Setting { key: key.into(), text: text.as_bytes().into() };
        for (key, text, version) in [
            ("a", "1", 1),
            ("names", "x", 2),
            ("a", "1", 2),
            ("names", "x", 2),
            ("character_set_results", "y", 3),
            ("names", "x", 4),
            ("a", "2", 5),
        ] {
            all.set(setting(key, text));
            assert_eq!(all.version(), version, "{key} {text}");
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut all = Settings::default();
        let setting =
            |key: usize, bytes| Setting { key: key.to_string().into(), text: vec![0; bytes].into() };
        assert!((0..SETTINGS_MAX).all(|key| all.set(setting(key, 1))));
        assert!(!all.set(setting(SETTINGS_MAX, 1)));
        assert!(all.set(setting(0, 1)), "it takes the place of another one");
        assert!(!all.set(setting(1, SETTINGS_BYTES_MAX)));
    }
}
