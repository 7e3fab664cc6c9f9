//! What one worker knows: the rules, the verdicts that it remembers, and its counts.

use std::borrow::Cow;
use std::sync::Arc;

use config::in_turns;

use crate::cache::{Cache, Key, Memory};
use crate::chain::{self, Over};
use crate::hits::Hits;
use crate::limits::{CALLER_BYTES_MAX, CANDIDATES_MAX, VERDICTS_MAX};
use crate::pattern::Haystack;
use crate::query::Query;
use crate::record::Nothing;
use crate::rule::Rule;
use crate::rules::Rules;
use crate::verdict::Verdict;

/// The rules in the hands of one worker. When rules are loaded, it gets another one.
#[derive(Debug)]
pub struct Verdicts {
    rules: Rules,
    cache: Cache,
    hits: Arc<Hits>,
    /// The verdict where there are no rules.
    silence: Verdict,
}

/// What is decided about a statement.
#[derive(Debug)]
pub struct Decision<'a> {
    /// What rules and hints say.
    pub verdict: Cow<'a, Verdict>,
    /// The statement as rules rewrote it.
    pub text: Option<Vec<u8>>,
}

impl Verdicts {
    /// A worker's own. The copy of `rules` shares the compiled expressions, but not their scratch
    /// memory: workers never wait for each other.
    pub fn new(rules: &Rules) -> Self {
        Self {
            rules: rules.for_worker(),
            cache: Cache::new(VERDICTS_MAX),
            hits: Arc::new(Hits::new(rules.len())),
            silence: Verdict::default(),
        }
    }

    /// Frees their memory, in turns with other threads: there may be many rules.
    pub fn free(self) {
        in_turns(Vec::from(self.rules.list)).for_each(drop);
    }

    /// The rules.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Its counts, for other threads to read.
    pub const fn hits(&self) -> &Arc<Hits> {
        &self.hits
    }

    /// How many verdicts it remembers.
    pub const fn remembered(&self) -> usize {
        self.cache.len()
    }

    /// What rules and hints say about `query`.
    pub fn decide(&mut self, query: &Query<'_>) -> Decision<'_> {
        let (mut verdict, text) = self.judge(query);
        chain::finish(&mut verdict, query, &mut Nothing);
        Decision { verdict, text }
    }

    /// What rules say, remembered or found out.
    fn judge(&mut self, query: &Query<'_>) -> (Cow<'_, Verdict>, Option<Vec<u8>>) {
        let Some(flag) = query.start() else { return (Cow::Borrowed(&self.silence), None) };
        if self.rules.is_empty() {
            let silence = Cow::Borrowed(&self.silence);
            let other = || Cow::Owned(Verdict { flag_out: flag, ..Verdict::default() });
            return (if flag == 0 { silence } else { other() }, None);
        }
        let over = self.cache.find(query, flag).or_else(|| self.learn(query, flag));
        match over.and_then(|place| self.cache.get(place)) {
            Some(Memory::Decided(verdict)) => {
                self.hits.count(&verdict.matched);
                (Cow::Borrowed(verdict), None)
            }
            Some(Memory::Open(places)) => self.walk(Over::Open(places), query),
            None => self.walk(Over::All, query),
        }
    }

    fn walk(&self, over: Over<'_>, query: &Query<'_>) -> (Cow<'_, Verdict>, Option<Vec<u8>>) {
        let walked = chain::judge(&self.rules, over, query, &mut Nothing);
        self.hits.count(&walked.verdict.matched);
        self.hits.count_exhausted(walked.exhausted);
        (Cow::Owned(walked.verdict), walked.text)
    }

    /// Finds out what can be remembered about `query`, and says where it is; nothing if it is too
    /// much.
    fn learn(&mut self, query: &Query<'_>, flag: u32) -> Option<(usize, usize)> {
        if query.caller.user().len() + query.caller.schema().len() > CALLER_BYTES_MAX {
            return None;
        }
        let walked = chain::judge(&self.rules, Over::All, query, &mut Nothing);
        let memory = if walked.open {
            let left = self.rules.list.iter().zip(0..);
            let haystack = Haystack::new(query.statement.digest_text);
            let misses = |rule: &Rule| rule.static_miss(query.caller, &query.statement, haystack.as_ref());
            let left = left.filter(|(rule, _)| misses(rule).is_none());
            let places: Vec<u32> = left.map(|(_, place)| place).take(CANDIDATES_MAX + 1).collect();
            (places.len() <= CANDIDATES_MAX).then(|| Memory::Open(places.into()))
        } else {
            self.hits.count_exhausted(walked.exhausted);
            (walked.verdict.matched.len() <= CANDIDATES_MAX).then_some(Memory::Decided(walked.verdict))
        };
        Some(self.cache.insert(Key::new(query, flag), memory?))
    }
}
