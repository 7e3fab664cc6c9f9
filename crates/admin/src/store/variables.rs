//! `global_variables`: defaults, SET, and values that run.

use config::Draft;
use config::schema::{ADMIN_VARIABLES, Scalar, Section};
use config::{RowReader, SqlCell};
use rusqlite::{Connection, params};

use super::Store;
use crate::VERSION;
use crate::answer::{AdminError, Answer};
use crate::tables::variable_groups;
use crate::who::Rights;

/// Writes the defaults of the variables that `schema` lacks.
pub(super) fn add_missing(connection: &Connection, schema: &str) -> rusqlite::Result<()> {
    let defaults = Draft::default();
    let mut insert =
        connection.prepare(&format!("INSERT OR IGNORE INTO {schema}.global_variables VALUES (?1, ?2)"))?;
    for (_, section) in variable_groups() {
        for (name, value) in values(&defaults, section) {
            insert.execute(params![name, value])?;
        }
    }
    say_version(connection, schema)
}

/// Makes `admin-version` of `schema` what it is: what was saved may be from before an upgrade.
pub(crate) fn say_version(connection: &Connection, schema: &str) -> rusqlite::Result<()> {
    let sql = format!(
        "UPDATE {schema}.global_variables SET variable_value = ?1 WHERE variable_name = 'admin-version'"
    );
    connection.execute(&sql, [VERSION]).map(drop)
}

/// The variables of a group, with full names, and their values as `global_variables` shows them.
pub(crate) fn values(draft: &Draft, section: &'static Section) -> Vec<(String, String)> {
    let prefix = section.prefix.unwrap_or_default();
    let row = draft.rows(section).first();
    let pairs = section.fields().zip(row.map(config::Row::cells).unwrap_or_default());
    pairs.map(|(field, value)| (format!("{prefix}{}", field.name), shown(value))).collect()
}

/// A value as text: switches are `true` and `false`.
pub(crate) fn shown(value: &Scalar) -> String {
    match value {
        Scalar::Null => String::new(),
        value => value.to_string(),
    }
}

/// Makes `admin-version` what it is.
pub(crate) fn set_version(draft: &mut Draft) {
    let mut reader = RowReader::new(&ADMIN_VARIABLES);
    for (name, value) in values(draft, &ADMIN_VARIABLES) {
        let name = name.trim_start_matches("admin-");
        let value = if name == "version" { VERSION } else { &value };
        reader.variable(name, SqlCell::Bytes(value.as_bytes()));
    }
    if let Ok(rows) = reader.finish() {
        draft.set_rows(&ADMIN_VARIABLES, rows);
    }
}

impl Store {
    /// Writes the defaults of the variables that memory lacks.
    pub(crate) fn add_missing_variables(&self) -> Result<(), AdminError> {
        Ok(add_missing(&self.admin, "main")?)
    }

    /// The value that the variable `name` (with its prefix) has at runtime.
    pub fn variable(&self, name: &str) -> Option<String> {
        let (prefix, section) = variable_groups().find(|(prefix, _)| name.starts_with(prefix))?;
        let (at, _) = section.find(name.strip_prefix(prefix)?)?;
        self.runtime.rows(section).first()?.cells().get(at).map(shown)
    }

    /// `SET name=value`: changes `main.global_variables`. A value that the variable cannot have is
    /// an error. An unknown name is an error if it has the prefix of a family of variables; other
    /// names are those that drivers set, and OK with ProxySQL's message.
    pub fn set_variable(&mut self, name: &str, value: &str, rights: Rights) -> Answer {
        if rights == Rights::Stats || self.read_only {
            return AdminError::new("attempt to write a readonly database").into();
        }
        if name.eq_ignore_ascii_case("mysql-init_connect") {
            let hint = "Global variable 'mysql-init_connect' is not configurable using SET command. \
                        You must run UPDATE global_variables";
            return AdminError::new(hint).into();
        }
        if let Some(error) = refusal(name, value) {
            return error.into();
        }
        let sql =
            "UPDATE main.global_variables SET variable_value = ?2 WHERE variable_name = ?1 COLLATE NOCASE";
        match self.admin.execute(sql, params![name, value]) {
            Ok(0) => unknown(name),
            Ok(affected) => Answer::Ok { affected: affected as u64, info: String::new() },
            Err(error) => AdminError::from(error).into(),
        }
    }
}

/// Why a variable cannot have this value; nothing if it can, or there is none of that name. How
/// values go together is judged when they are loaded.
fn refusal(name: &str, value: &str) -> Option<AdminError> {
    let lower = name.to_ascii_lowercase();
    let (prefix, section) = variable_groups().find(|(prefix, _)| lower.starts_with(prefix))?;
    let short = lower.strip_prefix(prefix)?;
    let field = section.fields().find(|field| field.name.eq_ignore_ascii_case(short))?;
    let mut reader = RowReader::new(section);
    reader.variable(field.name, SqlCell::Bytes(value.as_bytes()));
    let problems = reader.finish().err()?;
    Some(AdminError::new(problems.first()?.message.clone()))
}

/// The answer to a SET of a name that is none.
fn unknown(name: &str) -> Answer {
    let text = format!("ERROR: Unknown global variable: '{name}'.");
    let lower = name.to_ascii_lowercase();
    let Some((prefix, section)) = variable_groups().find(|(prefix, _)| lower.starts_with(prefix)) else {
        return Answer::Ok { affected: 0, info: text };
    };
    let mut reader = RowReader::new(section);
    reader.variable(lower.strip_prefix(prefix).unwrap_or_default(), SqlCell::Bytes(b""));
    let near = reader.finish().err().and_then(|problems| {
        let (_, near) = problems.first()?.message.split_once("; did you mean `")?;
        Some(format!("{text} Did you mean `{prefix}{near}"))
    });
    AdminError::new(near.unwrap_or(text)).into()
}
