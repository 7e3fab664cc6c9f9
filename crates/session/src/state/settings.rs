//! What a client has set in its session: kept, so that every server that it gets has it as well.
//!
//! A setting is the client's own text, or what its server has told, said again in the order in
//! which it was said last. What can be one is in [`set`](super::set).

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::setting::Setting;
use super::{OPTION, SCHEMA};
use crate::limits::{SETTINGS_BYTES_MAX, SETTINGS_MAX};

/// The settings of a session, in the order in which they were made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Settings {
    all: VecDeque<(u64, Setting)>,
    bytes: usize,
    version: u64,
    /// The sum of the hashes of all but the schema: settings that are the same have the same.
    hash: u64,
    /// How often something was set that decides what a text means.
    modes: u64,
    /// The version that a reset has made.
    reset_at: Option<u64>,
    /// Whether a reset has hidden a time limit of the network, which stays in force behind it.
    hides_timeouts: bool,
}

/// Variables whose values stay in force behind a reset, which shows others.
const TIMEOUTS: [&str; 2] = ["net_write_timeout", "net_read_timeout"];

impl Settings {
    /// How often settings were made. A server that has all has this version.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The same without the schema, for a server that has none of that name.
    #[must_use]
    pub fn without_schema(&self) -> Self {
        let mut settings = self.clone();
        settings.forget(SCHEMA);
        settings
    }

    /// The same with the SQL modes of an earlier time, in which a text was read.
    #[must_use]
    pub fn with_sql_modes_of(&self, then: &Self) -> Self {
        let mut settings = self.clone();
        let own: Vec<_> = self.sql_modes().map(|setting| setting.key.clone()).collect();
        for key in &own {
            settings.forget(key);
        }
        for setting in then.sql_modes() {
            settings.set(setting.clone());
        }
        settings
    }

    /// What says which SQL modes there are.
    pub fn sql_modes(&self) -> impl Iterator<Item = &Setting> {
        self.since(0).filter(|setting| setting.key.starts_with("sql_mode"))
    }

