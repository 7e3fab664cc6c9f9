//! The tables of `information_schema` that have rows about tables.

use sql::parse::{Kind, NodeId, TableReference};

use crate::plan::{Request, text};

/// A table of `information_schema`.
#[derive(Debug)]
pub(super) struct View {
    pub(super) name: &'static str,
    /// Columns with the schema and the name of a table. A row is about the first one.
    pub(super) pairs: &'static [(&'static str, &'static str)],
    /// Further columns with the schema of that table.
    pub(super) schemas: &'static [&'static str],
}

const fn view(
    name: &'static str,
    pairs: &'static [(&'static str, &'static str)],
    schemas: &'static [&'static str],
) -> View {
    View { name, pairs, schemas }
}

const TABLE: (&str, &str) = ("TABLE_SCHEMA", "TABLE_NAME");

static ALL: [View; 9] = [
    view("TABLES", &[TABLE], &[]),
    view("COLUMNS", &[TABLE], &[]),
    view("STATISTICS", &[TABLE], &["INDEX_SCHEMA"]),
    view("PARTITIONS", &[TABLE], &[]),
    view("TABLE_CONSTRAINTS", &[TABLE], &["CONSTRAINT_SCHEMA"]),
    view(
        "KEY_COLUMN_USAGE",
        &[TABLE, ("REFERENCED_TABLE_SCHEMA", "REFERENCED_TABLE_NAME")],
        &["CONSTRAINT_SCHEMA"],
    ),
    view(
        "REFERENTIAL_CONSTRAINTS",
        &[("CONSTRAINT_SCHEMA", "TABLE_NAME"), ("UNIQUE_CONSTRAINT_SCHEMA", "REFERENCED_TABLE_NAME")],
        &[],
    ),
    view("TRIGGERS", &[("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE")], &["TRIGGER_SCHEMA"]),
    view("COLUMN_STATISTICS", &[("SCHEMA_NAME", "TABLE_NAME")], &[]),
];

/// A view that a query names.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) view: &'static View,
    pub(super) reference: TableReference,
    /// What its columns are qualified with.
    pub(super) shown: String,
}

/// The views of a query.
#[derive(Debug)]
pub(super) struct Views(Vec<Used>);

impl Views {
    /// The views of a query that names no table outside `information_schema`; none if it does, or
    /// if it reads other tables there, and views in subqueries at most.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let tree = request.tree;
        let query = tree.root().and_then(|root| tree.child(root, Kind::Query));
        let block = query.and_then(|query| tree.child(query, Kind::Select));
        let (mut used, mut has_others) = (Vec::new(), false);
        for reference in request.tree.tables() {
            let schema = reference.schema.map(|span| text::name(request.sql, span));
            let schema = schema.as_deref().unwrap_or(request.schema);
            if !schema.eq_ignore_ascii_case("information_schema") {
                return None;
            }
            let name = text::name(request.sql, reference.name);
            let shown = reference.alias.map_or_else(|| name.clone(), |alias| text::name(request.sql, alias));
            let view = ALL.iter().find(|view| view.name.eq_ignore_ascii_case(&name));
            has_others |= view.is_none() && Some(reference.block) == block;
            used.extend(view.map(|view| Used { view, reference, shown }));
        }
        let has_own = used.iter().any(|used| Some(used.reference.block) == block);
        (!used.is_empty() && (has_own || !has_others)).then_some(Self(used))
    }

    pub(super) fn all(&self) -> &[Used] {
        &self.0
    }

    /// The view that a column is of. A column without qualifier is of the first one that has it.
    pub(super) fn of_column(&self, request: &Request<'_>, column: NodeId) -> Option<&'static View> {
        let tree = request.tree;
        let names: Vec<_> = tree.children(column).map(|id| text::name(request.sql, tree.span(id))).collect();
        let (name, qualifiers) = names.split_last()?;
        let name = name.to_ascii_uppercase();
        let is_meant = |used: &&Used| {
            let has = used.view.has(&name);
            has && qualifiers.last().is_none_or(|qualifier| qualifier.eq_ignore_ascii_case(&used.shown))
        };
        self.0.iter().find(is_meant).map(|used| used.view)
    }
}

impl View {
    /// Whether a column of this name, in upper case, has names of schemas or tables.
    fn has(&self, name: &str) -> bool {
        self.schemas.contains(&name)
            || self.pairs.iter().any(|(schema, table)| *schema == name || *table == name)
    }

    /// Whether a column has the schemas of the tables that rows are about.
    pub(super) fn is_schema(&self, name: &str) -> bool {
        self.schemas.contains(&name) || self.pairs.first().is_some_and(|(schema, _)| *schema == name)
    }

    /// Whether a column has the names of the tables that rows are about.
    pub(super) fn is_table(&self, name: &str) -> bool {
        self.pairs.first().is_some_and(|(_, table)| *table == name)
    }
}

/// The name of a column without its qualifiers, in upper case.
pub(super) fn last_name(request: &Request<'_>, column: NodeId) -> String {
    let tree = request.tree;
    let names = tree.children(column).filter(|id| tree.kind(*id) == Kind::Name);
    names.last().map_or_else(String::new, |id| text::name(request.sql, tree.span(id)).to_ascii_uppercase())
}
