//! Stored code that would see a part of a sharded table only: a routine, a view or a trigger runs
//! at one server, which has its own rows and no more.
//!
//! 1. [`objects`] says what a statement names that may be stored code, [`Object::question`] asks
//!    its server for the definitions;
//! 2. [`Found::of`] takes the answer: what is [`Wrong`] with them, and which objects they use in
//!    turn, which are asked for as well.

mod ask;

use std::fmt;

use shard::{Layout, TableKind};
use sql::routine::Mentions;
use sql::shape::{SCHEMAS_OF_SERVERS, Table};

pub use ask::Unreadable;
use ask::What;

/// What may be stored code, or have some.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// A table, which may be a view, or have triggers.
    Table {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
        /// It is changed, so that its triggers run.
        is_written: bool,
    },
    /// A routine.
    Routine {
        /// Its schema, or its package; none if it may be in any schema.
        schema: Option<String>,
        /// Its name.
        name: String,
    },
}

/// Why stored code does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It reads or changes a table with rows at several servers.
    Sharded(String),
    /// It changes a table that each server has.
    Reference(String),
    /// It changes a part of a sharded table by its own name.
    Node(String),
    /// It prepares statements, whose texts are not known.
    Prepares,
    /// It is written for `sql_mode=ORACLE`, where a name alone calls a procedure.
    Oracle,
    /// The user may not read its definition.
    Hidden,
    /// Its definition is too long to be looked through.
    Long,
}

/// What a server has by the name of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What is wrong with it, if anything is.
    pub wrong: Option<Wrong>,
    /// What it uses.
    pub uses: Vec<Used>,
    /// The user sees something of that name.
    pub is_there: bool,
}

/// What stored code uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// What it is.
    pub object: Object,
    /// It is there: if the user sees nothing of that name, it is hidden. Servers write the texts of
    /// views with the schema of each name.
    pub is_certain: bool,
}

impl Object {
    /// How errors call it.
    pub fn name(&self) -> &str {
        let (Self::Table { name, .. } | Self::Routine { name, .. }) = self;
        name
    }

    /// The statement that asks a server for its definitions. It means the same in all modes, and
    /// its answer is UTF-8 for all character sets. It is for MariaDB and MySQL 8.0 and later ones.
    pub fn question(&self) -> String {
        ask::question(self)
    }

    const fn schema(&self) -> Option<&String> {
        match self {
            Self::Table { schema, .. } => Some(schema),
            Self::Routine { schema, .. } => schema.as_ref(),
        }
    }

    /// Whether a server may have made it for users.
    fn is_of_users(&self) -> bool {
        let is_named = self.schema().is_none_or(|schema| !schema.is_empty());
        let is_of = |schema: &String| SCHEMAS_OF_SERVERS.iter().any(|own| own.eq_ignore_ascii_case(schema));
        is_named && !self.schema().is_some_and(is_of)
    }
}