    /// Adds a setting, in place of an older one with the same key; false if there are too many.
    pub fn set(&mut self, setting: Setting) -> bool {
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

    /// Changes with everything that decides what a text means: the schema, character sets, modes. A
    /// statement that was prepared under other ones is another statement. It says nothing about
    /// another session: that is [`meaning`](Self::meaning).
    pub const fn modes(&self) -> u64 {
        self.modes
    }

    /// What texts mean in `schema`: the same to all sessions with the same, over connections that
    /// they share.
    pub fn meaning(&self, schema: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (schema, self.was_schema_reset()).hash(&mut hasher);
        for setting in self.besides_schema().filter(|setting| setting.is_mode()) {
            (&setting.key, &setting.text).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether saying it once more changes nothing.
    fn holds_already(&self, setting: &Setting) -> bool {
        let Some(at) = self.all.iter().position(|(_, one)| one == setting) else { return false };
        !setting.interplays() || !self.all.iter().skip(at + 1).any(|(_, later)| later.interplays())
    }

    /// Forgets all but the schema and `COM_SET_OPTION`: what `COM_RESET_CONNECTION` leaves.
    pub fn reset(&mut self) {
        self.hides_timeouts = self.leave_timeouts();
        self.version += 1;
        self.reset_at = Some(self.version);
        self.all.retain(|(_, setting)| matches!(&*setting.key, SCHEMA | OPTION));
        self.bytes = self.all.iter().map(|(_, setting)| setting.text.len()).sum();
        self.hash = self.all.iter().fold(0, |sum, (_, setting)| sum.wrapping_add(setting.hash()));
    }

    /// Whether the session was reset since it is in its schema. Servers take away the schema's
    /// character set then, which is `character_set_database`, and leave the schema.
    pub fn was_schema_reset(&self) -> bool {
        self.reset_at.is_some_and(|version| !self.since(version).any(|one| *one.key == *SCHEMA))
    }

    /// Whether a connection that has these goes by time limits of the network that a reset of it
    /// does not take back.
    pub fn leave_timeouts(&self) -> bool {
        self.hides_timeouts || self.all.iter().any(|(_, setting)| TIMEOUTS.contains(&&*setting.key))
    }

    /// What was set before the last reset and outlives it, in order.
    pub fn before_reset(&self) -> impl Iterator<Item = &Setting> {
        let reset_at = self.reset_at.unwrap_or_default();
        self.all.iter().filter(move |(made, _)| *made < reset_at).map(|(_, setting)| setting)
    }

    /// The version of a server that has these, and was reset then.
    pub fn version_of_reset(&self) -> u64 {
        self.reset_at.unwrap_or_default()
    }

    /// How long the client may be idle, in seconds, if it has set that to a number.
    pub fn wait_timeout(&self) -> Option<u32> {
        let (_, setting) = self.all.iter().find(|(_, setting)| *setting.key == *"wait_timeout")?;
        let value = setting.text.rsplit(|byte| *byte == b'=').next()?.trim_ascii();
        // Servers make it a second at least.
        std::str::from_utf8(value).ok()?.parse().ok().map(|seconds: u32| seconds.max(1))
    }

    /// Whether a transaction's end ends the session as well (`completion_type = RELEASE`).
    pub fn releases(&self) -> bool {
        self.completes(b"2", b"release")
    }

    /// Whether another transaction begins behind the end of one (`completion_type = CHAIN`).
    pub fn chains(&self) -> bool {
        self.completes(b"1", b"chain") && !self.completes(b"0", b"no_chain")
    }

    /// Whether `completion_type` has this number, or contains this word.
    fn completes(&self, number: &[u8], word: &[u8]) -> bool {
        let is_it = |setting: &Setting| *setting.key == *"completion_type";
        let text = self.all.iter().find(|(_, setting)| is_it(setting)).map(|(_, setting)| &setting.text);
        let value = text.and_then(|text| text.rsplit(|byte| *byte == b'=').next()).unwrap_or_default();
        let value = value.trim_ascii();
        value == number || value.to_ascii_lowercase().windows(word.len()).any(|part| part == word)
    }

    /// Whether there is a user variable.
    pub fn has_user_variables(&self) -> bool {
        self.all.iter().any(|(_, setting)| setting.key.starts_with('@'))
    }

    /// Whether the client has said if its transactions may write.
    pub fn has_access_mode(&self) -> bool {
        self.since(0)
            .any(|one| matches!(&*one.key, "transaction_access" | "transaction_read_only" | "tx_read_only"))
    }

    /// What a server that has `version` lacks, in order.
    pub fn since(&self, version: u64) -> impl Iterator<Item = &Setting> {
        self.all.iter().filter(move |(made, _)| *made > version).map(|(_, setting)| setting)
    }

    /// What has to be said where all of `there` is set, and nothing else, to have these settings
    /// there; `None` if there is something that these do not have. Schemas do not count: who asks
    /// knows them.
    pub fn missing(&self, there: &Self) -> Option<Vec<Setting>> {
        // Most sessions set nothing, and have that in common.
        if std::ptr::eq(self, there)
            || self.hash == there.hash && self.besides_schema().eq(there.besides_schema())
        {
            return Some(Vec::new());
        }
        let mut missing: Vec<&Setting> = self.besides_schema().collect();
        // What depends on an order was said there in the order in which it was said here, as far as
        // it was.
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
    pub fn are_at(&self, there: &Self) -> bool {
        self.hash == there.hash && self.missing(there).is_some_and(|missing| missing.is_empty())
    }

    /// What the client has said with `COM_SET_OPTION`, as a payload; nothing if it has not.
    pub fn option(&self) -> Option<&[u8]> {
        self.since(0).find(|one| *one.key == *OPTION).map(|one| &*one.text)
    }

    /// All but the schema, in order.
    pub fn besides_schema(&self) -> impl Iterator<Item = &Setting> {
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

/// The key of the setting of a user variable to `NULL`. It does not take the place of the one
/// before, of which the variable keeps the type.
pub(super) fn key_of_null(name: &str) -> String {
    format!("{name} null")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn transactions_may_end_sessions() {
        for (text, chains, releases) in [
            ("SET SESSION completion_type = 2", false, true),
            ("SET SESSION completion_type='RELEASE'", false, true),
            ("SET SESSION completion_type := release", false, true),
            ("SET SESSION completion_type = 1", true, false),
            ("SET SESSION completion_type = 'Chain'", true, false),
            ("SET SESSION completion_type = NO_CHAIN", false, false),
            ("SET SESSION completion_type = DEFAULT", false, false),
        ] {
            let mut all = Settings::default();
            assert!(!all.releases() && !all.chains());
            assert!(all.set(Setting { key: "completion_type".into(), text: text.as_bytes().into() }));
            assert_eq!((all.chains(), all.releases()), (chains, releases), "{text}");
        }
    }

    #[test]
    fn the_time_that_a_client_may_be_idle_is_a_number() {
        for (text, seconds) in [
            ("SET SESSION wait_timeout = 9", Some(9)),
            ("SET SESSION wait_timeout:=9 ", Some(9)),
            ("SET SESSION wait_timeout = 0", Some(1)),
            ("SET SESSION wait_timeout = DEFAULT", None),
        ] {
            let mut all = Settings::default();
            assert_eq!(all.wait_timeout(), None);
            assert!(all.set(Setting { key: "wait_timeout".into(), text: text.as_bytes().into() }));
            assert_eq!(all.wait_timeout(), seconds, "{text}");
            all.reset();
            assert_eq!(all.wait_timeout(), None);
        }
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
    fn c15_texts_mean_the_same_where_the_same_was_set() {
        let of = |schema: &str, list: &[(&str, &str)]| {
            let mut all = Settings::default();
            for (key, text) in list {
                assert!(all.set(Setting { key: (*key).into(), text: text.as_bytes().into() }));
            }
            all.meaning(schema.as_bytes())
        };
        let plain = of("a", &[]);
        assert_eq!(plain, of("a", &[("sql_select_limit", "x")]), "that is no matter of texts");
        assert_eq!(plain, of("a", &[(SCHEMA, "a")]), "however it got there");
        let others = [
            of("b", &[]),
            of("", &[]),
            of("a", &[("sql_mode", "x")]),
            of("a", &[("sql_mode", "y")]),
            of("a", &[("group_concat_max_len", "x")]),
            of("a", &[("group_concat_max_len", "y")]),
            of("a", &[("names", "x"), ("character_set_client", "y")]),
            of("a", &[("character_set_client", "y"), ("names", "x")]),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != plain && !others.iter().skip(at + 1).any(|one| one == other), "{at}");
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
