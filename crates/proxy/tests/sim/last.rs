//! What the last statement of a session has left to be asked for.

use super::model::Answer;

/// An error or a warning.
#[derive(Debug, Clone)]
struct Condition {
    level: &'static str,
    code: u16,
    message: String,
}

/// Conditions and counts of the last statement.
#[derive(Debug, Clone, Default)]
pub(super) struct Last {
    conditions: Vec<Condition>,
    /// Warnings of the statement that runs.
    coming: Vec<Condition>,
    /// Warnings that the last answer has counted.
    pub(super) warnings: u16,
    /// `ROW_COUNT()`, `FOUND_ROWS()`.
    pub(super) row_count: i64,
    pub(super) found_rows: u64,
    is_statement: bool,
}

impl Last {
    /// Whether `SHOW WARNINGS` has something to show.
    pub(super) const fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Whether the last command was a statement without an error.
    pub(super) const fn has_counts(&self) -> bool {
        self.is_statement && self.conditions.is_empty()
    }

    /// The statement that runs has no warnings yet.
    pub(super) fn expect_warnings(&mut self) {
        self.coming.clear();
    }

    /// A string without digits was taken for a number.
    pub(super) fn warn(&mut self, text: &str) {
        let message = format!("Truncated incorrect INTEGER value: '{text}'");
        self.coming.push(Condition { level: "Warning", code: 1292, message });
    }

    /// The answer to a statement.
    pub(super) fn note(&mut self, answer: &Answer) {
        self.conditions = std::mem::take(&mut self.coming);
        self.count(answer);
        if let Answer::Error { code, message } = answer {
            self.conditions = vec![Condition { level: "Error", code: *code, message: message.clone() }];
        }
        self.warnings = self.conditions.len().try_into().unwrap_or(u16::MAX);
    }

    /// `SHOW WARNINGS` was answered, which leaves the conditions, and what `FOUND_ROWS()` gives.
    pub(super) const fn note_shown(&mut self) {
        self.is_statement = false;
        self.row_count = -1;
        self.warnings = 0;
    }

    fn count(&mut self, answer: &Answer) {
        self.is_statement = true;
        self.row_count = match answer {
            Answer::Ok { affected, .. } => (*affected).try_into().unwrap_or(i64::MAX),
            Answer::Rows { .. } | Answer::Error { .. } => -1,
        };
        if let Answer::Rows { rows, .. } = answer {
            self.found_rows = rows.len() as u64;
        }
    }

    /// A command without a statement has succeeded.
    pub(super) fn note_command(&mut self) {
        self.note_prepared();
        self.row_count = 0;
    }

    /// `COM_PING` was answered: it leaves the conditions. MariaDB's answer does not count them.
    pub(super) const fn note_ping(&mut self) {
        (self.row_count, self.warnings, self.is_statement) = (0, 0, false);
    }

    /// A statement was prepared.
    pub(super) fn note_prepared(&mut self) {
        self.conditions.clear();
        self.warnings = 0;
        self.is_statement = false;
    }

    /// The rows of `SHOW WARNINGS`.
    pub(super) fn show(&self) -> Answer {
        let columns = ["Level", "Code", "Message"].map(str::to_owned).to_vec();
        let row = |one: &Condition| {
            vec![Some(one.level.to_owned()), Some(one.code.to_string()), Some(one.message.clone())]
        };
        Answer::Rows { columns, rows: self.conditions.iter().map(row).collect() }
    }
}
