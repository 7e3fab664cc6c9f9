//! The member `cache` of JSON columns: how answers are cached.

use std::fmt;
use std::time::Duration;

use crate::json::Json;
use crate::nearest::suggestion;

/// Longest time that a member gives, in milliseconds: 24 days, which fits into 31 bits.
const TIME_MAX_MS: u64 = i32::MAX as u64;

/// Members of the object.
const MEMBERS: [&str; 8] = [
    "ttl_ms",
    "soft_ttl_ms",
    "stale_if_error_ms",
    "mode",
    "invalidate",
    "max_staleness_ms",
    "scope",
    "max_answer",
];

/// Settings of `"cache": {...}` in the attributes of a rule, a user or a hostgroup. What is missing
/// is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheSettings {
    /// How long an answer is served (`ttl_ms`); zero: answers are not cached.
    pub ttl: Option<Duration>,
    /// The age from which one client refreshes the answer (`soft_ttl_ms`); zero: none does.
    pub soft_ttl: Option<Duration>,
    /// How long behind its time to live an answer is served if no server answers
    /// (`stale_if_error_ms`).
    pub stale_if_error: Option<Duration>,
    /// What is promised about the age of an answer.
    pub mode: Option<CacheMode>,
    /// How old an answer may be in the mode `bounded`, by writes that others make
    /// (`max_staleness_ms`); at least 1 ms.
    pub max_staleness: Option<Duration>,
    /// Which accounts get an answer.
    pub scope: Option<CacheScope>,
    /// Largest answer that is stored, in bytes.
    pub max_answer: Option<u64>,
}

/// What is promised about the age of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CacheMode {
    /// It is not older than its time to live.
    #[default]
    Ttl,
    /// Besides, it is not older than any write to its tables through this proxy.
    Own,
    /// Besides, it is from at most some time before a write to its tables elsewhere.
    Bounded,
    /// It is what the server would have answered when the query came, or later.
    Strict,
}

/// Which accounts get an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CacheScope {
    /// The account whose query it was.
    User,
    /// Accounts that have run this digest themselves since privileges were last changed: for tables
    /// and views that show all accounts the same.
    #[default]
    Proven,
    /// All accounts.
    Shared,
}

impl CacheMode {
    /// All of them with their words in `mode`.
    const WORDS: [(&str, Self); 4] =
        [("ttl", Self::Ttl), ("own", Self::Own), ("bounded", Self::Bounded), ("strict", Self::Strict)];

    /// What `invalidate` may say, with the mode that it stands for.
    const INVALIDATIONS: [(&str, Self); 2] = [("ttl", Self::Ttl), ("tables", Self::Bounded)];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttl => "ttl",
            Self::Own => "own",
            Self::Bounded => "bounded",
            Self::Strict => "strict",
        }
    }

    /// Whether an answer is never older than a write to its tables through this proxy.
    pub const fn sees_own_writes(self) -> bool {
        !matches!(self, Self::Ttl)
    }

    /// Whether writes elsewhere count: the server's binary log has to be followed.
    pub const fn sees_all_writes(self) -> bool {
        matches!(self, Self::Bounded | Self::Strict)
    }
}

impl CacheScope {
    /// All of them with their words in `scope`.
    const WORDS: [(&str, Self); 3] =
        [("user", Self::User), ("proven", Self::Proven), ("shared", Self::Shared)];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Proven => "proven",
            Self::Shared => "shared",
        }
    }
}

impl CacheSettings {
    /// The settings in the member `cache` of `attributes`, if there is one.
    ///
    /// # Errors
    ///
    /// The rest of a sentence that starts with the column's name.
    pub fn of(attributes: &Json) -> Result<Option<Self>, String> {
        let json = match attributes.get("cache") {
            None | Some(Json::Null) => return Ok(None),
            Some(json) => json,
        };
        let Json::Object(members) = json else {
            return Err(r#"must have `cache` as an object such as {"mode": "own"}"#.to_owned());
        };
        if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let near = suggestion(name, MEMBERS);
            let (members, name) = (MEMBERS.join("`, `"), name.escape_debug());
            return Err(format!("must have in `cache` only `{members}`, not `{name}`{near}"));
        }
        let time = |name| Ok::<_, String>(number(json, name, 0, TIME_MAX_MS)?.map(Duration::from_millis));
        let mode = word(json, "mode", &CacheMode::WORDS)?;
        let invalidate = word(json, "invalidate", &CacheMode::INVALIDATIONS)?;
        if let Some((mode, invalidate)) = mode.zip(invalidate).filter(|(mode, other)| mode != other) {
            let (mode, other) = (mode.name(), invalidate.name());
            return Err(format!(
                "must have in `cache` a `mode` and an `invalidate` that mean the same: the mode is `{mode}`, \
                 and `invalidate` stands for the mode `{other}`"
            ));
        }
        Ok(Some(Self {
            ttl: time("ttl_ms")?,
            soft_ttl: time("soft_ttl_ms")?,
            stale_if_error: time("stale_if_error_ms")?,
            mode: mode.or(invalidate),
            max_staleness: number(json, "max_staleness_ms", 1, TIME_MAX_MS)?.map(Duration::from_millis),
            scope: word(json, "scope", &CacheScope::WORDS)?,
            max_answer: number(json, "max_answer", 1, u64::MAX)?,
        }))
    }

