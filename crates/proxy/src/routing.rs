//! Finding out what statements are and where they go.
//!
//! - [`routes`]: what the configuration says, compiled once for all workers;
//! - [`explain`](mod@explain): the same, written down.

pub(crate) mod explain;
pub(crate) mod routes;

use std::borrow::Cow;
use std::sync::Arc;

use route::limits::JUDGED_BYTES_MAX;
use route::reader::{Found, Reader};
pub(crate) use route::reader::{Reading, plan};
use route::{
    AccessMode, Account, Asked, Caller, Destination, Injections, Mirror, Query, Ruling, Session, Sighting,
    Statement, StatementPlan, Verdict, Verdicts, destination,
};
use sql::{Hints, hint};

use crate::clock::unix_ms;
use routes::Routes;

/// What one worker needs to judge statements.
#[derive(Debug)]
pub(crate) struct Routing {
    routes: Arc<Routes>,
    verdicts: Verdicts,
    reader: Reader,
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

/// What was found out about a statement.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// The hash of its digest as it came; nothing if digests are switched off.
    pub(crate) digest: Option<u64>,
    /// What follows from its shape, as rules rewrote it.
    pub(crate) plan: StatementPlan,
    /// Where it goes.
    pub(crate) destination: Destination,
    /// What of it the firewall judges, and what it says.
    pub(crate) screened: Screened,
    /// What rules and hints say besides that, if anything.
    pub(crate) orders: Option<Box<Orders>>,
}

/// A statement as the firewall sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screened {
    /// The state behind the last query rule.
    pub(crate) flag: u32,
    /// Whether the digest says all that a server would do.
    pub(crate) clear: bool,
    /// What the firewall says.
    pub(crate) ruling: Ruling,
    /// What was found in it that looks like injected SQL.
    pub(crate) sighting: Option<Sighting>,
}

impl Screened {
    /// What it has nothing against.
    pub(crate) const PASSED: Self = Self { flag: 0, clear: false, ruling: Ruling::Passes, sighting: None };
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
            reader: Reader::default(),
            silence: Verdict::default(),
        }
    }

    /// Judges by `routes` from now on, whose rules are those that it was made of.
    pub(crate) fn follow(&mut self, routes: &Arc<Routes>) {
        if self.routes.digests != routes.digests {
            self.reader.forget();
        }
        self.routes = Arc::clone(routes);
    }

    /// Takes from the one that was there before, which judged by other rules, what it knows of
    /// statements.
    pub(crate) fn succeed(&mut self, before: &mut Self) {
        std::mem::swap(&mut self.reader, &mut before.reader);
        if self.routes.digests != before.routes.digests {
            self.reader.forget();
        }
    }

    /// Frees its memory, in turns with other threads: there may be many rules.
    pub(crate) fn free(self) {
        self.verdicts.free();
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
        self.reader.shown(digest, text, self.routes.digests.as_ref())
    }

    /// Finds out what `text` is and where it goes. Of a statement of which this is not all,
    /// `is_whole` is false.
    pub(crate) fn judge(&mut self, text: &[u8], is_whole: bool, at: &Circumstances<'_>) -> Judged {
        let text = text.get(..JUDGED_BYTES_MAX).unwrap_or(text);
        let Some(options) = &self.routes.digests else {
            let plan = plan::of(text, is_whole, at.reading);
            let statement = Statement { text, digest: None, digest_text: &[], hints: None, plan };
            let judged = decide(&self.routes, &mut self.verdicts, statement, is_whole, at);
            return self.screen(text, judged, at);
        };
        let Found { digest, shown, comment, plan, clear } =
            self.reader.read(text, is_whole, at.reading, options);
        let mut hints =
            comment.map(|comment| hint::parse(comment.of(text))).filter(|hints| *hints != Hints::default());
        if at.asked.is_some() {
            hints.get_or_insert_default().access_mode = at.asked;
        }
        let trivial = self.routes.are_trivial_for(at.account.default_hostgroup);
        if trivial && hints.is_none() && at.mirror.is_none() {
            // Neither rules nor the split have anything to say.
            let pairs = &self.routes.pairs;
            let destination = destination(&self.silence, at.account, at.session, plan, pairs, false);
            let screened = Screened { flag: at.flag_in, clear, ..Screened::PASSED };
            let judged = Judged { digest: Some(digest), plan, destination, screened, orders: None };
            return self.screen(text, judged, at);
        }
        let hints = hints.as_ref();
        let statement = Statement { text, digest: Some(digest), digest_text: shown, hints, plan };
        let mut judged = decide(&self.routes, &mut self.verdicts, statement, is_whole, at);
        judged.screened.clear = clear;
        self.screen(text, judged, at)
    }

    /// Has the firewall judge a statement, and looks for injected SQL in it, as far as these are
    /// on. Copies are none of their business, as in ProxySQL, and what is executed was judged when
    /// it was prepared; whether it still passes the firewall is asked [there](crate::session).
    fn screen(&self, text: &[u8], mut judged: Judged, at: &Circumstances<'_>) -> Judged {
        if at.mirror.is_some() || at.execute {
            return judged;
        }
        let mut ruling = None;
        if let Some(firewall) = &self.routes.firewall {
            let Screened { flag, clear, .. } = judged.screened;
            let asked = Asked { digest: judged.digest.filter(|_| clear), flag };
            judged.screened.ruling = firewall.rule(at.caller, at.client_addr, asked);
            judged.destination = firewall.over(judged.screened.ruling, judged.destination);
            ruling = Some(judged.screened.ruling);
        }
        if let Some(injections) = &self.routes.injections
            && Injections::look_at(ruling, &judged.destination)
        {
            judged.screened.sighting = injections.look(text);
            judged.destination = Injections::over(judged.screened.sighting, judged.destination);
        }
        judged
    }
}

/// What rules, hints, the split and the session say together. Rules do not rewrite what is not
/// whole.
fn decide(
    routes: &Routes,
    verdicts: &mut Verdicts,
    statement: Statement<'_>,
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
    let plan = match &text {
        Some(text) => plan::of(text, is_whole, at.reading),
        None => statement.plan,
    };
    let (verdict, split_on) = (&*decision.verdict, routes.split_on);
    let screened = Screened { flag: verdict.flag_out, ..Screened::PASSED };
    let destination = destination(verdict, at.account, at.session, plan, &routes.pairs, split_on);
    let orders = if text.is_some() || verdict.says_more_than_where() {
        let compares = |place: &u32| routes.rules.rule(*place).is_some_and(|rule| rule.extras().compare);
        let compare = verdict.extras && verdict.matched.iter().any(compares);
        let verdict = Cow::into_owned(decision.verdict);
        let digest_text = text.as_ref().map(|_| statement.digest_text.into());
        Some(Box::new(Orders { verdict, text, digest_text, compare }))
    } else {
        None
    };
    Judged { digest: statement.digest, plan, destination, screened, orders }
}
