//! What a server tells of its session behind a statement (session trackers).

use wire::packet::{SessionState, StateChange};

/// Variables that servers track if nothing else is set.
pub(super) const TRACKED: &str =
    "autocommit,character_set_client,character_set_connection,character_set_results,time_zone";

/// The source of a server's transactions.
pub(super) const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/// Changes since the last answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    variables: Vec<(String, String)>,
    schema: Option<String>,
    /// The number of a transaction that was committed.
    committed: Option<u64>,
}

impl Changes {
    pub(super) fn note_variable(&mut self, name: &str, value: &str) {
        let value = match (name, value) {
            ("autocommit", "1" | "ON") => "ON",
            ("autocommit", _) => "OFF",
            _ => value,
        };
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn note_schema(&mut self, schema: &str) {
        self.schema = Some(schema.to_owned());
    }

    pub(super) const fn note_committed(&mut self, number: u64) {
        self.committed = Some(number);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The bytes of the changes, where these `variables` are tracked, and GTIDs if it `has_gtids`;
    /// nothing if there are none.
    pub(super) fn encode(&self, variables: Option<&str>, has_gtids: bool) -> Option<Vec<u8>> {
        let tracked: Vec<&str> = variables.unwrap_or(TRACKED).split(',').map(str::trim).collect();
        let mut changes = Vec::new();
        for (name, value) in &self.variables {
            if tracked.contains(&name.as_str()) || tracked.contains(&"*") {
                let (name, value) = (name.as_bytes(), value.as_bytes());
                changes.push(StateChange::SystemVariable { name, value });
            }
        }
        let last = self.committed.map(|number| format!("0-1-{number}"));
        if let Some(last) = last.as_ref().filter(|_| tracked.contains(&"last_gtid")) {
            changes.push(StateChange::SystemVariable { name: b"last_gtid", value: last.as_bytes() });
        }
        if let Some(schema) = &self.schema {
            changes.push(StateChange::Schema(schema.as_bytes()));
        }
        let gtid = self.committed.map(|number| format!("{UUID}:{number}"));
        if let Some(gtid) = gtid.as_ref().filter(|_| has_gtids) {
            changes.push(StateChange::Gtids(gtid.as_bytes()));
        }
        (!changes.is_empty()).then(|| SessionState::encode(&changes))
    }
}
