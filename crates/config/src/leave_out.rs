//! Rules of another program's file that only those who compile them can judge.

use std::collections::HashMap;
use std::path::Path;

use crate::schema::MYSQL_QUERY_RULES;
use crate::{Loaded, RowProblem};

/// What becomes of a rule that cannot be used.
const SKIPPED: &str = "the rule is skipped";

/// The same where ProxySQL takes an expression that does not compile as one that does not match.
const NEGATED: &str =
    "the rule is skipped, while in ProxySQL its `negate_match_pattern` lets it match every statement";

impl Loaded {
    /// Leaves the rules out that `problems` name, with a warning for each. `origin` is the file.
    pub fn leave_out_rules(&mut self, problems: &[RowProblem], origin: &Path) {
        let broken: HashMap<&str, &RowProblem> =
            problems.iter().map(|problem| (problem.row.as_str(), problem)).collect();
        let mut kept = Vec::new();
        let mut left_out = Vec::new();
        self.draft.retain_rows(&MYSQL_QUERY_RULES, |row| {
            let problem = broken.get(row.key().as_str());
            if let Some(problem) = problem {
                let becomes = if row.get("negate_match_pattern") { NEGATED } else { SKIPPED };
                left_out.push(format!("{}: {problem}; {becomes}", origin.display()));
            }
            kept.push(problem.is_none());
            problem.is_none()
        });
        let mut kept = kept.into_iter();
        self.config.query_rules.retain(|_| kept.next().unwrap_or(true));
        self.warnings.extend(left_out.iter().cloned());
        self.left_out.extend(left_out);
    }
}
