//! Finding out what statements are and where they go.
//!
//! - [`routes`]: what the configuration says, compiled once for all workers;
//! - [`explain`](mod@explain): the same, written down.

pub mod explain;
pub mod routes;

use std::borrow::Cow;
use std::sync::Arc;

use cache::Refusal;
use route::limits::JUDGED_BYTES_MAX;
use route::reader::{Found, Reader};
pub use route::reader::{Reading, plan};
use route::{
    AccessMode, Account, Cached, Caller, KnownTables, Mirror, Query, Route, Routed, Ruling, Session,
    Sighting, Source, Statement, StatementPlan, Tables, Verdict, Verdicts, Ways,
};
use sql::shape::Effects;
use sql::{Hints, hint};

use crate::clock::unix_ms;
use routes::Routes;

/// What one worker needs to judge statements.
#[derive(Debug)]
pub struct Routing {
    routes: Arc<Routes>,
    verdicts: Verdicts,
    reader: Reader,
    /// What the query cache has asked about statements.
    tables: KnownTables,
    /// What rules say where there are none.
    silence: Verdict,
}

/// Who sends a statement, and in the middle of what.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The user, the schema and the listener.
    pub caller: &'a Arc<Caller>,
    /// The client's address, without its port.
    pub client_addr: &'a str,
    /// What the user's row says.
    pub account: Account,
    /// Whether the user's hints count.
    pub hints: bool,
    /// What the session is in the middle of.
    pub session: &'a Session,
    /// The state that the rules start in.
    pub flag_in: u32,
    /// How the session's texts are to be read.
    pub reading: Reading,
    /// The side that an attribute of the statement asks for.
    pub asked: Option<AccessMode>,
    /// Whether a prepared statement is executed.
    pub execute: bool,
    /// If this is a mirrored copy: what the rule or the hint said.
    pub mirror: Option<Mirror>,
    /// Whether its span has the rule that has chosen the hostgroup.
    pub is_traced: bool,
    /// A random number.
    pub random: u64,
}

/// What was found out about a statement.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The hash of its digest as it came; nothing if digests are switched off.
    pub digest: Option<u64>,
    /// What follows from its shape, as rules rewrote it.
    pub plan: StatementPlan,
    /// Where it goes.
    pub route: Route,
    /// What of it the firewall judges, and what it says.
    pub screened: Screened,
    /// What rules and hints say besides that, if anything.
    pub orders: Option<Box<Orders>>,
}

/// A statement as the firewall sees it.
#[derive(Debug, Clone, Copy)]
pub struct Screened {
    /// The state behind the last query rule.
    pub flag: u32,
    /// Whether the digest says all that a server would do.
    pub clear: bool,
    /// What the firewall says.
    pub ruling: Ruling,
    /// What was found in it that looks like injected SQL.
    pub sighting: Option<Sighting>,
}

impl Screened {
    /// What it has nothing against.
    pub const PASSED: Self = Self { flag: 0, clear: false, ruling: Ruling::Passes, sighting: None };
}

/// What is to be done with a statement besides sending it somewhere.
#[derive(Debug, Clone)]
pub struct Orders {
    /// All that rules and hints say.
    pub verdict: Verdict,
    /// The statement as rules rewrote it.
    pub text: Option<Vec<u8>>,
    /// The digest's text of the statement as it came, if rules rewrote it.
    pub digest_text: Option<Arc<[u8]>>,
    /// How its answer is cached, if it is to be.
    pub cached: Option<Cached>,
    /// Rules say the same of the same text, as long as they are the same.
    pub is_always: bool,
}

impl Orders {
    /// What this verdict says, and nothing else.
    pub const fn of(verdict: Verdict) -> Self {
        Self { verdict, text: None, digest_text: None, cached: None, is_always: false }
    }

    /// Whether something is to be done with the statement before it is sent.
    pub fn come_first(&self) -> bool {
        self.text.is_some() || self.verdict.says_more_than_before_sending()
    }
}

impl Routing {
    /// What a worker needs to judge statements by `routes`.
    pub fn new(routes: &Arc<Routes>) -> Self {
        Self {
            verdicts: Verdicts::new(&routes.rules),
            routes: Arc::clone(routes),
            reader: Reader::default(),
            tables: KnownTables::default(),
            silence: Verdict::default(),
        }
    }

    /// Judges by `routes` from now on, whose rules are those that it was made of.
    pub fn follow(&mut self, routes: &Arc<Routes>) {
        if self.routes.digests != routes.digests {
            self.reader.forget();
            self.tables.forget();
        }
        self.routes = Arc::clone(routes);
    }

    /// Takes from the one that was there before, which judged by other rules, what it knows of
    /// statements.
    pub fn succeed(&mut self, before: &mut Self) {
        std::mem::swap(&mut self.reader, &mut before.reader);
        if self.routes.digests != before.routes.digests {
            self.reader.forget();
            self.tables.forget();
        }
    }

    /// Frees its memory, in turns with other threads: there may be many rules.
    pub fn free(self) {
        self.verdicts.free();
    }

    /// The configuration that it judges by.
    pub const fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// How often rules matched here.
    pub const fn hits(&self) -> &Arc<route::Hits> {
        self.verdicts.hits()
    }

    /// The digest's text of `text`, whose digest is `digest`, as tables show it.
    pub fn shown_of(&mut self, digest: u64, text: &[u8]) -> &[u8] {
        self.reader.shown(digest, text, self.routes.digests.as_ref())
    }

