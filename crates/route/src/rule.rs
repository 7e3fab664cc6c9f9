//! One rule, compiled.

use config::json::{self, Json};
use config::{CacheSettings, CausalReads, QueryRule, digest_number};

use crate::pattern::{Engine, Exhausted, Haystack, Pattern, Template};
use crate::query::{Caller, Statement};
use crate::record::Miss;
use crate::verdict::Verdict;

/// Most characters of `client_addr`: those of an IPv6 address.
const CLIENT_ADDR_CHARS_MAX: usize = 45;

/// A rule of `mysql_query_rules`, ready to be tried.
#[derive(Clone, Debug)]
pub struct Rule {
    id: i64,
    pub(crate) flag_in: u32,
    username: Option<Box<[u8]>>,
    schemaname: Option<Box<[u8]>>,
    client_addr: Option<ClientAddr>,
    proxy_addr: Option<Box<str>>,
    proxy_port: Option<u16>,
    digest: Option<u64>,
    match_digest: Option<Pattern>,
    match_pattern: Option<Pattern>,
    negate: bool,
    pub(crate) flag_out: Option<u32>,
    pub(crate) weighted: Option<Weighted>,
    replace: Option<Template>,
    global: bool,
    pub(crate) outputs: Verdict,
    pub(crate) apply: bool,
    extras: Extras,
}

/// What ProxySQL's rules do not have; members of the JSON in `attributes`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Extras {
    /// `compare`: run the mirrored copy as well, and compare.
    pub compare: bool,
    /// `max_qps`: most statements in a second.
    pub max_qps: Option<u64>,
    /// `max_concurrent`: most statements at a time.
    pub max_concurrent: Option<u64>,
}

