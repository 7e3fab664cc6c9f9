//! A physical table as its server describes it.

use sql::spooky;

use super::collation::Collation;
use super::parts;

/// What a server says of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// `BASE TABLE`, `SYSTEM VERSIONED`, `VIEW`.
    pub kind: String,
    /// Storage engine; views have none.
    pub engine: Option<String>,
    /// `VERSION()` of the server.
    pub version: String,
    /// `max_sort_length` of the session: bytes of a value that the server sorts by.
    pub sort_bytes_max: u32,
    /// Columns in their order, those that are invisible too.
    pub columns: Vec<ColumnDefinition>,
    /// Indexes by name.
    pub indexes: Vec<Index>,
    /// Foreign keys by name.
    pub foreign_keys: Vec<ForeignKey>,
    /// Triggers by name, as far as the user sees them.
    pub triggers: Vec<Trigger>,
}

/// What a server says of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Name.
    pub name: String,
    /// Name of the type: `bigint`.
    pub data_type: String,
    /// The type with all that belongs to it: `bigint(20) unsigned`.
    pub full_type: String,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// What a row has that is inserted without it.
    pub default: DefaultValue,
    /// `auto_increment`, `STORED GENERATED`, `INVISIBLE` and others, with spaces between them.
    pub extra: String,
    /// Expression of a generated column.
    pub expression: Option<String>,
    /// Collation and character set of a text.
    pub collation: Option<Collation>,
    /// Characters of a text, bytes of a binary string.
    pub length: Option<u64>,
    /// Bytes of a text or of a binary string.
    pub octets: Option<u64>,
}

/// Default of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultValue {
    /// There is none: a row must say the value.
    Missing,
    /// NULL.
    Null,
    /// A constant as text, without quotes and escapes.
    Constant(String),
    /// An expression of SQL.
    Expression(String),
}

/// Index of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Name: `PRIMARY` for the primary key.
    pub name: String,
    /// Whether no two rows are equal in it.
    pub is_unique: bool,
    /// Its columns.
    pub parts: Vec<IndexPart>,
}

/// Column of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPart {
    /// Name of the column; an expression has none.
    pub column: Option<String>,
    /// Characters or bytes of a prefix; the whole value if there is none.
    pub prefix: Option<u32>,
}

/// Foreign key of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: String,
    /// Columns here.
    pub columns: Vec<String>,
    /// Physical schema and table that they refer to.
    pub table: [String; 2],
    /// Columns there.
    pub referenced: Vec<String>,
    /// `CASCADE`, `RESTRICT` and others.
    pub on_update: String,
    /// The same for DELETE.
    pub on_delete: String,
}

/// Trigger of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// Name.
    pub name: String,
    /// The first function of its body whose value is one server's own.
    pub own_value: Option<String>,
}

impl TableDefinition {
    /// The column with this name. Names of columns have no case.
    pub fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The `AUTO_INCREMENT` column.
    pub fn auto_increment(&self) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.is_auto_increment())
    }

    /// Whether rows can be written to it.
    pub fn is_table(&self) -> bool {
        matches!(self.kind.as_str(), "BASE TABLE" | "SYSTEM VERSIONED")
    }

    /// Whether the server is a MariaDB server.
    pub(super) fn is_of_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// Number that is the same for tables with the same columns, indexes and foreign keys.
    /// `logical` gives the name for a physical schema and table that a foreign key refers to.
    pub fn fingerprint(&self, logical: impl Fn(&[String; 2]) -> String) -> u64 {
        spooky::hash64(parts::parts(self, logical).join("\n").as_bytes())
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let of_column = |column: &ColumnDefinition| {
            let texts = [&column.name, &column.data_type, &column.full_type, &column.extra];
            let default = match &column.default {
                DefaultValue::Constant(text) | DefaultValue::Expression(text) => text.len(),
                DefaultValue::Missing | DefaultValue::Null => 0,
            };
            let expression = column.expression.as_ref().map_or(0, String::len);
            let collation = column.collation.as_ref().map_or(0, |collation| 2 * collation.name.len());
            let texts: usize = texts.iter().map(|text| text.len()).sum();
            size_of::<ColumnDefinition>() + texts + default + expression + collation
        };
        let of_index = |index: &Index| {
            let parts: usize =
                index.parts.iter().map(|part| part.column.as_ref().map_or(0, String::len)).sum();
            size_of::<Index>() + index.name.len() + parts + size_of::<IndexPart>() * index.parts.len()
        };
        let of_key = |key: &ForeignKey| {
            let names = key.columns.iter().chain(&key.referenced).chain(&key.table);
            size_of::<ForeignKey>() + names.map(|name| size_of::<String>() + name.len()).sum::<usize>()
        };
        let of_trigger = |trigger: &Trigger| {
            size_of::<Trigger>() + trigger.name.len() + trigger.own_value.as_ref().map_or(0, String::len)
        };
        size_of::<Self>()
            + self.columns.iter().map(of_column).sum::<usize>()
            + self.indexes.iter().map(of_index).sum::<usize>()
            + self.foreign_keys.iter().map(of_key).sum::<usize>()
            + self.triggers.iter().map(of_trigger).sum::<usize>()
    }
}

impl ColumnDefinition {
    /// Whether the server makes its values where a row has none.
    pub fn is_auto_increment(&self) -> bool {
        self.has("auto_increment")
    }

    /// Whether the server computes its values.
    pub fn is_generated(&self) -> bool {
        self.has("VIRTUAL") || self.has("STORED") || self.has("PERSISTENT")
    }

    /// Whether `*`, and an INSERT without a list of columns, leave it out.
    pub fn is_invisible(&self) -> bool {
        self.has("INVISIBLE")
    }

    /// Whether it has no values below 0.
    pub fn is_unsigned(&self) -> bool {
        self.full_type.split_ascii_whitespace().any(|word| word == "unsigned")
    }

    /// The numbers in parentheses behind the type.
    pub(super) fn arguments(&self) -> Option<&str> {
        let (_, behind) = self.full_type.split_once('(')?;
        behind.split_once(')').map(|(arguments, _)| arguments)
    }

    fn has(&self, word: &str) -> bool {
        let words = self.extra.split(|byte: char| byte == ',' || byte.is_ascii_whitespace());
        words.into_iter().any(|found| found.eq_ignore_ascii_case(word))
    }
}

impl Index {
    /// Whether all of a column is in it.
    pub fn has_whole(&self, column: &str) -> bool {
        let is_it = |part: &IndexPart| {
            part.prefix.is_none()
                && part.column.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(column))
        };
        self.parts.iter().any(is_it)
    }
}
