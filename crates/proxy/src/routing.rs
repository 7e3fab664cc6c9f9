//! Finding out what statements are and where they go.
//!
//! - [`routes`]: what the configuration says, compiled once for all workers;
//! - [`facts`]: what matters for that of what is known of a statement;
//! - [`explain`](mod@explain): the same, written down;
//! - [`shapes`]: what a worker remembers of statements.

pub(crate) mod explain;
pub(crate) mod facts;
pub(crate) mod routes;
mod shapes;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use route::{
    AccessMode, Account, Caller, Destination, Facts, Mirror, Query, Session, Statement, Verdict, Verdicts,
    destination,
};
use sql::{Digest, Hints, Shape, hint};

use crate::limits::JUDGED_BYTES_MAX;
use routes::Routes;
use shapes::Shapes;

/// What one worker needs to judge statements.
#[derive(Debug)]
pub(crate) struct Routing {
    routes: Arc<Routes>,
    verdicts: Verdicts,
    digest: Digest,
    shapes: Shapes,
    /// What rules say where there are none.
    silence: Verdict,
}

/// Who sends a statement, and in the middle of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    /// The user, the schema and the listener.
    pub(crate) caller: &'a Arc<Caller>,
    /// The client's address, without its port.
    pub(crate) client_addr: &'a str,
    /// What the user's row says.
    pub(crate) account: Account,
    /// Whether the user's hints count.
    pub(crate) hints: bool,
    /// What the session is in the middle of.
    pub(crate) session: &'a Session,
    /// The state that the rules start in.
    pub(crate) flag_in: u32,
    /// How the session's texts are to be read.
    pub(crate) reading: Reading,
    /// The side that an attribute of the statement asks for.
    pub(crate) asked: Option<AccessMode>,
    /// Whether a prepared statement is executed.
    pub(crate) execute: bool,
    /// If this is a mirrored copy: what the rule or the hint said.
    pub(crate) mirror: Option<Mirror>,
    /// A random number.
    pub(crate) random: u64,
}

/// What about a session makes texts mean something else than they seem to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Its characters may have a quote or a backslash as their second byte.
    pub(crate) two_byte_quotes: bool,
    /// A backslash is a letter like any other.
    pub(crate) no_backslash_escapes: bool,
}

/// What was found out about a statement.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// The hash of its digest as it came; nothing if digests are switched off.
    pub(crate) digest: Option<u64>,
    /// What it does, as rules rewrote it.
    pub(crate) facts: Facts,
    /// Whether it is several statements in one text, as rules rewrote it.
    pub(crate) several: bool,
    /// Where it goes.
    pub(crate) destination: Destination,
    /// What rules and hints say besides that, if anything.
    pub(crate) orders: Option<Box<Orders>>,
}

/// What is to be done with a statement besides sending it somewhere.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    /// All that rules and hints say.
    pub(crate) verdict: Verdict,
    /// The statement as rules rewrote it.
    pub(crate) text: Option<Vec<u8>>,
    /// The digest's text of the statement as it came, if rules rewrote it.
    pub(crate) digest_text: Option<Arc<[u8]>>,
    /// Whether the answer is compared with that to the mirrored copy.
    pub(crate) compare: bool,
}

impl Orders {
    /// Whether something is to be done with the statement before it is sent.
    pub(crate) fn come_first(&self) -> bool {
        self.text.is_some() || self.verdict.says_more_than_where_and_log()
    }
}

impl Routing {
    /// What a worker needs to judge statements by `routes`.
    pub(crate) fn new(routes: &Arc<Routes>) -> Self {
        Self {
            verdicts: Verdicts::new(&routes.rules),
            routes: Arc::clone(routes),
            digest: Digest::default(),
            shapes: Shapes::default(),
            silence: Verdict::default(),
        }
    }

    /// Judges by `routes` from now on, whose rules are those that it was made of.
    pub(crate) fn follow(&mut self, routes: &Arc<Routes>) {
        self.routes = Arc::clone(routes);
    }

    /// The configuration that it judges by.
    pub(crate) const fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// How often rules matched here.
    pub(crate) const fn hits(&self) -> &Arc<route::Hits> {
        self.verdicts.hits()
    }

    /// The digest's text of `text`, whose digest is `digest`, as tables show it.
    pub(crate) fn shown_of(&mut self, digest: u64, text: &[u8]) -> &[u8] {
        // Nearly always it is the one that was judged last.
        if self.digest.hash() != digest
            && let Some(options) = &self.routes.digests
        {
            self.digest.read(text.get(..JUDGED_BYTES_MAX).unwrap_or(text), options);
        }
        self.digest.shown()
    }

    /// The hash of a statement's digest; nothing if digests are switched off.
    pub(crate) fn digest_of(&mut self, text: &[u8]) -> Option<u64> {
        let options = self.routes.digests.as_ref()?;
        self.digest.read(text.get(..JUDGED_BYTES_MAX).unwrap_or(text), options);
        Some(self.digest.hash())
    }