    /// What follows from the shape of `text`, which is whole.
    pub fn look(&mut self, text: &[u8], reading: Reading) -> StatementPlan {
        self.reader.find_out(text, true, reading, self.routes.digests.as_ref()).plan
    }

    /// Counts matches of rules that have said this before.
    pub fn count(&self, verdict: &Verdict) {
        self.hits().count(&verdict.matched);
    }

    /// The tables of `text`, which has this digest; whether that says all of it is in `clear`.
    pub fn tables(&self, digest: Option<u64>, clear: bool, text: &[u8]) -> Arc<Tables> {
        self.tables.of(self.routes.sound(digest, clear), text)
    }

    /// Finds out what `text` is and where it goes. Of a statement of which this is not all,
    /// `is_whole` is false.
    pub fn judge(&mut self, text: &[u8], is_whole: bool, at: &Circumstances<'_>) -> Judged {
        let text = text.get(..JUDGED_BYTES_MAX).unwrap_or(text);
        let routes = &*self.routes;
        let found = self.reader.find_out(text, is_whole, at.reading, routes.digests.as_ref());
        let hints = hints(text, found, at);
        let query = query(text, found, hints.as_ref(), at);
        // Copies are none of the firewall's business, as in ProxySQL. What is executed was judged
        // when it was prepared; whether it still passes is asked in `stage/local/firewall.rs`.
        let is_screened = at.mirror.is_none() && !at.execute;
        let ways = Ways {
            firewall: routes
                .firewall
                .as_deref()
                .filter(|_| is_screened)
                .map(|firewall| (firewall, found.clear)),
            injections: routes.injections.as_ref().filter(|_| is_screened),
            ..ways(routes, at)
        };
        let trivial = routes.digests.is_some() && routes.are_trivial_for(at.account.default_hostgroup);
        if trivial && hints.is_none() && at.mirror.is_none() {
            // Neither rules nor the split have anything to say.
            let ways = Ways { split_on: false, ..ways };
            let routed = route::route(&query, found.plan, &self.silence, at.flag_in, &ways);
            return judged(&query, found, found.plan, routed, at.flag_in, None);
        }
        let decision = self.verdicts.decide(&query);
        let rewritten = decision.text.filter(|_| is_whole);
        let plan = rewritten.as_deref().map_or(found.plan, |text| plan::of(text, is_whole, at.reading));
        let verdict = decision.verdict;
        let flag = verdict.flag_out;
        let tables = &self.tables;
        let uncached = || match &rewritten {
            _ if !is_whole || plan.effects.intersects(Effects::UNKNOWN) => Some(Refusal::NotRead),
            Some(text) => Tables::of(text).refusal,
            None => tables.of(routes.sound(found.digest, found.clear), text).refusal,
        };
        let ways = Ways { uncached: &uncached, ..ways };
        let routed = route::route(&query, plan, &verdict, flag, &ways);
        let is_told = at.is_traced && matches!(verdict.source, Some(Source::Rule(_)));
        let says_more = verdict.says_more_than_where() || routed.cached.is_some() || is_told;
        let orders = (rewritten.is_some() || says_more).then(|| {
            let digest_text = rewritten.as_ref().map(|_| query.statement.digest_text.into());
            // What depends on more than digest and account is not remembered.
            let is_always = matches!(verdict, Cow::Borrowed(_));
            let (verdict, cached) = (Cow::into_owned(verdict), routed.cached);
            Box::new(Orders { verdict, text: rewritten, digest_text, cached, is_always })
        });
        judged(&query, found, plan, routed, flag, orders)
    }
}

/// What comes out of it.
fn judged(
    query: &Query<'_>,
    found: Found<'_>,
    plan: StatementPlan,
    routed: Routed,
    flag: u32,
    orders: Option<Box<Orders>>,
) -> Judged {
    let Routed { route, ruling, sighting, cached: _ } = routed;
    let screened = Screened { flag, clear: found.clear, ruling, sighting };
    Judged { digest: query.statement.digest, plan, route, screened, orders }
}

/// What the client asks for besides the statement, if digests are on.
fn hints<'a>(text: &'a [u8], found: Found<'_>, at: &Circumstances<'_>) -> Option<Hints<'a>> {
    found.digest?;
    let comment = found.comment.map(|comment| hint::parse(comment.of(text)));
    let mut hints = comment.filter(|hints| *hints != Hints::default());
    if at.asked.is_some() {
        hints.get_or_insert_default().access_mode = at.asked;
    }
    hints
}

/// What rules are asked about. Rules do not rewrite what is not whole.
fn query<'a>(
    text: &'a [u8],
    found: Found<'a>,
    hints: Option<&'a Hints<'a>>,
    at: &Circumstances<'a>,
) -> Query<'a> {
    let needs_time = hints.is_some_and(|hints| hints.min_epoch_ms.is_some());
    Query {
        statement: Statement {
            text,
            digest: found.digest,
            digest_text: found.shown,
            hints,
            plan: found.plan,
        },
        caller: at.caller,
        client_addr: at.client_addr,
        flag_in: at.flag_in,
        execute: at.execute,
        mirror: at.mirror,
        hints: at.hints,
        random: at.random,
        now_ms: if needs_time { unix_ms() } else { 0 },
    }
}

/// What a route depends on, but for the firewall and the search for injected SQL.
fn ways<'a>(routes: &'a Routes, at: &Circumstances<'a>) -> Ways<'a> {
    Ways {
        account: at.account,
        session: at.session,
        pairs: &routes.pairs,
        split_on: routes.split_on,
        rules: &routes.rules,
        firewall: None,
        injections: None,
        caching: &routes.cache,
        uncached: &|| None,
    }
}
