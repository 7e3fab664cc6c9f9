//! Generated tables: two that are colocated, one that is sharded otherwise, one that every server
//! has.

use std::fmt::Write as _;

use e2e::dice::Dice;
use planner::plan::{KeyColumn, Written};

use crate::answer::Cells;
use crate::collations::Collation;
use crate::types::{self, INTEGERS, Type};

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) of: Type,
    pub(crate) is_nullable: bool,
}

/// A table with its rows.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    /// The function and its settings in a file, for tables that are sharded: `function = 'mod'`.
    pub(crate) function: Option<String>,
    indexes: Vec<String>,
    /// Literals of keys that have a place; ids are keys of a table that is not sharded.
    keys: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// A row: literals of all columns.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) values: Vec<String>,
}

/// The name of the key column of each table.
pub(crate) const KEY: &str = "k";
/// The position of the key column.
pub(crate) const KEY_AT: usize = 1;

/// Which keys a group of tables has.
#[derive(Debug, Clone)]
struct Keys {
    types: Vec<Type>,
    values: Vec<String>,
    function: String,
}

impl Keys {
    fn random(dice: &mut Dice, shards: usize, collations: &[Collation]) -> Self {
        let function = |text: &str| format!("function = '{text}'");
        let quoted = |values: &[&str]| values.iter().map(|value| format!("'{value}'")).collect();
        match dice.below(10) {
            0 => Self {
                types: vec![Type::Date],
                values: (1..=shards.min(28)).map(|day| format!("'2024-01-{day:02}'")).collect(),
                function: "function = 'date'\nfirst = 2024-01-01\nunit = 'day'".to_owned(),
            },
            1 => Self {
                types: vec![Type::DateTime(0), Type::DateTime(3), Type::Date],
                values: (1..=12).map(|month| format!("'2024-{month:02}-01'")).collect(),
                function: "function = 'interval'\nfirst = 2024-01-01\nunit = 'months'\nevery = 6".to_owned(),
            },
            2 => Self {
                types: vec![Type::Text("VARCHAR(20)", dice.pick(collations).clone())],
                values: quoted(&["a", "A", "a ", "b", "B", "1", "01", "ss", "5abc", "", "ab", "z"]),
                function: function(dice.pick::<&str>(&["hash", "consistent"])),
            },
            3 => Self {
                types: vec![bytes(collations), Type::Bytes("VARBINARY(12)")],
                values: quoted(&["a", "A", "a ", "b", "B", "1", "01", "ss", "5abc", "", "ab", "z"]),
                function: function(dice.pick::<&str>(&["hash", "consistent"])),
            },
            _ => Self::integers(dice, shards),
        }
    }

    fn integers(dice: &mut Dice, shards: usize) -> Self {
        let least = if dice.chance(50) { 0 } else { -6 };
        let types: Vec<_> = INTEGERS
            .into_iter()
            .filter(|of| matches!(of, Type::Integer(_, min, _) if least == 0 || *min < 0))
            .collect();
        let function = match dice.below(5) {
            0 => "function = 'hash'".to_owned(),
            1 => "function = 'consistent'".to_owned(),
            2 => {
                let bounds: Vec<_> = (1..shards).map(|bound| (bound * 20 / shards).to_string()).collect();
                format!("function = 'range'\nbounds = [{}]", bounds.join(", "))
            }
            _ => "function = 'mod'".to_owned(),
        };
        let types = (0..3).map(|_| dice.pick(&types).clone()).collect();
        Self { types, values: (least..20).map(|value| value.to_string()).collect(), function }
    }
}

/// A type that compares bytes.
fn bytes(collations: &[Collation]) -> Type {
    let found = collations.iter().find(|collation| collation.compares_bytes);
    found.map_or(Type::Bytes("VARBINARY(12)"), |found| Type::Text("VARCHAR(20)", found.clone()))
}

/// The tables of a world with so many shards: `a` and `b` are colocated, `c` has other keys, `r` is
/// a reference table.
pub(crate) fn random(dice: &mut Dice, shards: usize, collations: &[Collation]) -> Vec<Table> {
    let (shared, own) = (Keys::random(dice, shards, collations), Keys::random(dice, shards, collations));
    let mut table = |name, keys: Option<&Keys>, rows| table(dice, name, keys, rows, collations);
    vec![
        table("a", Some(&shared), 40),
        table("b", Some(&shared), 60),
        table("c", Some(&own), 30),
        table("r", None, 10),
    ]
}

