//! What an operator intends: the rows of all sections, each judged by itself, wherever they come
//! from.

mod diff;
mod reader;
mod write;

use std::sync::Arc;

use crate::bind;
use crate::model::Config;
use crate::problem::Problem;
use crate::row::{PlacedRow, Row};
use crate::schema::{SECTIONS, Section, Shape, TOP_LEVEL};
use crate::turns::in_turns;

pub use diff::{Change, Changed};
pub use reader::{RowProblem, RowReader, SqlCell};

/// The rows of every section: those of tables, and one for each group of variables. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Draft {
    /// In the order of [`SECTIONS`], then [`TOP_LEVEL`].
    sections: Vec<Part>,
}

/// The rows of one section.
#[derive(Debug, Clone)]
struct Part {
    rows: Arc<Vec<Row>>,
    /// What a file gave: nothing if the section is not in it (or does not come from one);
    /// otherwise, of a group, whether each variable is.
    given: Option<Arc<[bool]>>,
}

/// Rows that go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What they mean.
    pub config: Config,
    /// What is accepted but deserves attention, one line each.
    pub warnings: Vec<String>,
}

/// No rows in tables, defaults in groups.
impl Default for Draft {
    fn default() -> Self {
        let part = |section: &'static Section| {
            let rows = match section.shape {
                Shape::Group => vec![Row::presets(section)],
                Shape::Rows | Shape::Open => Vec::new(),
            };
            Part { rows: Arc::new(rows), given: None }
        };
        Self { sections: SECTIONS.iter().copied().chain([&TOP_LEVEL]).map(part).collect() }
    }
}

/// The same rows in the same order.
impl PartialEq for Draft {
    fn eq(&self, other: &Self) -> bool {
        self.sections.iter().map(|part| &part.rows).eq(other.sections.iter().map(|part| &part.rows))
    }
}

impl Eq for Draft {}

impl Draft {
    /// The rows of `section`; exactly one if it is a group of variables.
    pub fn rows(&self, section: &Section) -> &[Row] {
        self.sections.get(section.index()).map_or(&[], |part| &part.rows)
    }

    /// Replaces the rows of `section`.
    pub fn set_rows(&mut self, section: &Section, rows: Vec<Row>) {
        if let Some(part) = self.sections.get_mut(section.index()) {
            *part = Part { rows: Arc::new(rows), given: None };
        }
    }

    /// Keeps the rows of `section` that `keep` wants.
    pub(crate) fn retain_rows(&mut self, section: &Section, keep: impl FnMut(&Row) -> bool) {
        if let Some(part) = self.sections.get_mut(section.index()) {
            Arc::make_mut(&mut part.rows).retain(keep);
        }
    }

    /// Takes the rows of `section` from `other`.
    pub fn take_rows(&mut self, section: &Section, other: &Self) {
        let at = section.index();
        if let (Some(part), Some(theirs)) = (self.sections.get_mut(at), other.sections.get(at)) {
            *part = theirs.clone();
        }
    }

    /// Frees what no other draft has of it, in turns with other threads: there may be many rows.
    pub fn free(self) {
        let rows = self.sections.into_iter().filter_map(|part| Arc::into_inner(part.rows));
        rows.for_each(|rows| in_turns(rows).for_each(drop));
    }

    /// Whether the file that this comes from has `section`.
    pub fn has(&self, section: &Section) -> bool {
        self.sections.get(section.index()).is_some_and(|part| part.given.is_some())
    }

    /// Whether the file that this comes from gives the variable at `position` of the group
    /// `section`.
    pub fn gives(&self, section: &Section, position: usize) -> bool {
        let part = self.sections.get(section.index());
        part.and_then(|part| part.given.as_ref())
            .and_then(|given| given.get(position))
            .is_some_and(|given| *given)
    }

    /// What the rows mean together, or everything that is wrong with them.
    pub fn check(&self) -> Result<Checked, Vec<RowProblem>> {
        self.checked(None)
    }

    /// The same if it was made from `sound`, in which [`check`](Self::check) has found nothing
    /// wrong: what both have in common is only looked at where other rows matter to it, means what
    /// it does in `meaning`, that of `sound`, and its members that mean nothing are not warned of
    /// once more.
    pub fn check_from(&self, sound: &Self, meaning: &Config) -> Result<Checked, Vec<RowProblem>> {
        self.checked(Some((sound, meaning)))
    }

    fn checked(&self, sound: Option<(&Self, &Config)>) -> Result<Checked, Vec<RowProblem>> {
        bind::check(self, sound)
            .map_err(|problems| problems.iter().map(|problem| self.row_problem(problem)).collect())
    }

    /// Whether both have the very same rows in `section`: one has them from the other.
    pub(crate) fn shares(&self, section: &Section, other: &Self) -> bool {
        let at = section.index();
        let both = self.sections.get(at).zip(other.sections.get(at));
        both.is_some_and(|(one, other)| Arc::ptr_eq(&one.rows, &other.rows))
    }

    /// `problem`, whose file is a section and whose line is a row, in the terms of tables.
    fn row_problem(&self, problem: &Problem) -> RowProblem {
        let name = problem.file.to_string_lossy();
        let Some(section) = SECTIONS.iter().find(|section| section.name == name) else {
            return RowProblem { table: String::new(), row: String::new(), message: problem.message.clone() };
        };
        let row = problem.line.checked_sub(1).and_then(|index| self.rows(section).get(index));
        let names = format!("`{}.", section.name);
        match section.prefix {
            Some(prefix) => RowProblem {
                table: "global_variables".to_owned(),
                row: String::new(),
                message: problem.message.replace(&names, &format!("`{prefix}")),
            },
            None => RowProblem {
                table: section.table_name().to_owned(),
                row: row.map(Row::key).unwrap_or_default(),
                message: problem.message.replace(&names, "`"),
            },
        }
    }

    /// Takes rows that a file holds.
    pub(crate) fn put_from_file(&mut self, section: &Section, rows: Vec<PlacedRow>) {
        let given = match (section.shape, rows.first()) {
            (Shape::Group, Some(PlacedRow { given: Some(given), .. })) => {
                given.iter().map(Option::is_some).collect()
            }
            _ => Vec::new(),
        };
        if let Some(part) = self.sections.get_mut(section.index()) {
            let rows = Arc::new(rows.into_iter().map(|row| row.row).collect());
            *part = Part { rows, given: Some(given.into()) };
        }
    }
}

impl Row {
    /// The columns of the primary key and their values, as messages name a row:
    /// `hostgroup_id=1, hostname='a'`. Without a key it is the first column.
    pub fn key(&self) -> String {
        let key = self.section().unique.first().copied().unwrap_or_default();
        let first = self.section().fields().next().filter(|_| key.is_empty()).map(|field| field.name);
        let columns = key.iter().copied().chain(first);
        let pairs: Vec<String> =
            columns.map(|column| format!("{column}={}", self.scalar(column).literal())).collect();
        pairs.join(", ")
    }
}

#[cfg(test)]
mod tests;
