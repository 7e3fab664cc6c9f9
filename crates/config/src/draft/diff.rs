//! How the rows of a section differ between two drafts.

use std::collections::{HashMap, HashSet};

use super::Draft;
use crate::row::Row;
use crate::schema::{Scalar, Section, Shape};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The table; `global_variables` for a group of variables.
    pub table: &'static str,
    /// The row's key, or the variable's full name.
    pub row: String,
    /// What is different about it.
    pub what: Changed,
}

/// What is different about a row. Values that must not be printed are `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// A column has another value.
    Column {
        /// The column; `variable_value` for a variable.
        name: &'static str,
        /// Its value before.
        old: String,
        /// Its value now.
        new: String,
    },
}

impl Draft {
    /// How the rows of `section` became those of `new`: first what is gone or different in the
    /// order of the old rows, then what is new.
    pub fn changes(&self, new: &Self, section: &'static Section) -> Vec<Change> {
        if section.shape == Shape::Rows && section.unique.is_empty() {
            let (old, new) = (self.rows(section), new.rows(section));
            let gone = beyond(old, new).map(|row| change(section, row, Changed::Removed));
            return gone.chain(beyond(new, old).map(|row| change(section, row, Changed::Added))).collect();
        }
        let key = |row: &Row| -> Vec<Scalar> {
            let columns = section.unique.first().copied().unwrap_or_default();
            columns.iter().map(|column| row.scalar(column).clone()).collect()
        };
        let theirs: HashMap<_, _> = new.rows(section).iter().map(|row| (key(row), row)).collect();
        let mut known = HashSet::new();
        let mut changes = Vec::new();
        for old in self.rows(section) {
            let key = key(old);
            match theirs.get(&key) {
                Some(new) => columns(section, old, new, &mut changes),
                None => changes.push(change(section, old, Changed::Removed)),
            }
            known.insert(key);
        }
        let added = new.rows(section).iter().filter(|row| !known.contains(&key(row)));
        changes.extend(added.map(|row| change(section, row, Changed::Added)));
        changes
    }
}

/// The rows that `others` does not have, or not as often: where rows have no key, one that is
/// different is another one.
fn beyond<'a>(rows: &'a [Row], others: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    let mut there: HashMap<&[Scalar], usize> = HashMap::new();
    for row in others {
        *there.entry(row.cells()).or_default() += 1;
    }
    rows.iter().filter(move |row| {
        let left = there.get_mut(row.cells()).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_none()
    })
}

fn change(section: &'static Section, row: &Row, what: Changed) -> Change {
    Change { table: section.table_name(), row: row.key(), what }
}

/// Appends what is different in two rows of one key.
fn columns(section: &'static Section, old: &Row, new: &Row, changes: &mut Vec<Change>) {
    for ((field, before), after) in section.fields().zip(old.cells()).zip(new.cells()) {
        if before == after {
            continue;
        }
        let show = |value: &Scalar| if field.secret { "***".to_owned() } else { value.to_string() };
        let (name, table, row) = if section.shape == Shape::Group {
            let full = format!("{}{}", section.prefix.unwrap_or_default(), field.name);
            ("variable_value", "global_variables", full)
        } else {
            (field.name, section.table_name(), old.key())
        };
        let what = Changed::Column { name, old: show(before), new: show(after) };
        changes.push(Change { table, row, what });
    }
}
