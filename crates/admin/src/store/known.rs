//! What only the owner of the configuration knows of statistics, for threads that tell them.

use std::collections::HashMap;
use std::sync::Arc;

use config::Config;

use super::Store;

/// Rows of statistics that tell memory of which the data plane knows nothing.
pub(super) const MEMORY: [&str; 5] = [
    "SQLite3_memory_bytes",
    "Auth_memory",
    "mysql_query_rules_memory",
    "mysql_firewall_users_table",
    "mysql_firewall_rules_table",
];

/// As of the last change of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Known {
    memory: HashMap<&'static str, u64>,
    variables: HashMap<&'static str, String>,
    /// What the proxy runs with.
    pub(crate) config: Arc<Config>,
    /// The newest version of each module that has one.
    pub(crate) versions: Vec<(String, i64)>,
    /// The checksum of each module that was loaded.
    pub(crate) checksums: Vec<(&'static str, u64)>,
}

impl Known {
    /// The value of a row of statistics about memory.
    pub(crate) fn memory(&self, name: &str) -> Option<u64> {
        self.memory.get(name).copied()
    }

    /// The value of one of the variables that it was made with.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl Store {
    /// What is known now, with the values of `variables`.
    pub(crate) fn known(&self, variables: impl Iterator<Item = &'static str>) -> Known {
        Known {
            memory: MEMORY.iter().filter_map(|name| Some((*name, self.known_memory(name)?))).collect(),
            variables: variables.filter_map(|name| Some((name, self.variable(name)?))).collect(),
            config: Arc::clone(self.config()),
            versions: self.newest_versions(),
            checksums: self.checksums.numbers().collect(),
        }
    }
}