    /// These settings, and those of `others` where these say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            ttl: self.ttl.or(others.ttl),
            soft_ttl: self.soft_ttl.or(others.soft_ttl),
            stale_if_error: self.stale_if_error.or(others.stale_if_error),
            mode: self.mode.or(others.mode),
            max_staleness: self.max_staleness.or(others.max_staleness),
            scope: self.scope.or(others.scope),
            max_answer: self.max_answer.or(others.max_answer),
        }
    }
}

/// As in the attributes.
impl fmt::Display for CacheSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Option<Duration>| time.map(|time| time.as_millis().to_string());
        let members = [
            ("ttl_ms", ms(self.ttl)),
            ("soft_ttl_ms", ms(self.soft_ttl)),
            ("stale_if_error_ms", ms(self.stale_if_error)),
            ("mode", self.mode.map(|mode| format!("\"{}\"", mode.name()))),
            ("max_staleness_ms", ms(self.max_staleness)),
            ("scope", self.scope.map(|scope| format!("\"{}\"", scope.name()))),
            ("max_answer", self.max_answer.map(|bytes| bytes.to_string())),
        ];
        let members = members.into_iter().filter_map(|(name, value)| Some(format!("\"{name}\": {}", value?)));
        write!(f, "{{{}}}", members.collect::<Vec<_>>().join(", "))
    }
}

/// A number of the object, if it is there.
fn number(json: &Json, name: &str, min: u64, max: u64) -> Result<Option<u64>, String> {
    let Some(value) = json.get(name).filter(|value| **value != Json::Null) else { return Ok(None) };
    let number = value.as_u64().filter(|number| (min..=max).contains(number));
    let range = if max == u64::MAX { format!("from {min} on") } else { format!("from {min} to {max}") };
    number.map(Some).ok_or_else(|| format!("must have `{name}` in `cache` as a whole number {range}"))
}

/// A word of the object, if it is there.
fn word<T: Copy>(json: &Json, name: &str, words: &[(&str, T)]) -> Result<Option<T>, String> {
    let Some(value) = json.get(name).filter(|value| **value != Json::Null) else { return Ok(None) };
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word)).map(|(_, meaning)| *meaning);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = value.as_str().map_or_else(String::new, |word| suggestion(word, names.iter().copied()));
        format!("must have as `{name}` in `cache` one of `{}`, not {value}{near}", names.join("`, `"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn of(text: &str) -> Result<Option<CacheSettings>, String> {
        CacheSettings::of(&parse(text).unwrap())
    }

    #[test]
    fn settings_come_from_the_member_cache() {
        assert_eq!(of(r#"{"max_qps": 3}"#), Ok(None));
        assert_eq!(of(r#"{"cache": null}"#), Ok(None));
        assert_eq!(of(r#"{"cache": {}}"#), Ok(Some(CacheSettings::default())));
        let text = r#"{"cache": {"ttl_ms": 1000, "soft_ttl_ms": 500, "stale_if_error_ms": 60000,
                       "mode": "own", "scope": "user", "max_answer": 65536}}"#;
        let settings = of(text).unwrap().unwrap();
        assert_eq!(
            (settings.ttl, settings.soft_ttl),
            (Some(Duration::from_secs(1)), Some(Duration::from_millis(500)))
        );
        assert_eq!(settings.stale_if_error, Some(Duration::from_mins(1)));
        assert_eq!((settings.mode, settings.scope), (Some(CacheMode::Own), Some(CacheScope::User)));
        assert_eq!(settings.max_answer, Some(65536));
        let exact = of(r#"{"cache": {"invalidate": "tables", "max_staleness_ms": 20}}"#).unwrap().unwrap();
        assert_eq!(
            (exact.mode, exact.max_staleness),
            (Some(CacheMode::Bounded), Some(Duration::from_millis(20)))
        );
        assert_eq!(exact.to_string(), r#"{"mode": "bounded", "max_staleness_ms": 20}"#);
        let twice = of(r#"{"cache": {"mode": "bounded", "invalidate": "tables"}}"#).unwrap().unwrap();
        assert_eq!(twice.mode, Some(CacheMode::Bounded), "the same is said twice");
        let other = of(r#"{"cache": {"ttl_ms": 7, "mode": null}}"#).unwrap().unwrap();
        assert_eq!(other.or(settings), CacheSettings { ttl: Some(Duration::from_millis(7)), ..settings });
    }

    #[test]
    fn errors_name_the_member_and_what_it_may_be() {
        for (text, complaint) in [
            (r#"{"cache": true}"#, "must have `cache` as an object"),
            (r#"{"cache": {"tll_ms": 1}}"#, "not `tll_ms`; did you mean `ttl_ms`?"),
            (
                r#"{"cache": {"ttl_ms": -1}}"#,
                "must have `ttl_ms` in `cache` as a whole number from 0 to 2147483647",
            ),
            (
                r#"{"cache": {"max_answer": 0}}"#,
                "must have `max_answer` in `cache` as a whole number from 1 on",
            ),
            (
                r#"{"cache": {"mode": "owm"}}"#,
                "one of `ttl`, `own`, `bounded`, `strict`, not \"owm\"; did you mean `own`?",
            ),
            (
                r#"{"cache": {"mode": "own", "invalidate": "tables"}}"#,
                "the mode is `own`, and `invalidate` stands for the mode `bounded`",
            ),
            (
                r#"{"cache": {"max_staleness_ms": 0}}"#,
                "must have `max_staleness_ms` in `cache` as a whole number from 1 to 2147483647",
            ),
            (
                r#"{"cache": {"scope": 7}}"#,
                "must have as `scope` in `cache` one of `user`, `proven`, `shared`, not 7",
            ),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(complaint), "{error}");
        }
    }
}
