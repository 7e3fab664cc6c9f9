//! What a rule has found.

use std::fmt;

/// A rule. Its name stands in the output and in `known.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// A comment line over 100 columns.
    Comment,
    /// A Markdown line over 100 columns.
    Page,
    /// A banned word in an identifier or a file name.
    Word,
    /// A pronoun in prose.
    Pronoun,
    /// A function over 70 lines.
    Function,
    /// A file over 500 lines.
    File,
    /// A dependency on a crate above.
    Layer,
    /// A crate without a README.
    Readme,
    /// An attribute without its reason.
    Reason,
    /// A value in a log line as Rust's `Debug` has it.
    Debug,
}

impl Rule {
    /// The rule's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Page => "page",
            Self::Word => "word",
            Self::Pronoun => "pronoun",
            Self::Function => "function",
            Self::File => "file",
            Self::Layer => "layer",
            Self::Readme => "readme",
            Self::Reason => "reason",
            Self::Debug => "debug",
        }
    }
}

/// One finding: the rule, the file, the line (0: the whole file), and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule.name(), self.text)
    }
}
