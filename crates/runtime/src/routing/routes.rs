//! What decides where statements go: the configuration's rules, pairs and switches, compiled once
//! for all workers.

use std::sync::Arc;

use config::{Config, RowProblem, same_in_turns};
use route::{CacheDefaults, Engine, Firewall, Injections, Options, Pairs, RuleError, Rules};

/// One configuration, as far as it decides where statements go.
#[derive(Debug)]
pub struct Routes {
    /// Query rules and fast routing.
    pub rules: Arc<Rules>,
    /// Writers and their readers.
    pub pairs: Arc<Pairs>,
    /// What users, hostgroups and variables say about caching.
    #[allow(dead_code, reason = "asked where answers are looked up")]
    pub cache: CacheDefaults,
    /// Whether plain reads go to readers where no rule decides.
    pub split_on: bool,
    /// How digests are made; nothing if they are switched off.
    pub digests: Option<sql::Options>,
    /// What users may send at all; nothing if the firewall is switched off.
    pub firewall: Option<Arc<Firewall>>,
    /// What looks for injected SQL; nothing if that is switched off.
    pub injections: Option<Injections>,
}

impl Routes {
    /// Compiles what `config` says. If rules and their options are those of `before`, its rules are
    /// used again. Fails with every rule that cannot be used.
    pub fn new(config: &Config, before: Option<(&Config, &Self)>) -> Result<Self, Vec<RuleError>> {
        let same = before.filter(|(before, _)| {
            before.query_rules.same(&config.query_rules)
                && same_in_turns(&before.fast_routes, &config.fast_routes)
                && options(before) == options(config)
        });
        let rules = match same {
            Some((_, before)) => Arc::clone(&before.rules),
            None => Arc::new(Rules::compile(&config.query_rules, &config.fast_routes, options(config))?),
        };
        Ok(Self {
            rules,
            pairs: Arc::new(Pairs::new(config.pairs())),
            cache: CacheDefaults::new(config),
            split_on: config.variables.read_write_split,
            digests: config.variables.query_digests.then(|| digests(config)),
            firewall: config.variables.firewall_whitelist_enabled.then(|| firewall(config, before)),
            injections: config
                .variables
                .automatic_detect_sqli
                .then(|| Injections::new(&config.sqli_fingerprints, config.pointsman.sqli_detect_only)),
        })
    }

    /// The digest of a statement, if none with other tables has the same; `clear` says whether the
    /// digest says all of it.
    pub fn sound(&self, digest: Option<u64>, clear: bool) -> Option<u64> {
        let keeps_names = |options: &sql::Options| !options.no_digits && !options.lowercase;
        digest.filter(|_| clear && self.digests.as_ref().is_some_and(keeps_names))
    }

    /// Whether every statement of a user with this hostgroup goes there, unless a hint says
    /// something else.
    pub fn are_trivial_for(&self, hostgroup: u32) -> bool {
        self.rules.is_empty()
            && !self.cache.has_defaults()
            && !(self.split_on && self.pairs.reader(hostgroup).is_some())
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

/// The firewall of `config`; that of `before` if it is the same.
fn firewall(config: &Config, before: Option<(&Config, &Routes)>) -> Arc<Firewall> {
    let message = &config.variables.firewall_whitelist_errormsg;
    let same = before.filter(|(before, _)| {
        before.variables.firewall_whitelist_errormsg == *message
            && same_in_turns(&before.firewall_users, &config.firewall_users)
            && same_in_turns(&before.firewall_rules, &config.firewall_rules)
    });
    same.and_then(|(_, before)| before.firewall.clone())
        .unwrap_or_else(|| Arc::new(Firewall::new(&config.firewall_users, &config.firewall_rules, message)))
}

/// What variables say about digests.
fn digests(config: &Config) -> sql::Options {
    let variables = &config.variables;
    // Not larger than the ranges of these variables, a megabyte.
    let bytes = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
    sql::Options {
        max_digest_length: bytes(variables.query_digests_max_digest_length),
        max_query_length: bytes(variables.query_digests_max_query_length),
        grouping_limit: bytes(variables.query_digests_grouping_limit),
        groups_grouping_limit: bytes(variables.query_digests_groups_grouping_limit),
        lowercase: variables.query_digests_lowercase,
        replace_null: variables.query_digests_replace_null,
        no_digits: variables.query_digests_no_digits,
        keep_comment: variables.query_digests_keep_comment,
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
