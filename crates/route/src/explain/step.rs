//! One step of a decision.

use super::{Candidate, Peek, Writes};
use crate::firewall::Ruling;
use crate::injection::Sighting;
use crate::record::Miss;
use crate::route::{Answer, Cached, Route, Target, Why};
use crate::split::{Side, Split};
use crate::verdict::Source;

/// A step, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Who sends the statement, and what the session is in the middle of.
    Session {
        /// The user.
        user: String,
        /// The current schema; empty if there is none.
        schema: String,
        /// The client's address.
        client: String,
        /// Where the client connected to.
        listener: String,
        /// The session's state, in words.
        state: String,
    },
    /// The statement's digest.
    Digest {
        /// Its hash; nothing if digests are off.
        digest: Option<u64>,
        /// Its text.
        text: String,
    },
    /// What the statement is and does.
    Shape {
        /// What it is.
        kind: &'static str,
        /// What it does besides returning rows.
        effects: Vec<&'static str>,
    },
    /// A rule did not match.
    Missed {
        /// Its number.
        rule: i64,
        /// Why not.
        miss: Miss,
        /// What it asks for.
        wanted: String,
        /// The state of the chain.
        flag: u32,
    },
    /// A rule matched.
    Matched {
        /// Its number.
        rule: i64,
        /// What it says, by columns.
        outputs: Vec<(&'static str, String)>,
        /// The state that it says for those behind it.
        flag: Option<u32>,
        /// Whether the chain ends with it.
        apply: bool,
        /// The statement as it rewrote it.
        text: Option<String>,
    },
    /// A rule's replacement took too many steps, or made the text too long.
    NotRewritten {
        /// Its number.
        rule: i64,
    },
    /// The chain starts again.
    Again {
        /// Its state.
        flag: u32,
    },
    /// Fast routing.
    FastRoute {
        /// Whether it was asked: not if the chain ended with `apply`.
        asked: bool,
        /// The row's kind and its hostgroup.
        found: Option<(Source, u32)>,
    },
    /// The client's hints.
    Hints {
        /// Whether they count.
        allowed: bool,
        /// What all say together, rules and hints.
        outputs: Vec<(&'static str, String)>,
    },
    /// The firewall.
    Firewall {
        /// What it says.
        ruling: Ruling,
        /// Why, in words.
        why: String,
    },
    /// The search for injected SQL, and what it has found.
    Injection(Option<Sighting>),
    /// The split of reads from writes.
    Split(Split),
    /// Why the split had no say.
    NoSplit(&'static str),
    /// Where the statement goes, and why if that is a server.
    Route(Route, Option<Why>),
    /// What its server must have executed.
    MustSee {
        /// The transaction.
        gtid: String,
    },
    /// How far its server may be behind.
    MaxLag {
        /// In milliseconds.
        max_lag_ms: u128,
    },
    /// Acknowledged writes that its reader must have.
    Writes(Writes),
    /// A server of that hostgroup.
    Candidate(Candidate),
    /// That hostgroup has no servers.
    NoServers,
    /// The connection to it is to be a new one.
    NewConnection,
    /// None of those servers may be taken, and the split lets the writer do it.
    Instead {
        /// The writer.
        hostgroup: u32,
    },
    /// How its answer is cached, if it is to be, and what the cache has.
    Cache(Option<Cached>, Peek),
    /// What keeps the session from giving its connection back.
    Pin(String),
    /// What was decided about sharded tables: the step, its result, and details.
    Shards([String; 3]),
}

impl Step {
    /// The step, its result, and details, as texts.
    pub fn row(&self) -> [String; 3] {
        let row = |step: &str, result: &str, detail: String| [step.to_owned(), result.to_owned(), detail];
        match self {
            Self::Session { user, schema, client, listener, state } => {
                session_row(user, schema, client, listener, state)
            }
            Self::Digest { digest: Some(digest), text } => {
                row("digest", &format!("0x{digest:016X}"), text.clone())
            }
            Self::Digest { digest: None, text } => row("digest", "none", text.clone()),
            Self::Shape { kind, effects } => row("shape", kind, effects.join("; ")),
            Self::Missed { rule, miss, wanted, flag } => {
                row(&format!("rule {rule}"), "no match", miss.text(wanted, *flag))
            }
            Self::Matched { rule, outputs, flag, apply, text } => {
                row(&format!("rule {rule}"), "match", says(outputs, *flag, *apply, text.as_deref()))
            }
            Self::NotRewritten { rule } => {
                row(&format!("rule {rule}"), "not rewritten", "the replacement exceeds a limit".to_owned())
            }
            Self::Again { flag } => row("rules", "again", format!("flagIN={flag}")),
            Self::FastRoute { asked: false, .. } => {
                row("fast routing", "not asked", "a rule has `apply`".to_owned())
            }
            Self::FastRoute { found: None, .. } => row("fast routing", "no row", String::new()),
            Self::FastRoute { found: Some((source, hostgroup)), .. } => {
                row("fast routing", &format!("hostgroup {hostgroup}"), source.text())
            }
            Self::Hints { allowed: true, outputs } if outputs.is_empty() => {
                row("hints", "none", "none of them has a value that counts".to_owned())
            }
            Self::Hints { allowed: true, outputs } => row("hints", "taken", pairs(outputs).join(", ")),
            Self::Hints { allowed: false, .. } => {
                row("hints", "ignored", "switched off for the user".to_owned())
            }
            Self::Firewall { ruling, why } => row("firewall", ruling.name(), why.clone()),
            Self::Injection(None) => row("injected SQL", "none", String::new()),
            Self::Injection(Some(sighting)) => row("injected SQL", sighting.name(), sighting.text()),
            Self::Split(split) => row("split", split.side.name(), split.reason.text().to_owned()),
            Self::NoSplit(reason) => row("split", "not asked", (*reason).to_owned()),
            Self::Route(route, why) => route_row(route, *why),
            Self::Candidate(Candidate { server, taken, reason }) => row(
                &format!("server {server}"),
                if *taken { "candidate" } else { "passed over" },
                reason.clone(),
            ),
            Self::MustSee { gtid } => {
                row("must see", gtid, "servers that have executed it come first".to_owned())
            }
            Self::MaxLag { max_lag_ms } => lag_row(*max_lag_ms),
            Self::Writes(writes) => writes_row(writes),
            Self::NewConnection => row(
                "connection",
                "new",
                "create_new_connection: unless something binds the session to the one that it has".to_owned(),
            ),
            Self::NoServers => row("server", "none", "the hostgroup has no servers".to_owned()),
            Self::Instead { hostgroup } => {
                row("instead", &format!("hostgroup {hostgroup}"), "none of these can be taken".to_owned())
            }
            Self::Cache(cached, peek) => cache_row(cached.as_ref(), *peek),
            Self::Pin(reason) => row("connection", "kept", reason.clone()),
            Self::Shards(row) => row.clone(),
        }
    }
}

/// Whether an answer is looked up and stored, and how, or why not.
fn cache_row(cached: Option<&Cached>, peek: Peek) -> [String; 3] {
    let row = |result: &str, detail: String| ["cache".to_owned(), result.to_owned(), detail];
    let Some(Cached { policy, refused }) = cached else { return row("no", "no cache_ttl".to_owned()) };
    if let Some(refusal) = refused {
        return row("no", refusal.text().to_owned());
    }
    let by = match policy.source {
        Some(Source::Rule(rule)) => format!("by rule {rule}"),
        Some(_) => "by the hint".to_owned(),
        None => "by the user or the hostgroup".to_owned(),
    };
    let (ttl, mode, scope) = (policy.ttl_ms, policy.mode.name(), policy.scope.name());
    let (result, detail) = peek.cells(&format!("{ttl} ms, mode {mode}, scope {scope}, {by}"));
    row(result, detail)
}

fn session_row(user: &str, schema: &str, client: &str, listener: &str, state: &str) -> [String; 3] {
    let schema = if schema.is_empty() { "no schema".to_owned() } else { format!("schema {schema}") };
    let detail = format!("{schema}, from {client} at {listener}, {state}");
    ["session".to_owned(), format!("user {user}"), detail]
}

/// What a rule that matched says.
fn says(outputs: &[(&'static str, String)], flag: Option<u32>, apply: bool, text: Option<&str>) -> String {
    let mut says = pairs(outputs);
    says.extend(flag.map(|flag| format!("flagOUT={flag}")));
    says.extend(apply.then(|| "apply".to_owned()));
    says.extend(text.map(|text| format!("rewritten to: {text}")));
    says.join(", ")
}

fn pairs(outputs: &[(&'static str, String)]) -> Vec<String> {
    outputs.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// How far a server may be behind.
fn lag_row(max_lag_ms: u128) -> [String; 3] {
    let seen = format!("what is {max_lag_ms} ms old");
    ["must see".to_owned(), seen, "servers that are farther behind are passed over".to_owned()]
}

/// Which acknowledged writes a reader must have.
fn writes_row(Writes { gtids, scope, wait_ms, .. }: &Writes) -> [String; 3] {
    let what =
        format!("writes of the {scope}; a reader without them has {wait_ms} ms, then the writer does it");
    ["must see".to_owned(), gtids.clone(), what]
}

fn route_row(route: &Route, why: Option<Why>) -> [String; 3] {
    let (result, detail) = match route {
        Route::Local(Answer::Ok(text)) => ("OK".to_owned(), text.to_string()),
        Route::Local(Answer::Error(text)) => ("error 1148".to_owned(), text.to_string()),
        Route::Local(Answer::Locked { locked_on, hostgroup }) => {
            ("error 9006".to_owned(), format!("locked on hostgroup {locked_on}, would go to {hostgroup}"))
        }
        Route::Cached(target) | Route::One(target) => {
            (hostgroup(*target), why.map_or_else(String::new, Why::text))
        }
        Route::Many(branches) => (hostgroup(branches.target), why.map_or_else(String::new, Why::text)),
    };
    ["destination".to_owned(), result, detail]
}

fn hostgroup(target: Target) -> String {
    format!("hostgroup {}", target.hostgroup)
}

impl Miss {
    /// Why a rule that wants `wanted` did not match in the state `flag`.
    fn text(self, wanted: &str, flag: u32) -> String {
        match self {
            Self::FlagIn => format!("flagIN={wanted}, not {flag}"),
            Self::Username => format!("username is not {wanted}"),
            Self::Schemaname => format!("schemaname is not {wanted}"),
            Self::ClientAddr => format!("client_addr is not {wanted}"),
            Self::ProxyAddr => format!("proxy_addr is not {wanted}"),
            Self::ProxyPort => format!("proxy_port is not {wanted}"),
            Self::Digest => format!("digest is not {wanted}"),
            Self::NoDigest => "there is no digest".to_owned(),
            Self::MatchDigest => format!("match_digest {wanted} does not match"),
            Self::MatchDigestNegated => format!("match_digest {wanted} matches, negated"),
            Self::MatchPattern => format!("match_pattern {wanted} does not match"),
            Self::MatchPatternNegated => format!("match_pattern {wanted} matches, negated"),
            Self::Exhausted => "the expression takes more steps than it may".to_owned(),
        }
    }
}

impl Source {
    /// Who decided, in words.
    pub fn text(self) -> String {
        match self {
            Self::Rule(id) => format!("rule {id}"),
            Self::FastRoute { any_user: false } => "fast routing, row of the user".to_owned(),
            Self::FastRoute { any_user: true } => "fast routing, row of all users".to_owned(),
            Self::Hint => "hint of the client".to_owned(),
            Self::Mirror => "rule of the original".to_owned(),
        }
    }
}

impl Why {
    /// Who decided, in words.
    pub fn text(self) -> String {
        match self {
            Self::Transaction => "a transaction is open there".to_owned(),
            Self::Verdict(source) => source.map_or_else(String::new, Source::text),
            Self::Split(split) => format!("split: {}", split.reason.text()),
            Self::Default => "default_hostgroup of the user".to_owned(),
            Self::Listener(role) => format!("the listener has the role {role}"),
        }
    }
}

impl Side {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Reader => "reader",
            Self::Stay => "stay",
        }
    }
}
