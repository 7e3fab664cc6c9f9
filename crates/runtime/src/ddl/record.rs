//! What is recorded of a definition.

use observe::rows::ShardDdl;
use planner::define::TableDefinition;
use serde::{Deserialize, Serialize};

use crate::gates::TableName;

/// A definition that several nodes get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// The user whose session has sent it.
    pub user: Bytes,
    /// The collation that the client has named.
    pub collation: u16,
    /// Statements by which the session's settings are set.
    pub settings: Vec<Bytes>,
    /// The client's statement.
    pub statement: Bytes,
    /// The logical tables that it names; the first one is defined.
    pub tables: Vec<TableName>,
    /// What each node gets, in the order in which they get it.
    pub steps: Vec<Step>,
}

/// What a node gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The server.
    pub hostgroup: u32,
    /// Schema and name of the physical table.
    pub node: [String; 2],
    /// The schema that the session is in there; empty if it is in none.
    pub current: Bytes,
    /// The statement.
    pub text: Bytes,
    /// Fingerprint of the table before; none if there was none.
    pub before: Option<u64>,
    /// How far it has come.
    pub state: State,
    /// The server's error, if it has failed.
    pub error: String,
}

/// Bytes that are recorded as a text, or as numbers if they are none in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    /// Those of a text.
    Text(String),
    /// Any others.
    Other(Vec<u8>),
}

/// How far a node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was not asked.
    Waiting,
    /// It was asked. Whether it has answered is not known.
    Asked,
    /// It has executed the statement.
    Done,
    /// It has refused the statement.
    Failed,
}

impl State {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asked => "asked",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|bytes| Self::Other(bytes.into_bytes()), Self::Text)
    }
}

impl Bytes {
    /// The bytes.
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Other(bytes) => bytes,
        }
    }
}

/// A number by which a change of a physical table is noticed; none if there is no table.
pub fn fingerprint(definition: Option<&TableDefinition>) -> Option<u64> {
    definition.map(|table| table.fingerprint(|to| to.join(".")))
}

impl Step {
    /// Whether the node has executed the statement, by the fingerprint of its table now. A
    /// statement that changes no fingerprint may be executed twice.
    pub(super) fn is_done(&self, seen: Option<u64>) -> bool {
        self.state == State::Done || seen != self.before
    }
}

impl Record {
    /// A node has come so far.
    pub(super) fn note(&mut self, step: usize, state: State, error: &str) {
        if let Some(step) = self.steps.get_mut(step) {
            step.state = state;
            error.clone_into(&mut step.error);
        }
    }

    /// The statement for people.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(self.statement.as_slice()).into_owned()
    }

    /// A row for each node.
    pub(super) fn rows(&self, is_running: bool) -> impl Iterator<Item = ShardDdl> {
        let tables: Vec<String> =
            self.tables.iter().map(|(schema, table)| format!("{schema}.{table}")).collect();
        self.steps.iter().map(move |step| ShardDdl {
            id: self.id,
            statement: self.shown(),
            tables: tables.join(", "),
            hostgroup: step.hostgroup,
            node: step.node.join("."),
            state: step.state.word(),
            error: step.error.clone(),
            is_running,
        })
    }
}
