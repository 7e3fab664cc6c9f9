//! What decides where statements go: the configuration's rules, pairs and switches, compiled once for all workers.

use std::sync::Arc;

use config::{Config, RowProblem};
use route::{Engine, Options, Pairs, RuleError, Rules};

/// One configuration, as far as it decides where statements go.
#[derive(Debug)]
pub(crate) struct Routes {
    /// Query rules and fast routing.
    pub(crate) rules: Arc<Rules>,
    /// Writers and their readers.
    pub(crate) pairs: Pairs,
    /// Whether plain reads go to readers where no rule decides.
    pub(crate) split_on: bool,
    /// How digests are made; nothing if they are switched off.
    pub(crate) digests: Option<sql::Options>,
}

impl Routes {
    /// Compiles what `config` says. If rules and their options are those of `before`, its rules are used again. Fails
    /// with every rule that cannot be used.
    pub(crate) fn new(config: &Config, before: Option<(&Config, &Self)>) -> Result<Self, Vec<RuleError>> {
        let same = before.filter(|(before, _)| {
            before.query_rules == config.query_rules
                && before.fast_routes == config.fast_routes
                && options(before) == options(config)
        });
        let rules = match same {
            Some((_, before)) => Arc::clone(&before.rules),
            None => Arc::new(Rules::compile(&config.query_rules, &config.fast_routes, options(config))?),
        };
        Ok(Self {
            rules,
            pairs: Pairs::new(&config.replication_hostgroups),
            split_on: config.variables.read_write_split,
            digests: Some(sql::Options::default()),
        })
    }

    /// Whether every statement of a user with this hostgroup goes there, unless a hint says something else.
    pub(crate) fn are_trivial_for(&self, hostgroup: u32) -> bool {
        self.rules.is_empty() && !(self.split_on && self.pairs.reader(hostgroup).is_some())
    }
}

/// The rules of `config` that cannot be used, whether it runs or not.
pub fn check(config: &Config) -> Vec<RowProblem> {
    let rules = Rules::compile(&config.query_rules, &config.fast_routes, options(config));
    rules.err().iter().flatten().map(problem).collect()
}

/// A rule that cannot be used, as problems of rows are told.
pub fn problem(error: &RuleError) -> RowProblem {
    let RuleError { rule_id, column, message } = error;
    RowProblem {
        table: "mysql_query_rules".to_owned(),
        row: format!("rule_id={rule_id}"),
        message: format!("`{column}`: {message}"),
    }
}

/// What variables say about rules.
fn options(config: &Config) -> Options {
    let variables = &config.variables;
    Options {
        engine: if variables.query_processor_regex == 2 { Engine::Re2 } else { Engine::Pcre },
        iterations: variables.query_processor_iterations,
        ..Options::default()
    }
}