fn table(
    dice: &mut Dice,
    name: &'static str,
    keys: Option<&Keys>,
    rows: usize,
    collations: &[Collation],
) -> Table {
    let integer = || Type::Integer("INT", i64::from(i32::MIN), u64::from(i32::MAX.unsigned_abs()));
    let column = |name: &str, of| Column { name: name.to_owned(), of, is_nullable: false };
    let key = keys.map_or_else(integer, |keys| dice.pick(&keys.types).clone());
    let mut columns = vec![column("id", integer()), column(KEY, key)];
    for number in 0..dice.within(4..8) {
        let of = Type::random(dice, collations);
        columns.push(Column { name: format!("{name}{number}"), of, is_nullable: dice.chance(75) });
    }
    // Both colocated tables have it: columns that a statement has to qualify.
    columns.push(Column { name: "cc".to_owned(), of: INTEGERS[3].clone(), is_nullable: true });
    let indexable = columns.iter().skip(1).filter(|column| column.of.is_indexable());
    let indexes = indexable.filter(|_| dice.chance(30)).map(|column| column.name.clone()).collect();
    let mut table = Table {
        name,
        columns,
        function: keys.map(|keys| keys.function.clone()),
        indexes,
        keys: keys.map(|keys| keys.values.clone()).unwrap_or_default(),
        rows: Vec::new(),
    };
    table.rows = (1..=rows).map(|id| table.row(dice, id)).collect();
    table
}

impl Table {
    /// A random row with this id.
    pub(crate) fn row(&self, dice: &mut Dice, id: usize) -> Row {
        let rest = self.columns.iter().skip(2).map(|column| {
            if column.is_nullable && dice.chance(20) { "NULL".to_owned() } else { column.of.value(dice) }
        });
        let rest: Vec<_> = rest.collect();
        let key = if self.keys.is_empty() { id.to_string() } else { dice.pick(&self.keys).clone() };
        Row { values: [id.to_string(), key].into_iter().chain(rest).collect() }
    }

    /// Creates the table under a name with a schema.
    pub(crate) fn create(&self, name: &str) -> String {
        let mut sql = format!("CREATE TABLE {name} (");
        for Column { name, of, is_nullable } in &self.columns {
            let null = if *is_nullable { "NULL DEFAULT NULL" } else { "NOT NULL" };
            // Writing to a string cannot fail.
            let _ = write!(sql, "{name} {} {null}, ", of.sql());
        }
        for column in &self.indexes {
            let _ = write!(sql, "INDEX {column} ({column}), ");
        }
        sql + "PRIMARY KEY (id, k))"
    }

    /// Takes the indexes away, or adds them again; nothing if there are none.
    pub(crate) fn alter_indexes(&self, name: &str, adds: bool) -> Option<String> {
        let change = |column: &String| {
            if adds { format!("ADD INDEX {column} ({column})") } else { format!("DROP INDEX {column}") }
        };
        let changes: Vec<_> = self.indexes.iter().map(change).collect();
        (!changes.is_empty()).then(|| format!("ALTER TABLE {name} {}", changes.join(", ")))
    }

    /// Inserts these rows; nothing if there are none.
    pub(crate) fn insert(name: &str, rows: &[&Row]) -> Option<String> {
        let tuples: Vec<_> = rows.iter().map(|row| format!("({})", row.values.join(", "))).collect();
        (!rows.is_empty()).then(|| format!("INSERT INTO {name} VALUES {}", tuples.join(", ")))
    }

    /// A key that a row may have.
    pub(crate) fn some_key(&self, dice: &mut Dice) -> String {
        dice.pick(&self.rows).values[KEY_AT].clone()
    }

    /// The primary key.
    pub(crate) fn row_key(&self) -> Vec<KeyColumn> {
        let column = |column: &Column| {
            let written = match &column.of {
                Type::Integer(..) => Written::Number,
                Type::Date | Type::DateTime(_) => Written::Moment,
                Type::Text(_, collation) => Written::Text(collation.character_set.to_owned()),
                _ => Written::Bytes,
            };
            KeyColumn { name: column.name.clone(), written }
        };
        self.columns.iter().take(KEY_AT + 1).map(column).collect()
    }

    /// The type of the key.
    pub(crate) fn key_type(&self) -> &Type {
        &self.columns[KEY_AT].of
    }
}

/// The value that a literal of a key is.
pub(crate) fn key_value(literal: &str) -> shard::Value<'_> {
    match literal.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => shard::Value::Text(text.as_bytes()),
        None => shard::Value::Signed(literal.parse().unwrap_or_default()),
    }
}

/// The literal of the key of a row.
pub(crate) fn key_literal(table: &Table, row: &Cells) -> String {
    let key = String::from_utf8_lossy(row[KEY_AT].as_deref().unwrap_or_default()).into_owned();
    if matches!(table.key_type(), Type::Integer(..)) { key } else { format!("'{key}'") }
}

/// A text that a statement may compare with any column.
pub(crate) fn some_text(dice: &mut Dice) -> String {
    format!("'{}'", types::ascii(dice))
}
