//! What is wrong with a file, in the words that its author sees.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::layout::{Draft, Invalid, Layout, Subject};

/// Most problems that are shown of one import.
const PROBLEMS_MAX: usize = 100;

/// Where something stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The line, counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// Path of the key: `rules[0].tables.t_order`. Empty for the file as a whole.
    pub key: String,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The line, counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// Path of the key: `rules[0].tables.t_order`. Empty for the file as a whole.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.key.is_empty() {
            write!(f, ": {}", self.message)
        } else {
            write!(f, ": `{}`: {}", self.key, self.message)
        }
    }
}

/// Everything that is wrong: at least one problem, one per line when displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub(super) Vec<Problem>);

impl Problems {
    /// The problems, in the order of the lines of each file.
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Sign that a problem was reported.
pub(super) struct Reported;

/// Problems of a file, as they are found.
pub(super) struct Report<'a> {
    file: &'a Path,
    found: Vec<Problem>,
    left_out: Vec<Problem>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a Path) -> Self {
        Self { file, found: Vec::new(), left_out: Vec::new() }
    }

    /// Notes that a key cannot be kept.
    pub(super) fn refuse(&mut self, line: usize, key: &str, message: impl Into<String>) {
        let problem = self.problem(line, key, message);
        // What several tables refer to is read for each of them.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// Notes that a key is not needed: once for all places of a file that have it.
    pub(super) fn leave_out(&mut self, line: usize, key: &str, message: impl Into<String>) {
        fn name(key: &str) -> &str {
            key.rsplit('.').next().unwrap_or_default()
        }
        let problem = self.problem(line, key, message);
        let is_same =
            |known: &Problem| known.message == problem.message && name(&known.key) == name(&problem.key);
        if !self.left_out.iter().any(is_same) {
            self.left_out.push(problem);
        }
    }

    /// Where a key stands.
    pub(super) fn place(&self, line: usize, key: &str) -> Place {
        Place { file: self.file.to_path_buf(), line, key: key.to_owned() }
    }

    fn problem(&self, line: usize, key: &str, message: impl Into<String>) -> Problem {
        Problem { file: self.file.to_path_buf(), line, key: key.to_owned(), message: message.into() }
    }

    /// Whether nothing was refused.
    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// What was left out, or everything that was refused.
    pub(super) fn finish(self) -> Result<Vec<Problem>, Problems> {
        let mut found = self.found;
        if found.is_empty() {
            return Ok(self.left_out);
        }
        found.sort_by_key(|problem| problem.line);
        if let Some(more) = found.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
            found.truncate(PROBLEMS_MAX);
            let message = format!("{more} more problems are not shown");
            found.push(Problem { file: self.file.to_path_buf(), line: 0, key: String::new(), message });
        }
        Err(Problems(found))
    }
}

/// Lines and paths of the parts of a draft, in their order.
#[derive(Default)]
pub(super) struct Places {
    pub(super) tables: Vec<(usize, String)>,
    pub(super) groups: Vec<(usize, String)>,
    pub(super) sequences: Vec<(usize, String)>,
}

/// The layout of a draft. What is wrong with a part without a place counts as wrong with `whole`.
pub(super) fn layout(
    draft: Draft,
    places: &Places,
    whole: (usize, &str),
    report: &mut Report<'_>,
) -> Option<Layout> {
    let names: Vec<_> = draft.tables.iter().map(|table| (table.schema.clone(), table.name.clone())).collect();
    let invalid = match Layout::new(draft) {
        Ok(layout) => return Some(layout),
        Err(invalid) => invalid,
    };
    for Invalid { subject, key, message } in invalid {
        let place = match &subject {
            // Of two tables with one name the second is the one too many.
            Subject::Table(schema, name) => {
                let at = names.iter().rposition(|known| (&known.0, &known.1) == (schema, name));
                at.and_then(|at| places.tables.get(at))
            }
            Subject::Group(at) => places.groups.get(*at),
            Subject::Sequence(at) => places.sequences.get(*at),
            Subject::Home(_) => None,
        };
        let (line, path) = place.map_or(whole, |(line, path)| (*line, path));
        report.refuse(line, path, format!("{key}: {message}"));
    }
    None
}
