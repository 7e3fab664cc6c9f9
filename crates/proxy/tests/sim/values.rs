//! Values of expressions in a session.

use super::model::{Answer, Session};

impl Session {
    /// A row of expressions without a table.
    pub(super) fn select(&mut self, columns: Vec<String>, expressions: &[String]) -> Answer {
        let mut row = Vec::new();
        self.last.expect_warnings();
        for expression in expressions {
            match self.value(expression) {
                Ok(value) => row.push(value),
                Err(answer) => return answer,
            }
        }
        Answer::Rows { columns, rows: vec![row] }
    }

    /// A variable that gets NULL is as one that was never set.
    pub(super) fn set_user_variable(&mut self, name: &str, value: String) {
        let value = match value.strip_prefix("CONCAT(").and_then(|rest| rest.split_once(", ")) {
            Some((of, rest)) => {
                let tail = rest.trim_end_matches(')').trim_matches('\'');
                self.user_variables.get(of).map(|value| format!("{value}{tail}"))
            }
            None => Some(value),
        };
        match value {
            Some(value) => drop(self.user_variables.insert(name.to_owned(), value)),
            None => drop(self.user_variables.remove(name)),
        }
    }

    fn value(&mut self, expression: &str) -> Result<Option<String>, Answer> {
        if let Some(name) = expression.strip_prefix("@@") {
            let name = name.trim_start_matches("session.").trim_start_matches("SESSION.");
            return Ok(Some(match name.trim_start_matches("GLOBAL.") {
                "init_connect <> ''" => "0".to_owned(),
                "max_allowed_packet" => "16777216".to_owned(),
                "max_statement_time" => "0.000000".to_owned(),
                "sql_mode" => String::new(),
                "last_insert_id" => self.last_id.to_string(),
                "autocommit" => u8::from(self.autocommit).to_string(),
                name => self.variables.get(name).cloned().unwrap_or_else(|| "DEFAULT".to_owned()),
            }));
        }
        match expression {
            "NULL" => Ok(None),
            "DATABASE()" => Ok(self.schema.clone()),
            "ROW_COUNT()" => Ok(Some(self.last.row_count.to_string())),
            "FOUND_ROWS()" => Ok(Some(self.last.found_rows.to_string())),
            "LAST_INSERT_ID()" => Ok(Some(self.last_id.to_string())),
            _ if expression.starts_with('@') => Ok(self.user_variables.get(expression).cloned()),
            _ if expression.parse::<i64>().is_ok() => Ok(Some(expression.to_owned())),
            _ if let Some((first, other)) = coalesced(expression) => match self.value(first)? {
                Some(value) => Ok(Some(value)),
                None => self.value(other),
            },
            _ if expression.starts_with("CAST('") => {
                let text = expression.split('\'').nth(1).unwrap_or_default();
                if text.parse::<u64>().is_ok() {
                    return Ok(Some(text.to_owned()));
                }
                self.last.warn(text);
                Ok(Some("0".to_owned()))
            }
            _ if expression.starts_with('\'') => Ok(Some(expression.trim_matches('\'').to_owned())),
            _ => Err(Answer::Error {
                code: 1054,
                message: format!("Unknown column '{expression}' in 'SELECT'"),
            }),
        }
    }
}

/// The two arguments of `COALESCE`.
fn coalesced(expression: &str) -> Option<(&str, &str)> {
    expression.strip_prefix("COALESCE(")?.strip_suffix(')')?.split_once(", ")
}

/// What a server says of the table `t` to a query cache.
pub(super) fn definition() -> Answer {
    let row = |cells: [&str; 3]| cells.map(|cell| Some(cell.to_owned())).to_vec();
    Answer::Rows {
        columns: ["table", "TABLE_TYPE", "ENGINE"].map(str::to_owned).to_vec(),
        rows: vec![row(["table", "BASE TABLE", "InnoDB"]), row(["may", "INSERT", ""])],
    }
}
