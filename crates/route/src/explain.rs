//! Why a statement goes where it goes: the steps of the decision, written down while it is made.

mod json;
mod peek;
mod step;

use std::borrow::Cow;

use crate::chain::{self, Over};
use crate::firewall::Ruling;
use crate::injection::Sighting;
use crate::limits::{EXPLAINED_STEPS_MAX, EXPLAINED_TEXT_BYTES_MAX};
use crate::plan::{StatementPlan, said};
use crate::query::Query;
use crate::record::{Miss, Record};
use crate::route::{Route, Session, Target, Ways, Why, route_with};
use crate::rule::Rule;
use crate::verdict::{Source, Verdict};
pub use peek::{Lookup, Peek};
pub use step::Step;

/// What a decision depends on besides the statement.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// What the route depends on.
    pub ways: Ways<'a>,
    /// The servers of a hostgroup and whether each would be taken, as the pool's choice sees it.
    pub candidates: &'a dyn Fn(u32) -> Vec<Candidate>,
    /// What the statement must see with this verdict in this hostgroup, if that is anything.
    pub must_see: &'a dyn Fn(&Verdict, u32) -> Option<MustSee>,
    /// What a text does that rules have put in the place of the statement's.
    pub plan_of: &'a dyn Fn(&[u8]) -> StatementPlan,
    /// What the query cache has for the statement. Asked if its answer is to be cached.
    pub peek: &'a dyn Fn(&Lookup<'_>) -> Peek,
    /// What about the statement would keep the session from giving its connection back.
    pub pins: &'a [&'a str],
}

/// Without what is a function.
impl std::fmt::Debug for Situation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Situation")
            .field("account", &self.ways.account)
            .field("session", self.ways.session)
            .finish_non_exhaustive()
    }
}

/// A server of the hostgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its address.
    pub server: String,
    /// Whether it may be taken.
    pub taken: bool,
    /// Why, or why not.
    pub reason: String,
}

/// What the statement must see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MustSee {
    /// A transaction, by its GTID.
    pub gtid: Option<String>,
    /// All that is so many milliseconds old.
    pub max_lag_ms: Option<u128>,
    /// The servers that come after all others, by their addresses, and why.
    pub lacking: Vec<(String, String)>,
    /// Acknowledged writes.
    pub writes: Option<Writes>,
}

/// Acknowledged writes that a statement must see at a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// Their transactions, one of each source, by their GTIDs.
    pub gtids: String,
    /// Whose writes they are.
    pub scope: &'static str,
    /// How long a reader is waited for, in milliseconds.
    pub wait_ms: u128,
    /// The servers that are known to have them, by their addresses.
    pub known: Vec<String>,
}

impl Writes {
    /// Says of a server what is known.
    fn note(&self, candidate: &mut Candidate) {
        let knows = self.known.contains(&candidate.server);
        let what = if knows { "it has the writes" } else { "it is asked for the writes first" };
        candidate.reason = format!("{}; {what}", candidate.reason);
    }
}

/// A decision with its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The steps in the order they were taken.
    pub steps: Vec<Step>,
    /// How many more there were than are kept.
    pub left_out: usize,
    /// What rules and hints say.
    pub verdict: Verdict,
    /// Where the statement goes.
    pub route: Route,
    /// Why it goes to that server, if it goes to one.
    pub why: Option<Why>,
}

/// Decides about `query` as [`Verdicts`](crate::Verdicts) and [`route`](fn@crate::route) do, and
/// writes down how. Counts nothing.
pub fn explain(query: &Query<'_>, situation: &Situation<'_>) -> Explanation {
    let (statement, ways) = (&query.statement, &situation.ways);
    let mut notes = Notes::default();
    notes.push(session(query, ways.session));
    notes.push(Step::Digest { digest: statement.digest, text: shown(statement.digest_text) });
    notes.push(Step::Shape { kind: statement.plan.name(), effects: said(statement.plan.effects).collect() });
    let walked = chain::judge(ways.rules, Over::All, query, &mut notes);
    let mut verdict = Cow::Owned(walked.verdict);
    chain::finish(&mut verdict, query, &mut notes);
    let plan = walked.text.as_deref().map_or(statement.plan, situation.plan_of);
    let routed = route_with(query, plan, &verdict, verdict.flag_out, ways, &mut notes);
    if let Some(target) = routed.route.target() {
        notes.target(target, &verdict, situation);
    }
    if verdict.create_new_connection {
        notes.push(Step::NewConnection);
    }
    let lookup = Lookup { verdict: &verdict, text: walked.text.as_deref(), plan, routed: &routed };
    let is_looked_up = routed.cached.is_some_and(|cached| cached.refused.is_none());
    let peek = if is_looked_up { (situation.peek)(&lookup) } else { Peek::Unseen };
    notes.push(Step::Cache(routed.cached, peek));
    for pin in situation.pins {
        notes.push(Step::Pin((*pin).to_owned()));
    }
    let Notes { steps, left_out, why } = notes;
    Explanation { steps, left_out, verdict: verdict.into_owned(), route: routed.route, why }
}

/// The first step: who asks, in which state.
fn session(query: &Query<'_>, session: &Session) -> Step {
    let caller = query.caller;
    Step::Session {
        user: shown(caller.user()),
        schema: shown(caller.schema()),
        client: query.client_addr.to_owned(),
        listener: match caller.proxy_port() {
            0 => caller.proxy_addr().to_owned(),
            port => format!("{}:{port}", caller.proxy_addr()),
        },
        state: session.text(),
    }
}

