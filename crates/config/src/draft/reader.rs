//! From the cells of a table to rows.

use std::fmt;

use crate::nearest::suggestion;
use crate::row::Row;
use crate::schema::{Field, Preset, Scalar, Section, Shape};
use crate::tree::Value;

/// Most problems of one table that are told; so many rows are wrong only if all are.
const PROBLEMS_MAX: usize = 100;

/// A value of SQLite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SqlCell<'a> {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// A text or a blob.
    Bytes(&'a [u8]),
}

/// What is wrong with a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowProblem {
    /// The table; empty if it is about several.
    pub table: String,
    /// The row's key, `hostgroup_id=1, hostname='a', port=3306`; empty if no row is meant.
    pub row: String,
    /// What is wrong. It names the column.
    pub message: String,
}

/// ``mysql_servers row hostgroup_id=1, hostname='a', port=3306: `weight` must be ...``
impl fmt::Display for RowProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.table.as_str(), self.row.as_str()) {
            ("", _) => {}
            (table, "") => write!(f, "{table}: ")?,
            (table, row) => write!(f, "{table} row {row}: ")?,
        }
        f.write_str(&self.message)
    }
}

/// Judges the rows of one table, one by one.
#[derive(Debug)]
pub struct RowReader {
    section: &'static Section,
    fields: Vec<&'static Field>,
    rows: Vec<Row>,
    problems: Vec<RowProblem>,
}

impl RowReader {
    /// A reader for the rows of a table, or the variables of a group. What the latter are not given
    /// has its default.
    pub fn new(section: &'static Section) -> Self {
        let rows = if section.shape == Shape::Group { vec![Row::presets(section)] } else { Vec::new() };
        Self { section, fields: section.fields().collect(), rows, problems: Vec::new() }
    }

    /// Takes a row, whose cells are those of the section's columns in their order.
    pub fn row(&mut self, cells: &[SqlCell<'_>]) {
        let mut values = Vec::with_capacity(self.fields.len());
        for (field, cell) in self.fields.iter().zip(cells) {
            match accept(field, *cell) {
                Ok(value) => values.push(value),
                Err(message) if self.problems.len() < PROBLEMS_MAX => self.problems.push(RowProblem {
                    table: self.section.table_name().to_owned(),
                    row: self.key(cells),
                    message: format!("`{}` {message}", field.name),
                }),
                Err(_) => {}
            }
        }
        if values.len() == self.fields.len() {
            self.rows.push(Row::of(self.section, values));
        }
    }

    /// Takes a variable; `name` is without its prefix.
    pub fn variable(&mut self, name: &str, value: SqlCell<'_>) {
        let prefix = self.section.prefix.unwrap_or_default();
        let problem =
            |message| RowProblem { table: "global_variables".to_owned(), row: String::new(), message };
        let Some((position, field)) = self.section.find(name) else {
            if !self.section.removed.contains(&name) {
                let near = suggestion(name, self.fields.iter().map(|field| field.name));
                let shown = name.escape_debug();
                self.problems.push(problem(format!("there is no variable `{prefix}{shown}`{near}")));
            }
            return;
        };
        match accept(field, value) {
            Ok(value) => self.rows.iter_mut().for_each(|row| row.set(position, value.clone())),
            Err(message) => self.problems.push(problem(format!("`{prefix}{name}` {message}"))),
        }
    }

    /// The rows, or everything that is wrong with them.
    pub fn finish(self) -> Result<Vec<Row>, Vec<RowProblem>> {
        if self.problems.is_empty() { Ok(self.rows) } else { Err(self.problems) }
    }

    /// The key of a row that may be wrong.
    fn key(&self, cells: &[SqlCell<'_>]) -> String {
        let columns = self.section.unique.first().copied().unwrap_or_default();
        let shown = columns.iter().filter_map(|column| {
            let (at, _) = self.section.find(column)?;
            Some(format!("{column}={}", literal(*cells.get(at)?)))
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// The value that a cell stands for, or what it must be instead, as the rest of a sentence.
fn accept(field: &Field, cell: SqlCell<'_>) -> Result<Scalar, String> {
    let value = match cell {
        SqlCell::Null => match (field.is_nullable(), field.preset) {
            (false, _) => return Err("must not be NULL".to_owned()),
            // One value for nothing: the files have no word for NULL where it is not the default.
            (true, Preset::Text(_)) => return Ok(Scalar::Text(String::new())),
            (true, _) => return Ok(Scalar::Null),
        },
        SqlCell::Int(value) => Value::Int(value),
        SqlCell::Real(value) => Value::Float(value),
        SqlCell::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => return Err("must be UTF-8 text".to_owned()),
        },
    };
    field.kind.accept(&value, field.secret)
}

/// Longest text of a key that a message repeats, in characters.
const SHOWN_CHARS: usize = 60;

fn literal(cell: SqlCell<'_>) -> String {
    match cell {
        SqlCell::Null => "NULL".to_owned(),
        SqlCell::Int(value) => value.to_string(),
        SqlCell::Real(value) => value.to_string(),
        SqlCell::Bytes(bytes) => Scalar::Text(String::from_utf8_lossy(bytes).into_owned()).literal(),
    }
}

impl Scalar {
    /// The value as messages show it: texts in quotes, and cut if they are long.
    pub fn literal(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Bool(value) => i32::from(*value).to_string(),
            Self::Int(value) => value.to_string(),
            Self::Text(text) => {
                let more = if text.chars().count() > SHOWN_CHARS { "..." } else { "" };
                let shown: String = text.chars().take(SHOWN_CHARS).collect();
                format!("'{}'{more}", shown.replace('\'', "''"))
            }
        }
    }
}
