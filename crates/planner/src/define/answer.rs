//! The answer to [`table_statement`](super::table_statement).

use super::collation::Collation;
use super::own_values;
use super::table::{ColumnDefinition, DefaultValue, ForeignKey, Index, IndexPart, TableDefinition, Trigger};
use crate::limits::DEFINITION_BYTES_MAX;

/// Why an answer is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A value is missing, or is not what it should be.
    #[error("the server says {0} of a table in a way that is not known")]
    Value(&'static str),
    /// Columns in the middle are not there: the user has no privilege for them.
    #[error("the server does not show all columns of a table: the user lacks privileges for them")]
    Partial,
    /// The table has more to it than is kept.
    #[error("the definition of a table has more than {DEFINITION_BYTES_MAX} bytes")]
    TooLarge,
}

/// Makes a [`TableDefinition`] of the rows of an answer, which come in any order.
#[derive(Debug, Default)]
pub struct Reader {
    head: Option<TableDefinition>,
    columns: Vec<(u32, ColumnDefinition)>,
    indexes: Vec<(u32, Index)>,
    foreign_keys: Vec<(u32, ForeignKey)>,
    actions: Vec<[String; 3]>,
    triggers: Vec<Trigger>,
    bytes: usize,
}

impl Reader {
    /// A reader that has seen no row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a row: its values by position, NULL is `None`.
    pub fn row(&mut self, row: &[Option<&[u8]>]) -> Result<(), Unreadable> {
        let row = Row(row);
        self.bytes += row.0.iter().flatten().map(|cell| cell.len()).sum::<usize>() + size_of_val(row.0);
        if self.bytes > DEFINITION_BYTES_MAX {
            return Err(Unreadable::TooLarge);
        }
        match row.number::<u8>(0, "the kind")? {
            0 => self.head = Some(row.head()?),
            1 => self.columns.push((row.number(1, "a position")?, row.column()?)),
            2 => self.indexes.push((row.number(1, "a position")?, row.index()?)),
            3 => self.foreign_keys.push((row.number(1, "a position")?, row.foreign_key()?)),
            4 => {
                let text = |at| row.text(at, "a foreign key");
                self.actions.push([text(2)?, text(3)?, text(4)?]);
            }
            5 => {
                let own_value = own_values::function(&row.text(3, "a trigger")?);
                self.triggers.push(Trigger { name: row.text(2, "a trigger")?, own_value });
            }
            _ => return Err(Unreadable::Value("the kind")),
        }
        Ok(())
    }

    /// The table; none if there is no such table.
    pub fn finish(mut self) -> Result<Option<TableDefinition>, Unreadable> {
        let Some(mut table) = self.head else { return Ok(None) };
        self.columns.sort_by_key(|(position, _)| *position);
        if !self.columns.iter().map(|(position, _)| *position).eq((1..).take(self.columns.len())) {
            return Err(Unreadable::Partial);
        }
        table.columns = self.columns.into_iter().map(|(_, column)| column).collect();
        let is_mariadb = table.is_of_mariadb();
        for column in &mut table.columns {
            column.default = default_of(column, is_mariadb);
        }
        self.triggers.sort_by(|one, other| one.name.cmp(&other.name));
        table.triggers = self.triggers;
        self.indexes.sort_by(|(a, one), (b, other)| (&one.name, a).cmp(&(&other.name, b)));
        for (_, index) in self.indexes {
            match table.indexes.last_mut().filter(|last| last.name == index.name) {
                Some(last) => last.parts.extend(index.parts),
                None => table.indexes.push(index),
            }
        }
        self.foreign_keys.sort_by(|(a, one), (b, other)| (&one.name, a).cmp(&(&other.name, b)));
        for (_, mut key) in self.foreign_keys {
            if let Some(last) = table.foreign_keys.last_mut().filter(|last| last.name == key.name) {
                last.columns.append(&mut key.columns);
                last.referenced.append(&mut key.referenced);
                continue;
            }
            if let Some([_, update, delete]) = self.actions.iter().find(|[name, ..]| *name == key.name) {
                key.on_update.clone_from(update);
                key.on_delete.clone_from(delete);
            }
            table.foreign_keys.push(key);
        }
        Ok(Some(table))
    }
}

