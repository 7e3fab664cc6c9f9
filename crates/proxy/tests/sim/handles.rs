//! Prepared statements of a session at a server.

use std::collections::HashMap;

use wire::command::StmtExecute;
use wire::{Capabilities, Codec as _};

use super::execution::{LAST, literals};
use super::model::Answer;
use super::statement::{Statement, bind};

/// One prepared statement.
#[derive(Debug, Clone, Default)]
struct Prepared {
    text: String,
    /// Types of its parameters, as the last execution that had some told them.
    types: Option<Vec<u8>>,
    /// Rows that an open cursor has not given yet.
    cursor: Option<Vec<Vec<Option<String>>>>,
}

/// The prepared statements of a session, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Handles {
    all: HashMap<u32, Prepared>,
    last: u32,
}

/// Number of parameters of a text.
pub(super) fn params(text: &str) -> u16 {
    text.matches('?').count().try_into().unwrap_or(u16::MAX)
}

/// What an execution of a statement that is not there is answered.
pub(super) fn unknown() -> Answer {
    Answer::Error { code: 1243, message: "Unknown prepared statement handler".to_owned() }
}

impl Handles {
    /// Another statement, and its number.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        self.last += 1;
        self.all.insert(self.last, Prepared { text: text.to_owned(), ..Prepared::default() });
        self.last
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.all.remove(&id);
    }

    /// None of them; the numbers go on.
    pub(super) fn cleared(&self) -> Self {
        Self { all: HashMap::new(), last: self.last }
    }

    /// Number that an execution means, where [`LAST`] is the statement prepared last.
    pub(super) const fn meant(&self, id: u32) -> u32 {
        if id == LAST { self.last } else { id }
    }

    /// The statement that a `COM_STMT_EXECUTE` carries out, with the values of its parameters;
    /// closes its cursor.
    pub(super) fn execution(&mut self, payload: &[u8], caps: Capabilities) -> Result<Statement, Answer> {
        let execute = StmtExecute::decode(payload, caps).map_err(|_| unknown())?;
        let id = self.meant(execute.statement_id);
        let prepared = self.all.get_mut(&id).ok_or_else(unknown)?;
        prepared.cursor = None;
        let wrong = |what: String| Answer::Error { code: 1210, message: what };
        let params = execute
            .params(params(&prepared.text), caps)
            .map_err(|error| wrong(format!("Incorrect arguments to mysqld_stmt_execute: {error}")))?;
        if let Some(types) = params.types {
            prepared.types = Some(types.to_vec());
        }
        let values = literals(&params, prepared.types.as_deref())
            .ok_or_else(|| wrong("Incorrect arguments to mysqld_stmt_execute".to_owned()))?;
        bind(&prepared.text, &values).ok_or_else(|| wrong(format!("unknown to the model: {}", prepared.text)))
    }

    /// Keeps the rows of an execution for `COM_STMT_FETCH`.
    pub(super) fn open_cursor(&mut self, id: u32, rows: Vec<Vec<Option<String>>>) {
        if let Some(prepared) = self.all.get_mut(&id) {
            prepared.cursor = Some(rows);
        }
    }

    /// The next rows of a cursor, at most `count`, and whether these are the last ones; `None`
    /// without an open cursor.
    pub(super) fn fetch(&mut self, id: u32, count: usize) -> Option<(Vec<Vec<Option<String>>>, bool)> {
        let cursor = &mut self.all.get_mut(&id)?.cursor;
        let rows = cursor.as_mut()?;
        // A cursor sees its end when it is asked for more rows than there are.
        let is_over = rows.len() < count;
        let given = rows.drain(..count.min(rows.len())).collect();
        if is_over {
            *cursor = None;
        }
        Some((given, is_over))
    }

    /// `COM_STMT_RESET`; whether there is such a statement.
    pub(super) fn reset(&mut self, id: u32) -> bool {
        self.all.get_mut(&id).map(|prepared| prepared.cursor = None).is_some()
    }
}
