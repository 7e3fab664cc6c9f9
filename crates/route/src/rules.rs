//! All rules, compiled; immutable, shared by workers.

use std::sync::Arc;

use config::{FastRoute, QueryRule, Turns, in_turns};

use crate::fast::FastRoutes;
use crate::pattern::Engine;
use crate::rule::{Rule, RuleError};

/// What variables say about rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// `mysql-query_processor_regex`: the dialect of expressions.
    pub engine: Engine,
    /// `mysql-query_processor_iterations`: how often the chain may start again for one statement.
    pub iterations: u32,
    /// Whether `apply` of the last rule keeps fast routing from being asked even if that rule does
    /// not match. ProxySQL 2.7 does so; later ones do not.
    pub last_rule_hides_fast_routes: bool,
}

/// The active rules in their order, and fast routing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(crate) list: Box<[Rule]>,
    pub(crate) fast: Arc<FastRoutes>,
    pub(crate) options: Options,
}

impl Rules {
    /// Compiles the active ones of `rules`, and `fast_routes`. Every rule that cannot be used is an
    /// error; nothing is left out.
    pub fn compile(
        rules: &[QueryRule],
        fast_routes: &[FastRoute],
        options: Options,
    ) -> Result<Self, Vec<RuleError>> {
        let mut rows: Vec<&QueryRule> = rules.iter().filter(|row| row.active).collect();
        rows.sort_by_key(|row| row.rule_id);
        let mut errors = Vec::new();
        let mut compiled = Vec::with_capacity(rows.len());
        let mut turns = Turns::default();
        for row in rows {
            // An expression takes as long as many rows of other tables.
            turns.step();
            match Rule::new(row, options.engine) {
                Ok(rule) => compiled.push(rule),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self { list: compiled.into(), fast: Arc::new(FastRoutes::new(fast_routes)), options })
    }

    /// The same for one worker: it shares the compiled expressions, but not their scratch memory.
    pub(crate) fn for_worker(&self) -> Self {
        let Self { list, fast, options } = self;
        Self { list: in_turns(&**list).cloned().collect(), fast: Arc::clone(fast), options: *options }
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are neither rules nor fast routes.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.fast.len() == 0
    }

    /// How many rows fast routing has.
    pub fn fast_routes(&self) -> usize {
        self.fast.len()
    }

    /// The rule at a place that [`Verdict::matched`](crate::Verdict::matched) or
    /// [`Hits`](crate::Hits) names.
    pub fn rule(&self, place: u32) -> Option<&Rule> {
        self.list.get(usize::try_from(place).ok()?)
    }

    /// The numbers of the rules, in their order.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.list.iter().map(Rule::id)
    }
}