/// The values of a row by their positions.
struct Row<'a>(&'a [Option<&'a [u8]>]);

impl Row<'_> {
    fn maybe(&self, at: usize, what: &'static str) -> Result<Option<String>, Unreadable> {
        let Some(cell) = self.0.get(at).ok_or(Unreadable::Value(what))? else { return Ok(None) };
        let text = std::str::from_utf8(cell).map_err(|_| Unreadable::Value(what))?;
        Ok(Some(text.to_owned()))
    }

    fn text(&self, at: usize, what: &'static str) -> Result<String, Unreadable> {
        self.maybe(at, what)?.ok_or(Unreadable::Value(what))
    }

    fn number<T: std::str::FromStr>(&self, at: usize, what: &'static str) -> Result<T, Unreadable> {
        self.maybe_number(at, what)?.ok_or(Unreadable::Value(what))
    }

    fn maybe_number<T: std::str::FromStr>(
        &self,
        at: usize,
        what: &'static str,
    ) -> Result<Option<T>, Unreadable> {
        let number = self.maybe(at, what)?.map(|text| text.parse().map_err(|_| Unreadable::Value(what)));
        number.transpose()
    }

    fn head(&self) -> Result<TableDefinition, Unreadable> {
        Ok(TableDefinition {
            kind: self.text(1, "the kind")?,
            engine: self.maybe(2, "the engine")?,
            version: self.text(3, "the version")?,
            sort_bytes_max: self.number(4, "max_sort_length")?,
            columns: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: Vec::new(),
        })
    }

    fn column(&self) -> Result<ColumnDefinition, Unreadable> {
        let text = |at| self.text(at, "a column");
        let collation = match (self.maybe(9, "a character set")?, self.maybe(10, "a collation")?) {
            (Some(charset), Some(name)) => Some(Collation { name, charset }),
            _ => None,
        };
        Ok(ColumnDefinition {
            name: text(2)?,
            data_type: text(3)?.to_ascii_lowercase(),
            full_type: text(4)?,
            is_nullable: text(5)? == "YES",
            // What it means is known with the version.
            default: self.maybe(6, "a default")?.map_or(DefaultValue::Missing, DefaultValue::Expression),
            extra: text(7)?,
            expression: self.maybe(8, "an expression")?.filter(|text| !text.is_empty()),
            collation,
            length: self.maybe_number(11, "a length")?,
            octets: self.maybe_number(12, "a length")?,
        })
    }

    fn index(&self) -> Result<Index, Unreadable> {
        let column = self.maybe(4, "an index")?;
        let prefix = self.maybe_number(5, "the prefix of an index")?;
        Ok(Index {
            name: self.text(2, "an index")?,
            is_unique: self.number::<u8>(3, "an index")? == 0,
            parts: vec![IndexPart { column, prefix }],
        })
    }

    fn foreign_key(&self) -> Result<ForeignKey, Unreadable> {
        let text = |at| self.text(at, "a foreign key");
        Ok(ForeignKey {
            name: text(2)?,
            columns: vec![text(3)?],
            table: [text(4)?, text(5)?],
            referenced: vec![text(6)?],
            on_update: String::new(),
            on_delete: String::new(),
        })
    }
}

/// What the text of a default means: MariaDB writes SQL, MySQL the value, and that it is an
/// expression beside it.
fn default_of(column: &ColumnDefinition, is_mariadb: bool) -> DefaultValue {
    let text = match &column.default {
        DefaultValue::Expression(text) => text,
        _ if column.is_nullable && !column.is_generated() => return DefaultValue::Null,
        _ => return DefaultValue::Missing,
    };
    if !is_mariadb {
        let is_expression =
            column.extra.contains("DEFAULT_GENERATED") || text.starts_with("CURRENT_TIMESTAMP");
        let is_binary = matches!(column.data_type.as_str(), "binary" | "varbinary");
        let constant = if is_binary { unhexed(text) } else { Some(text.clone()) };
        return match constant.filter(|_| !is_expression) {
            Some(constant) => DefaultValue::Constant(constant),
            None => DefaultValue::Expression(text.clone()),
        };
    }
    if text == "NULL" {
        return DefaultValue::Null;
    }
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite)
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let constant = if is_number { Some(text.clone()) } else { unquoted(text) };
    constant.map_or_else(|| DefaultValue::Expression(text.clone()), DefaultValue::Constant)
}

/// The text of a binary string, which MySQL writes as `0x` and its digits. None if the bytes are no
/// text.
fn unhexed(literal: &str) -> Option<String> {
    let digits = literal.strip_prefix("0x")?.as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let byte = |pair: &[u8]| match pair {
        &[high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    String::from_utf8(digits.chunks(2).map(byte).collect::<Option<_>>()?).ok()
}

/// The text of a literal in quotes, if it is nothing but that.
fn unquoted(literal: &str) -> Option<String> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\'' => characters.next().filter(|next| *next == '\'')?,
            '\\' => match characters.next()? {
                '0' => '\0',
                'n' => '\n',
                'r' => '\r',
                other => other,
            },
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests;