/// What a text names that is no table of the layout. `schema` is that of names without one; with
/// none of them, routines may be in any.
pub fn objects(layout: &Layout, named: &Mentions, schema: Option<&str>) -> Vec<Object> {
    let own = |table: &Table| table.schema.clone().or_else(|| schema.map(str::to_owned));
    let object = |(table, is_written): (&Table, bool)| {
        let schema = own(table).filter(|schema| layout.table(schema, &table.name).is_none())?;
        let is_new = !named.temporary.contains(&table.name);
        is_new.then(|| Object::Table { schema, name: table.name.clone(), is_written })
    };
    let reads = named.reads.iter().map(|table| (table, false));
    let tables = reads.chain(named.writes.iter().map(|table| (table, true))).filter_map(object);
    let routines = named.routines.iter().map(|called| Object::Routine {
        schema: called.schema.clone().or_else(|| schema.map(str::to_owned)),
        name: called.name.clone(),
    });
    let mut all: Vec<_> = tables.chain(routines).filter(Object::is_of_users).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Found {
    /// What the answer to the question about an object says: its rows.
    ///
    /// # Errors
    /// If it is no such answer.
    pub fn of(layout: &Layout, rows: &[Vec<Option<&[u8]>>]) -> Result<Self, Unreadable> {
        let definitions = ask::definitions(rows)?;
        let mut found = Self { is_there: !definitions.is_empty(), ..Self::default() };
        // Who may not see a view's definition is told that there is one.
        let has = |what| {
            definitions.iter().any(|one| one.what == what && (what == What::View || one.is_readable()))
        };
        let is_hidden = has(What::View) && !has(What::Code);
        for definition in definitions {
            if definition.what != What::Code || !definition.is_readable() {
                if definition.what == What::Code || definition.what == What::View && is_hidden {
                    found.wrong = Some(Wrong::Hidden);
                }
                continue;
            }
            // Servers write the text of a view anew, with its quotes.
            let read = if definition.is_view { Mentions::of } else { Mentions::of_unquoted };
            let named = read(definition.text, definition.modes);
            found.wrong = found.wrong.or_else(|| wrong(layout, &named, &definition.schema));
            if definition.is_oracle {
                found.wrong = found.wrong.or(Some(Wrong::Oracle));
            }
            let certain = if definition.is_view { objects(layout, &named, None) } else { Vec::new() };
            let uses = objects(layout, &named, Some(&definition.schema)).into_iter();
            found.uses.extend(uses.map(|object| {
                let is_stored = definition.is_view && is_stored_function(definition.text, &object);
                Used { is_certain: is_stored || certain.contains(&object), object }
            }));
        }
        Ok(found)
    }
}

/// Whether the text of a view calls this: servers put names of stored functions in quotes, and of
/// others not.
fn is_stored_function(text: &[u8], object: &Object) -> bool {
    let call = format!("`{}`(", object.name());
    matches!(object, Object::Routine { .. }) && text.windows(call.len()).any(|part| part == call.as_bytes())
}

/// What is wrong with code in a schema that names this.
pub fn wrong(layout: &Layout, named: &Mentions, schema: &str) -> Option<Wrong> {
    if named.cut {
        return Some(Wrong::Long);
    }
    let full =
        |table: &Table| (table.schema.clone().unwrap_or_else(|| schema.to_owned()), table.name.clone());
    let path = |schema: &str, name: &str| format!("{schema}.{name}");
    for (schema, name) in named.reads.iter().chain(&named.writes).map(full) {
        let table = layout.table(&schema, &name).filter(|table| table.nodes().len() > 1);
        if table.is_some_and(|table| matches!(table.kind, TableKind::Sharded { .. })) {
            return Some(Wrong::Sharded(path(&schema, &name)));
        }
    }
    let is_defined = |table: &&shard::Table| {
        let is_named = |name: &String| name.eq_ignore_ascii_case(&table.name);
        table.nodes().len() > 1 && named.names.iter().any(is_named)
    };
    if let Some(table) = layout.tables().iter().find(is_defined).filter(|_| named.defines) {
        return Some(Wrong::Sharded(path(&table.schema, &table.name)));
    }
    for (schema, name) in named.writes.iter().map(full) {
        if layout.is_node(&schema, &name) {
            return Some(Wrong::Node(path(&schema, &name)));
        }
        if layout.table(&schema, &name).is_some_and(|table| table.nodes().len() > 1) {
            return Some(Wrong::Reference(path(&schema, &name)));
        }
    }
    named.prepares.then_some(Wrong::Prepares)
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sharded(table) => {
                write!(f, "it uses {table}, and would see the rows of its own server only")
            }
            Self::Reference(table) => write!(f, "it changes {table}, of which each server has a copy"),
            Self::Node(table) => write!(f, "it changes {table}, which is a part of a sharded table"),
            Self::Prepares => write!(f, "it prepares statements, which may be about sharded tables"),
            Self::Oracle => write!(f, "it is written for sql_mode=ORACLE, where each name may be a call"),
            Self::Hidden => write!(
                f,
                "the user may not read its definition, which may be about sharded tables; GRANT SHOW VIEW for \
                 views, SHOW_ROUTINE (MySQL) or SELECT ON mysql.proc (MariaDB) for routines"
            ),
            Self::Long => write!(f, "its definition is too long to be looked through"),
        }
    }
}

#[cfg(test)]
mod tests;
