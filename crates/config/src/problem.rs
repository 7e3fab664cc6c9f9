//! What is wrong with a configuration file, in the words that its author sees.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Most problems that are shown of one configuration.
const PROBLEMS_MAX: usize = 100;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the operator named it (or as an `@include` did).
    pub file: PathBuf,
    /// The line, counted from 1; 0 if the problem is with the file as a whole.
    pub line: usize,
    /// What is wrong and, where one is near, which name is valid.
    pub message: String,
}

impl Problem {
    /// A problem at `line` of `file`.
    pub(crate) fn new(file: &Path, line: usize, message: String) -> Self {
        Self { file: file.to_path_buf(), line, message }
    }
}

/// Problems that say the same of several lines of a file, as one: the first.
pub(crate) fn once_each(problems: Vec<Problem>) -> Vec<Problem> {
    let mut places: HashMap<(PathBuf, String), usize> = HashMap::new();
    let mut kept: Vec<(Problem, usize)> = Vec::new();
    for problem in problems {
        let at = *places.entry((problem.file.clone(), problem.message.clone())).or_insert(kept.len());
        match kept.get_mut(at) {
            Some((_, more)) => *more += 1,
            None => kept.push((problem, 0)),
        }
    }
    let shown = |(problem, more): (Problem, usize)| match more {
        0 => problem,
        more => {
            let message = format!("{} ({more} more like it)", problem.message);
            Problem { message, ..problem }
        }
    };
    kept.into_iter().map(shown).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}: {}", self.message),
        }
    }
}

/// Everything that is wrong with a configuration: at least one problem, one per line when
/// displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// A file with a single problem.
    pub(crate) fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    /// All of them in the order of the files and lines, if there is any. More than [`PROBLEMS_MAX`]
    /// are only counted.
    pub(crate) fn sorted(mut problems: Vec<Problem>) -> Option<Self> {
        let mut files: Vec<PathBuf> = Vec::new();
        for problem in &problems {
            if !files.contains(&problem.file) {
                files.push(problem.file.clone());
            }
        }
        problems.sort_by_key(|problem| (files.iter().position(|file| *file == problem.file), problem.line));
        if let Some(more) = problems.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
            problems.truncate(PROBLEMS_MAX);
            let file = problems.last()?.file.clone();
            problems.push(Problem { file, line: 0, message: format!("{more} more problems are not shown") });
        }
        if problems.is_empty() { None } else { Some(Self(problems)) }
    }

    /// The problems, in the order of the files and lines.
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
