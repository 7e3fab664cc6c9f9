//! The chain: one walk over the rules, and fast routing behind it. Everything that decides goes
//! through here, with or without a record, over all rules or only over those that a remembered
//! verdict left open.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::limits::CHAIN_STEPS_MAX;
use crate::pattern::Haystack;
use crate::query::Query;
use crate::record::{Miss, Record};
use crate::rules::Rules;
use crate::verdict::{Source, Verdict};

/// Which rules a walk looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Over<'a> {
    /// All.
    All,
    /// Those at these places, whose [`static_miss`](crate::rule::Rule::static_miss) is known to be
    /// none.
    Open(&'a [u32]),
}

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) verdict: Verdict,
    /// The text as rules rewrote it.
    pub(crate) text: Option<Vec<u8>>,
    /// Whether it depends on more than the digest, the caller and the state it started in.
    pub(crate) open: bool,
    /// Expressions that took more steps than they may.
    pub(crate) exhausted: u64,
}

/// What the rules say about `query`; what is left to say, [`finish`] says.
pub(crate) fn judge(rules: &Rules, over: Over<'_>, query: &Query<'_>, record: &mut impl Record) -> Walked {
    let Some(flag) = query.start() else { return Walk::new(0, query).done() };
    let (mut walked, applied) = Walk::new(flag, query).run(rules, over, record);
    fast_route(rules, query, applied, &mut walked.verdict, record);
    walked
}

/// Lets the rule that mirrors a copy, or the hints of an original, say what they have to.
pub(crate) fn finish(verdict: &mut Cow<'_, Verdict>, query: &Query<'_>, record: &mut impl Record) {
    match (query.mirror, query.statement.hints) {
        (Some(mirror), _) => {
            if verdict.hostgroup.is_none() && mirror.hostgroup.is_some() {
                let verdict = verdict.to_mut();
                verdict.hostgroup = mirror.hostgroup;
                verdict.source = Some(Source::Mirror);
            }
        }
        (None, Some(hints)) if query.hints => {
            verdict.to_mut().hint(hints, query.now_ms);
            record.hinted(true, verdict);
        }
        (None, Some(_)) => record.hinted(false, verdict),
        (None, None) => {}
    }
}

/// Asks fast routing, unless the chain ended with `apply`.
fn fast_route(
    rules: &Rules,
    query: &Query<'_>,
    applied: bool,
    verdict: &mut Verdict,
    record: &mut impl Record,
) {
    if rules.fast.len() == 0 {
        return;
    }
    let hidden =
        rules.options.last_rule_hides_fast_routes && rules.list.last().is_some_and(|rule| rule.apply);
    let asked = !applied && !hidden;
    let found = if asked {
        rules.fast.find(verdict.flag_out, query.caller.user(), query.caller.schema())
    } else {
        None
    };
    record.fast_route(asked, found);
    if let Some((source, hostgroup)) = found {
        verdict.hostgroup = Some(hostgroup);
        verdict.source = Some(source);
    }
}

/// A walk on its way.
struct Walk<'a, 'q> {
    query: &'a Query<'q>,
    verdict: Verdict,
    matched: Vec<u32>,
    flag: u32,
    text: Option<Vec<u8>>,
    /// The digest's text, and the text as it is now, once a rule has asked.
    digest_haystack: OnceCell<Option<Haystack>>,
    haystack: OnceCell<Option<Haystack>>,
    open: bool,
    exhausted: u64,
    /// Rules looked at.
    steps: u32,
    /// Random numbers taken.
    draws: u64,
}

/// What a rule means for the walk.
enum Next {
    Go,
    Apply,
    /// It set the state.
    Flag,
}

impl<'a, 'q> Walk<'a, 'q> {
    fn new(flag: u32, query: &'a Query<'q>) -> Self {
        Self {
            query,
            verdict: Verdict::default(),
            matched: Vec::new(),
            flag,
            text: None,
            digest_haystack: OnceCell::new(),
            haystack: OnceCell::new(),
            open: false,
            exhausted: 0,
            steps: 0,
            draws: 0,
        }
    }

