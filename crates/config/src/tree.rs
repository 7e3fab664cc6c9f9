//! What both file formats are read into: keys and values, and where they stand.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as messages name it.
    pub(crate) file: Rc<Path>,
    /// The line, counted from 1; 0 stands for the file as a whole. In a table the number of the
    /// row.
    pub(crate) line: usize,
    /// Whether `file` is the name of a table.
    pub(crate) table: bool,
}

impl Place {
    /// `line` of `file`.
    pub(crate) fn new(file: &Rc<Path>, line: usize) -> Self {
        Self { file: Rc::clone(file), line, table: false }
    }

    /// Row `number`, counted from 1, of a table.
    pub(crate) fn row(table: &Rc<Path>, number: usize) -> Self {
        Self { file: Rc::clone(table), line: number, table: true }
    }

    /// Where it is within its file or table, in the words of a message.
    pub(crate) fn within(&self) -> String {
        format!("{} {}", if self.table { "row" } else { "line" }, self.line)
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Where the key stands.
    pub(crate) at: Place,
    /// The value.
    pub(crate) node: Node,
}

/// A value, and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// Where it starts.
    pub(crate) at: Place,
}

/// A value of either format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// What only TOML has, as it was written: a date or a time.
    Date(String),
    /// A TOML array, a libconfig array or list.
    List(Vec<Node>),
    /// A TOML table, a libconfig group; in the order of the file.
    Group(Vec<Entry>),
}

/// Longest text that a message repeats, in characters.
const SHOWN_CHARS: usize = 60;

/// As messages name what they did not expect.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Date(value) => write!(f, "{value}"),
            Self::List(_) => f.write_str("a list"),
            Self::Group(_) => f.write_str("a group"),
            Self::Text(text) => {
                let more = if text.chars().count() > SHOWN_CHARS { "..." } else { "" };
                let shown: String = text.chars().take(SHOWN_CHARS).collect();
                write!(f, "\"{}\"{more}", shown.escape_debug())
            }
        }
    }
}