impl Explanation {
    /// The names of the columns of [`rows`](Self::rows).
    pub const COLUMNS: [&'static str; 3] = ["step", "result", "detail"];

    /// A row for each step.
    pub fn rows(&self) -> Vec<[String; 3]> {
        let mut rows: Vec<[String; 3]> = self.steps.iter().map(Step::row).collect();
        if self.left_out > 0 {
            rows.push([String::new(), String::new(), format!("{} more steps", self.left_out)]);
        }
        rows
    }
}

/// The steps so far.
#[derive(Debug, Default)]
struct Notes {
    steps: Vec<Step>,
    left_out: usize,
    /// Why the statement goes to that server, if it goes to one.
    why: Option<Why>,
}

impl Notes {
    fn push(&mut self, step: Step) {
        if self.steps.len() < EXPLAINED_STEPS_MAX {
            self.steps.push(step);
        } else {
            self.left_out += 1;
        }
    }

    /// What becomes of a statement on its way to a hostgroup.
    fn target(&mut self, target: Target, verdict: &Verdict, situation: &Situation<'_>) {
        let hostgroup = target.hostgroup;
        let mut candidates = (situation.candidates)(hostgroup);
        let must_see = (situation.must_see)(verdict, hostgroup);
        let Ways { account, pairs, .. } = situation.ways;
        let writer = must_see.as_ref().and_then(|_| pairs.writer(hostgroup));
        if let Some(MustSee { gtid, max_lag_ms, lacking, writes }) = must_see {
            for one in candidates.iter_mut().filter(|one| one.taken) {
                if let Some((_, why)) = lacking.iter().find(|(server, _)| *server == one.server) {
                    (one.taken, one.reason) = (false, why.clone());
                }
            }
            let transaction = gtid.map(|gtid| Step::MustSee { gtid });
            let lag = max_lag_ms.map(|max_lag_ms| Step::MaxLag { max_lag_ms });
            if let Some(writes) = &writes {
                for one in candidates.iter_mut().filter(|one| one.taken) {
                    writes.note(one);
                }
            }
            let writes = writes.map(Step::Writes);
            transaction.into_iter().chain(lag).chain(writes).for_each(|step| self.push(step));
        }
        let reachable = self.servers(candidates);
        let instead = account.instead_of(hostgroup, target.is_split).or(writer);
        if let Some(instead) = instead.filter(|_| !reachable) {
            self.push(Step::Instead { hostgroup: instead });
            self.servers((situation.candidates)(instead));
        }
    }

    /// The servers of a hostgroup; whether one of them may be taken.
    fn servers(&mut self, candidates: Vec<Candidate>) -> bool {
        if candidates.is_empty() {
            self.push(Step::NoServers);
        }
        let reachable = candidates.iter().any(|candidate| candidate.taken);
        for candidate in candidates {
            self.push(Step::Candidate(candidate));
        }
        reachable
    }
}

impl Record for Notes {
    fn missed(&mut self, rule: &Rule, miss: Miss, flag: u32) {
        self.push(Step::Missed { rule: rule.id(), miss, wanted: rule.wants(miss), flag });
    }

    fn matched(&mut self, rule: &Rule, flag: Option<u32>, text: Option<&[u8]>) {
        let (mut outputs, apply, text) = (rule.outputs.outputs(), rule.apply, text.map(shown));
        outputs.extend(rule.extras().outputs());
        self.push(Step::Matched { rule: rule.id(), outputs, flag, apply, text });
    }

    fn not_rewritten(&mut self, rule: &Rule) {
        self.push(Step::NotRewritten { rule: rule.id() });
    }

    fn again(&mut self, flag: u32) {
        self.push(Step::Again { flag });
    }

    fn fast_route(&mut self, asked: bool, found: Option<(Source, u32)>) {
        self.push(Step::FastRoute { asked, found });
    }

    fn hinted(&mut self, allowed: bool, verdict: &Verdict) {
        self.push(Step::Hints { allowed, outputs: if allowed { verdict.outputs() } else { Vec::new() } });
    }

    fn firewall(&mut self, ruling: Ruling, why: impl FnOnce() -> String) {
        self.push(Step::Firewall { ruling, why: why() });
    }

    fn injection(&mut self, sighting: Option<Sighting>) {
        self.push(Step::Injection(sighting));
    }

    fn routed(&mut self, route: &Route, why: Option<Why>) {
        self.why = why;
        if let Some(why) = why {
            self.push(match why {
                Why::Split(split) => Step::Split(split),
                Why::Transaction => Step::NoSplit("a transaction is open"),
                Why::Verdict(_) => Step::NoSplit("rules or a hint have decided"),
                Why::Listener(_) => Step::NoSplit("the listener has decided"),
                Why::Default => Step::NoSplit("mysql-read_write_split is off"),
            });
        }
        self.push(Step::Route(route.clone(), why));
    }
}

/// The start of a text that may be any bytes.
fn shown(text: &[u8]) -> String {
    match text.get(..EXPLAINED_TEXT_BYTES_MAX) {
        None => String::from_utf8_lossy(text).into_owned(),
        Some(start) => format!("{}...", String::from_utf8_lossy(start)),
    }
}