impl Extras {
    /// What they say, as names and values of the JSON.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let all = [
            ("compare", self.compare.then(|| "true".to_owned())),
            ("max_qps", number(self.max_qps)),
            ("max_concurrent", number(self.max_concurrent)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Why a rule cannot be used. Displayed as `rule 7: match_pattern: ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule_id}: {column}: {message}")]
pub struct RuleError {
    /// The rule.
    pub rule_id: i64,
    /// The column that is wrong.
    pub column: &'static str,
    /// What is wrong with it.
    pub message: String,
}

#[derive(Clone, Debug)]
enum ClientAddr {
    Exactly(Box<str>),
    StartsWith(Box<str>),
}

/// States with their weights, of which one is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    choices: Box<[(u32, u64)]>,
    total: u64,
}

impl Weighted {
    /// The choice that `random` means.
    pub(crate) fn choose(&self, random: u64) -> Option<u32> {
        let mut left = random.checked_rem(self.total)?;
        for (id, weight) in &self.choices {
            match left.checked_sub(*weight) {
                None => return Some(*id),
                Some(rest) => left = rest,
            }
        }
        None
    }
}

impl Rule {
    /// Compiles the rule in `row`.
    pub(crate) fn new(row: &QueryRule, engine: Engine) -> Result<Self, RuleError> {
        let error = |column, message: String| RuleError { rule_id: row.rule_id, column, message };
        let (caseless, global) = modifiers(row.re_modifiers.as_deref().unwrap_or_default())
            .map_err(|message| error("re_modifiers", message))?;
        let pattern = |column, source: &Option<String>| {
            let compiled = source.as_deref().map(|source| Pattern::new(source, engine, caseless));
            compiled.transpose().map_err(|message| error(column, message))
        };
        let match_pattern = pattern("match_pattern", &row.match_pattern)?;
        let replace = match (&row.replace_pattern, &match_pattern) {
            (Some(source), Some(pattern)) => Some(Template::new(source, pattern.groups())),
            (Some(source), None) if !source.is_empty() => {
                Some(Err("may only be set with `match_pattern`".to_owned()))
            }
            (Some(_), None) | (None, _) => None,
        };
        let client_addr = row.client_addr.as_deref().map(ClientAddr::new).transpose();
        let digest = row.digest.as_deref().map(digest).transpose();
        let Attributes { weighted, extras, cache, causal_reads } =
            attributes(&row.attributes).map_err(|message| error("attributes", message))?;
        if row.cache_ttl.is_some() && cache.is_some_and(|cache| cache.ttl.is_some()) {
            return Err(error(
                "attributes",
                "must not have `ttl_ms` in `cache` beside `cache_ttl`".to_owned(),
            ));
        }
        let bytes = |text: &Option<String>| text.as_deref().map(|text| text.as_bytes().into());
        Ok(Self {
            id: row.rule_id,
            flag_in: row.flag_in,
            username: bytes(&row.username),
            schemaname: bytes(&row.schemaname),
            client_addr: client_addr.map_err(|message| error("client_addr", message))?,
            proxy_addr: row.proxy_addr.as_deref().map(Box::from),
            proxy_port: row.proxy_port,
            digest: digest.map_err(|message| error("digest", message))?,
            match_digest: pattern("match_digest", &row.match_digest)?,
            match_pattern,
            negate: row.negate_match_pattern,
            flag_out: row.flag_out,
            weighted,
            replace: replace.transpose().map_err(|message| error("replace_pattern", message))?,
            global,
            outputs: Verdict { causal_reads, ..Verdict::of_rule(row, cache) },
            apply: row.apply,
            extras,
        })
    }

    /// Its `rule_id`.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// Limits and comparisons that ProxySQL's rules do not have.
    pub const fn extras(&self) -> &Extras {
        &self.extras
    }

    /// Whether it has any.
    pub(crate) fn has_extras(&self) -> bool {
        self.extras != Extras::default()
    }

    /// Whether what [`static_miss`](Self::static_miss) looks at says all about it.
    pub(crate) const fn is_static(&self) -> bool {
        self.client_addr.is_none() && self.match_pattern.is_none() && self.weighted.is_none()
    }

    /// Why it does not match, judged by what remembered verdicts depend on: everything but the
    /// state. `haystack` is the digest's text.
    pub(crate) fn static_miss(
        &self,
        caller: &Caller,
        statement: &Statement<'_>,
        haystack: Option<&Haystack>,
    ) -> Option<Miss> {
        if self.username.as_deref().is_some_and(|name| name != caller.user()) {
            return Some(Miss::Username);
        }
        if self.schemaname.as_deref().is_some_and(|name| name != caller.schema()) {
            return Some(Miss::Schemaname);
        }
        if self.proxy_addr.as_deref().is_some_and(|address| address != caller.proxy_addr()) {
            return Some(Miss::ProxyAddr);
        }
        if self.proxy_port.is_some_and(|port| port != caller.proxy_port()) {
            return Some(Miss::ProxyPort);
        }
        if self.digest.is_some() || self.match_digest.is_some() {
            let Some(digest) = statement.digest else { return Some(Miss::NoDigest) };
            if self.digest.is_some_and(|wanted| wanted != digest) {
                return Some(Miss::Digest);
            }
        }
        let pattern = self.match_digest.as_ref()?;
        let misses = (Miss::MatchDigest, Miss::MatchDigestNegated);
        self.judge(pattern.is_match(statement.digest_text, haystack), misses)
    }

    /// Why it does not match, judged by what differs from one statement with the same digest to the
    /// next. `text` may be rewritten already, and is what `haystack` has.
    pub(crate) fn dynamic_miss(
        &self,
        client_addr: &str,
        text: &[u8],
        haystack: Option<&Haystack>,
    ) -> Option<Miss> {
        if self.client_addr.as_ref().is_some_and(|wanted| !wanted.holds(client_addr)) {
            return Some(Miss::ClientAddr);
        }
        let pattern = self.match_pattern.as_ref()?;
        self.judge(pattern.is_match(text, haystack), (Miss::MatchPattern, Miss::MatchPatternNegated))
    }

    /// What an expression's answer means for the rule.
    const fn judge(&self, matches: Result<bool, Exhausted>, misses: (Miss, Miss)) -> Option<Miss> {
        match matches {
            Err(Exhausted) => Some(Miss::Exhausted),
            Ok(true) if self.negate => Some(misses.1),
            Ok(false) if !self.negate => Some(misses.0),
            Ok(_) => None,
        }
    }

    /// `text` as the rule rewrites it; nothing if it does not.
    pub(crate) fn rewrite(&self, text: &[u8]) -> Result<Option<Vec<u8>>, Exhausted> {
        match (&self.replace, &self.match_pattern) {
            (Some(with), Some(pattern)) => pattern.replace(text, with, self.global),
            _ => Ok(None),
        }
    }

    /// What it asks for in the column that `miss` is about, for explanations.
    pub(crate) fn wants(&self, miss: Miss) -> String {
        let source =
            |pattern: &Option<Pattern>| pattern.as_ref().map(|pattern| format!("'{}'", pattern.source()));
        let name = |name: &Option<Box<[u8]>>| {
            name.as_ref().map(|name| format!("'{}'", String::from_utf8_lossy(name)))
        };
        let wanted = match miss {
            Miss::FlagIn => Some(self.flag_in.to_string()),
            Miss::Username => name(&self.username),
            Miss::Schemaname => name(&self.schemaname),
            Miss::ClientAddr => self.client_addr.as_ref().map(ClientAddr::shown),
            Miss::ProxyAddr => self.proxy_addr.as_ref().map(|address| format!("'{address}'")),
            Miss::ProxyPort => self.proxy_port.map(|port| port.to_string()),
            Miss::Digest => self.digest.map(|digest| format!("0x{digest:016X}")),
            Miss::MatchDigest | Miss::MatchDigestNegated => source(&self.match_digest),
            Miss::MatchPattern | Miss::MatchPatternNegated => source(&self.match_pattern),
            Miss::NoDigest | Miss::Exhausted => None,
        };
        wanted.unwrap_or_default()
    }
}

impl ClientAddr {
    fn new(source: &str) -> Result<Self, String> {
        if source.chars().count() > CLIENT_ADDR_CHARS_MAX {
            return Err(format!("has more than {CLIENT_ADDR_CHARS_MAX} characters"));
        }
        match source.split_once('%') {
            None => Ok(Self::Exactly(source.into())),
            Some((start, "")) => Ok(Self::StartsWith(start.into())),
            Some(_) => Err(format!("'{source}': `%` may only be the last character")),
        }
    }

    fn holds(&self, address: &str) -> bool {
        match self {
            Self::Exactly(wanted) => **wanted == *address,
            Self::StartsWith(start) => address.starts_with(&**start),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Exactly(address) => format!("'{address}'"),
            Self::StartsWith(start) => format!("'{start}%'"),
        }
    }
}

/// Whether `CASELESS` and `GLOBAL` are in a comma list. ProxySQL passes over other words; here they
/// are an error, since an operator who writes one expects an effect.
fn modifiers(list: &str) -> Result<(bool, bool), String> {
    let mut found = (false, false);
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_uppercase().as_str() {
            "CASELESS" => found.0 = true,
            "GLOBAL" => found.1 = true,
            _ => return Err(format!("'{word}' is neither CASELESS nor GLOBAL")),
        }
    }
    Ok(found)
}

fn digest(source: &str) -> Result<u64, String> {
    digest_number(source).ok_or_else(|| format!("'{source}' is not a digest such as 0x1234567890ABCDEF"))
}

/// What the JSON of the column asks for.
#[derive(Default)]
struct Attributes {
    weighted: Option<Weighted>,
    extras: Extras,
    cache: Option<CacheSettings>,
    causal_reads: Option<CausalReads>,
}

/// Reads the JSON of the column. Unknown members mean nothing.
fn attributes(text: &str) -> Result<Attributes, String> {
    if text.trim().is_empty() {
        return Ok(Attributes::default());
    }
    let json = json::parse(text).ok_or("is not JSON")?;
    let limit = |name: &str| match json.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(format!("`{name}` is not a whole number above 0")),
        },
    };
    let compare = match json.get("compare") {
        None | Some(Json::Null) => false,
        Some(value) => json::switch(value).ok_or("`compare` is neither true nor false")?,
    };
    let extras = Extras { compare, max_qps: limit("max_qps")?, max_concurrent: limit("max_concurrent")? };
    let weighted = json.get("flagOUTs").map(weighted).transpose()?.flatten();
    let (cache, causal_reads) = (CacheSettings::of(&json)?, CausalReads::in_json(&json)?);
    Ok(Attributes { weighted, extras, cache, causal_reads })
}

/// The states that `flagOUTs` chooses among; nothing if all weights are 0.
fn weighted(json: &Json) -> Result<Option<Weighted>, String> {
    let Json::Array(items) = json else { return Err("`flagOUTs` is not a list".to_owned()) };
    let mut choices = Vec::new();
    for item in items {
        let number = |name: &str| item.get(name).and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
        match (number("id"), number("weight")) {
            (Some(id), Some(weight)) => choices.push((id, u64::from(weight))),
            _ => {
                return Err(
                    "`flagOUTs` has a member whose `id` or `weight` is not a number from 0 on".to_owned()
                );
            }
        }
    }
    let total = choices.iter().map(|(_, weight)| weight).sum();
    Ok((total > 0).then(|| Weighted { choices: choices.into(), total }))
}
