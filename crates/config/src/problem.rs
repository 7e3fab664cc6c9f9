//! What is wrong with a configuration file, in the words that its author sees.

use std::fmt;
use std::path::{Path, PathBuf};

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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}: {}", self.message),
        }
    }
}

/// Everything that is wrong with a configuration: at least one problem, one per line when displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// A file with a single problem.
    pub(crate) fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    /// The problems, in the order of the file.
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
