//! What was found wrong with sharded tables, for the whole process: a finding is logged when it is
//! new, not as often as a worker comes upon it.

use std::collections::HashMap;
use std::sync::Mutex;

use net::lock;
use planner::define::Finding;

/// Findings by logical schema and table; tables without any are not there.
#[derive(Debug, Default)]
pub struct Findings(Mutex<HashMap<[String; 2], Vec<Finding>>>);

impl Findings {
    /// These are the findings of a table now. Whether they are others than before.
    pub fn note(&self, schema: &str, table: &str, found: &[Finding]) -> bool {
        let mut all = lock(&self.0);
        let key = [schema.to_owned(), table.to_owned()];
        let before = all.get(&key).map_or(&[][..], Vec::as_slice);
        if before == found {
            return false;
        }
        if found.is_empty() {
            all.remove(&key);
        } else {
            all.insert(key, found.to_vec());
        }
        true
    }

    /// The same, and the log tells what has changed.
    pub fn log(&self, schema: &str, table: &str, found: &[Finding]) {
        if !self.note(schema, table, found) {
            return;
        }
        for finding in found {
            tracing::warn!(%finding, "a sharded table is not as it should be");
        }
        if found.is_empty() {
            tracing::info!(schema, table, "a sharded table is as it should be again");
        }
    }
}

#[cfg(test)]
mod tests {
    use planner::define::Problem;
    use shard::Node;

    use super::*;

    #[test]
    fn only_what_has_changed_is_news() {
        let node = |hostgroup| Node { hostgroup, schema: "s".to_owned(), table: "t".to_owned() };
        let missing = |hostgroup| Finding {
            table: ["s".to_owned(), "t".to_owned()],
            node: node(hostgroup),
            column: None,
            problem: Problem::NoTable,
        };
        let findings = Findings::default();
        assert!(!findings.note("s", "t", &[]));
        assert!(findings.note("s", "t", &[missing(1)]));
        assert!(!findings.note("s", "t", &[missing(1)]));
        assert!(findings.note("s", "t", &[missing(1), missing(2)]));
        assert!(findings.note("s", "t", &[]));
        assert!(findings.0.lock().unwrap().is_empty());
    }
}