    /// Walks, and says whether a rule with `apply` ended it.
    fn run(mut self, rules: &Rules, over: Over<'_>, record: &mut impl Record) -> (Walked, bool) {
        let mut again = rules.options.iterations;
        let applied = loop {
            match self.pass(rules, over, again > 0, record) {
                Some(Next::Apply) => break true,
                Some(Next::Flag) => {
                    again -= 1;
                    record.again(self.flag);
                }
                Some(Next::Go) | None => break false,
            }
        };
        (self.done(), applied)
    }

    fn done(self) -> Walked {
        let mut verdict = self.verdict;
        verdict.flag_out = self.flag;
        verdict.matched = self.matched.into();
        Walked { verdict, text: self.text, open: self.open, exhausted: self.exhausted }
    }

    /// Goes through the rules once; with `again` only up to the first that sets the state. Nothing
    /// at their end.
    fn pass(&mut self, rules: &Rules, over: Over<'_>, again: bool, record: &mut impl Record) -> Option<Next> {
        let mut position = 0;
        loop {
            let place = match over {
                Over::All => u32::try_from(position).ok()?,
                Over::Open(places) => *places.get(position)?,
            };
            position += 1;
            match self.step(rules, place, over, record)? {
                Next::Flag if again && self.steps < CHAIN_STEPS_MAX => return Some(Next::Flag),
                Next::Flag | Next::Go => {}
                Next::Apply => return Some(Next::Apply),
            }
        }
    }

    /// Tries the rule at `place`; nothing if there is none.
    fn step(&mut self, rules: &Rules, place: u32, over: Over<'_>, record: &mut impl Record) -> Option<Next> {
        let rule = rules.rule(place)?;
        self.steps = self.steps.saturating_add(1);
        if rule.flag_in != self.flag {
            record.missed(rule, Miss::FlagIn, self.flag);
            return Some(Next::Go);
        }
        let mut miss = match over {
            Over::All => {
                let statement = &self.query.statement;
                let haystack = self.digest_haystack.get_or_init(|| Haystack::new(statement.digest_text));
                rule.static_miss(self.query.caller, statement, haystack.as_ref())
            }
            Over::Open(_) => None,
        };
        if miss.is_none() {
            self.open |= !rule.is_static();
            let text = self.text.as_deref().unwrap_or(self.query.statement.text);
            let haystack = || self.haystack.get_or_init(|| Haystack::new(text)).as_ref();
            miss = rule.dynamic_miss(
                self.query.client_addr,
                text,
                if rule.is_static() { None } else { haystack() },
            );
        }
        if let Some(miss) = miss {
            self.exhausted += u64::from(miss == Miss::Exhausted);
            record.missed(rule, miss, self.flag);
            return Some(Next::Go);
        }
        self.matched.push(place);
        self.verdict.overwrite(&rule.outputs);
        self.verdict.extras |= rule.has_extras();
        let flag = rule.flag_out.or_else(|| rule.weighted.as_ref()?.choose(self.draw()));
        self.flag = flag.unwrap_or(self.flag);
        let rewritten = self.rewrite(rule, record);
        record.matched(rule, flag, self.text.as_deref().filter(|_| rewritten));
        Some(match (rule.apply, flag) {
            (true, _) => Next::Apply,
            (false, Some(_)) => Next::Flag,
            (false, None) => Next::Go,
        })
    }

    /// Rewrites the text if `rule` does, and says whether.
    fn rewrite(&mut self, rule: &crate::rule::Rule, record: &mut impl Record) -> bool {
        if self.query.execute {
            return false;
        }
        match rule.rewrite(self.text.as_deref().unwrap_or(self.query.statement.text)) {
            Ok(None) => false,
            Ok(text) => {
                self.text = text;
                self.haystack.take();
                true
            }
            Err(_) => {
                self.exhausted += 1;
                record.not_rewritten(rule);
                false
            }
        }
    }

    /// The next random number: SplitMix64 over the caller's.
    fn draw(&mut self) -> u64 {
        self.draws += 1;
        let mut z = self.query.random.wrapping_add(self.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