    /// Finds out what `text` is and where it goes. Of a statement of which this is not all, `is_whole` is false.
    pub(crate) fn judge(&mut self, text: &[u8], is_whole: bool, at: &Circumstances<'_>) -> Judged {
        let text = text.get(..JUDGED_BYTES_MAX).unwrap_or(text);
        let trivial = self.routes.are_trivial_for(at.account.default_hostgroup);
        let Some(options) = &self.routes.digests else {
            let (facts, several) = look(text, is_whole, at.reading);
            let statement = Statement { text, digest: None, digest_text: &[], hints: None, facts };
            return decide(&self.routes, &mut self.verdicts, statement, several, is_whole, at);
        };
        self.digest.read(text, options);
        let several = self.digest.facts().statements > 1;
        let facts = if is_whole { self.facts(text, at.reading) } else { Facts::default() };
        let comment = self.digest.facts().first_comment.map(|comment| comment.of(text));
        let mut hints = comment.map(hint::parse).filter(|hints| *hints != Hints::default());
        if at.asked.is_some() {
            hints.get_or_insert_default().access_mode = at.asked;
        }
        let hash = self.digest.hash();
        if trivial && hints.is_none() && at.mirror.is_none() {
            return self.plain(hash, facts, several, at);
        }
        let statement = Statement {
            text,
            digest: Some(hash),
            digest_text: self.digest.shown(),
            hints: hints.as_ref(),
            facts,
        };
        decide(&self.routes, &mut self.verdicts, statement, several, is_whole, at)
    }

    /// The decision where neither rules nor the split have anything to say.
    fn plain(&self, digest: u64, facts: Facts, several: bool, at: &Circumstances<'_>) -> Judged {
        let destination =
            destination(&self.silence, at.account, at.session, facts, &self.routes.pairs, false);
        Judged { digest: Some(digest), facts, several, destination, orders: None }
    }

    /// What the statement does whose digest was just made.
    fn facts(&mut self, text: &[u8], reading: Reading) -> Facts {
        let found = *self.digest.facts();
        if reading.doubts(text, found.escapes, found.quotes) {
            return Facts::default();
        }
        let digest = &self.digest;
        let look = || {
            if may_call(digest) {
                Facts::default()
            } else {
                facts::facts(&Shape::of(text, sql::Modes::default()))
            }
        };
        if found.sound { self.shapes.get(self.digest.hash(), look) } else { look() }
    }
}

impl Reading {
    /// Whether servers may see another end of a string or a comment in `text` than there seems to be.
    fn doubts(self, text: &[u8], escapes: bool, quotes: bool) -> bool {
        escapes && (quotes || self.no_backslash_escapes) && text.contains(&b'\\')
            || self.two_byte_quotes && !text.is_ascii()
    }

    /// Whether what `text`, of which `digest` was made, does is better not told from its words.
    fn is_in_doubt(self, digest: &Digest, text: &[u8]) -> bool {
        let found = digest.facts();
        self.doubts(text, found.escapes, found.quotes) || may_call(digest)
    }
}

/// Whether a text in double quotes is in front of a parenthesis: in the mode `ANSI_QUOTES` this calls a function.
fn may_call(digest: &Digest) -> bool {
    digest.facts().quotes && digest.text().windows(2).any(|pair| pair == b"?(")
}

/// What a text does of which there is no digest, and whether it is several statements.
pub(crate) fn look(text: &[u8], is_whole: bool, reading: Reading) -> (Facts, bool) {
    let shape = Shape::of(text, sql::Modes::default());
    let is_clear = is_whole && !reading.doubts(text, true, true);
    (if is_clear { facts::facts(&shape) } else { Facts::default() }, shape.kind == sql::shape::Kind::Several)
}

/// The time in milliseconds since 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What rules, hints, the split and the session say together. Rules do not rewrite what is not whole.
fn decide(
    routes: &Routes,
    verdicts: &mut Verdicts,
    statement: Statement<'_>,
    several: bool,
    is_whole: bool,
    at: &Circumstances<'_>,
) -> Judged {
    let needs_time = statement.hints.is_some_and(|hints| hints.min_epoch_ms.is_some());
    let query = Query {
        statement,
        caller: at.caller,
        client_addr: at.client_addr,
        flag_in: at.flag_in,
        execute: at.execute,
        mirror: at.mirror,
        hints: at.hints,
        random: at.random,
        now_ms: if needs_time { unix_ms() } else { 0 },
    };
    let decision = verdicts.decide(&query);
    let text = decision.text.filter(|_| is_whole);
    let (facts, several) = match &text {
        Some(text) => look(text, is_whole, at.reading),
        None => (statement.facts, several),
    };
    let (verdict, split_on) = (&*decision.verdict, routes.split_on);
    let destination = destination(verdict, at.account, at.session, facts, &routes.pairs, split_on);
    let orders = if text.is_some() || verdict.says_more_than_where() {
        let compares = |place: &u32| routes.rules.rule(*place).is_some_and(|rule| rule.extras().compare);
        let compare = verdict.extras && verdict.matched.iter().any(compares);
        let verdict = Cow::into_owned(decision.verdict);
        let digest_text = text.as_ref().map(|_| statement.digest_text.into());
        Some(Box::new(Orders { verdict, text, digest_text, compare }))
    } else {
        None
    };
    Judged { digest: statement.digest, facts, several, destination, orders }
}
