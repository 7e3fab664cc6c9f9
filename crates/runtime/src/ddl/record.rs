//! What is recorded of a definition.

use observe::rows::ShardDdl;
use planner::define::TableDefinition;
use serde_json::{Value, json};

use crate::gates::TableName;

/// A definition that several nodes get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// The user whose session has sent it.
    pub user: Vec<u8>,
    /// The collation that the client has named.
    pub collation: u16,
    /// Statements by which the session's settings are set.
    pub settings: Vec<Vec<u8>>,
    /// The client's statement.
    pub statement: Vec<u8>,
    /// The logical tables that it names; the first one is defined.
    pub tables: Vec<TableName>,
    /// What each node gets, in the order in which they get it.
    pub steps: Vec<Step>,
}

/// What a node gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The server.
    pub hostgroup: u32,
    /// Schema and name of the physical table.
    pub node: [String; 2],
    /// The schema that the session is in there; empty if it is in none.
    pub current: Vec<u8>,
    /// The statement.
    pub text: Vec<u8>,
    /// Fingerprint of the table before; none if there was none.
    pub before: Option<u64>,
    /// How far it has come.
    pub state: State,
    /// The server's error, if it has failed.
    pub error: String,
}

/// How far a node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    const ALL: [Self; 4] = [Self::Waiting, Self::Asked, Self::Done, Self::Failed];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asked => "asked",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
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
        String::from_utf8_lossy(&self.statement).into_owned()
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

    /// As one line.
    pub(super) fn to_json(&self) -> Value {
        let step = |step: &Step| {
            json!({
                "hostgroup": step.hostgroup, "node": step.node, "current": text(&step.current),
                "text": text(&step.text), "before": step.before, "state": step.state.word(),
                "error": step.error,
            })
        };
        json!({
            "id": self.id, "user": text(&self.user), "collation": self.collation,
            "settings": self.settings.iter().map(|one| text(one)).collect::<Vec<_>>(),
            "statement": text(&self.statement), "tables": self.tables,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }

    /// What a line says; none if it is none of these.
    pub(super) fn of_json(value: &Value) -> Option<Self> {
        let list = |key: &str| value.get(key)?.as_array();
        Some(Self {
            id: value.get("id")?.as_u64()?,
            user: bytes(value.get("user")?)?,
            collation: number(value, "collation")?,
            settings: list("settings")?.iter().map(bytes).collect::<Option<_>>()?,
            statement: bytes(value.get("statement")?)?,
            tables: list("tables")?.iter().map(|pair| names(pair).map(Into::into)).collect::<Option<_>>()?,
            steps: list("steps")?.iter().map(step).collect::<Option<_>>()?,
        })
    }
}

fn step(value: &Value) -> Option<Step> {
    Some(Step {
        hostgroup: number(value, "hostgroup")?,
        node: names(value.get("node")?)?,
        current: bytes(value.get("current")?)?,
        text: bytes(value.get("text")?)?,
        before: value.get("before")?.as_u64(),
        state: State::of(value.get("state")?.as_str()?)?,
        error: value.get("error")?.as_str()?.to_owned(),
    })
}

fn number<T: TryFrom<u64>>(value: &Value, key: &str) -> Option<T> {
    value.get(key)?.as_u64()?.try_into().ok()
}

fn names(value: &Value) -> Option<[String; 2]> {
    match value.as_array()?.as_slice() {
        [schema, name] => Some([schema.as_str()?.to_owned(), name.as_str()?.to_owned()]),
        _ => None,
    }
}

/// A text, or the bytes of what is none in UTF-8.
fn text(bytes: &[u8]) -> Value {
    std::str::from_utf8(bytes).map_or_else(|_| json!(bytes), |text| json!(text))
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(all) => all.iter().map(|byte| byte.as_u64()?.try_into().ok()).collect(),
        _ => None,
    }
}
