//! Statements about one table: a server that has a node of the table answers.

use shard::{Node, Table, TableKind};
use sql::digest::Span;
use sql::parse::{Kind, NodeId, Splices};

use crate::plan::{Branch, Cause, Plan, Request, text};

use super::words::Words;
use super::{Cells, Names, Seen, node};

/// What a `SHOW` statement tells of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Columns,
    Index,
    Create,
}

/// `DESCRIBE t`, `EXPLAIN t`.
pub(super) fn described(request: &Request<'_>, statement: NodeId) -> Option<Seen> {
    let (table, name) = named(request, statement)?;
    let node = node(request.layout, table)?;
    Some(about(request, About::Columns, table, node, name))
}

/// `SHOW COLUMNS FROM t`, `SHOW INDEX FROM t`, `SHOW CREATE TABLE t`.
pub(super) fn shown(request: &Request<'_>, statement: NodeId) -> Option<Seen> {
    let mut words = Words::of(request);
    words.eat(&["SHOW"])?;
    words.eat(&["EXTENDED"]);
    words.eat(&["FULL"]);
    let is = |words: &mut Words<'_>, names: &[&str]| words.eat(names).is_some();
    let what = if is(&mut words, &["COLUMNS", "FIELDS"]) {
        About::Columns
    } else if is(&mut words, &["INDEX", "INDEXES", "KEYS"]) {
        About::Index
    } else if is(&mut words, &["CREATE"]) && is(&mut words, &["TABLE"]) {
        About::Create
    } else {
        return None;
    };
    let (table, name) = named(request, statement)?;
    let node = node(request.layout, table)?;
    Some(about(request, what, table, node, name))
}

/// The table of the layout that a statement names, and where: the schema may stand behind it.
fn named<'a>(request: &Request<'a>, statement: NodeId) -> Option<(&'a Table, Span)> {
    let tree = request.tree;
    let id = tree.child(statement, Kind::TableName)?;
    let mut names = tree.children(id).map(|name| text::name(request.sql, tree.span(name)));
    let (first, second) = (names.next()?, names.next());
    let behind = tree.child(statement, Kind::Name);
    let mut span = tree.span(id);
    let mut schema = request.schema.to_owned();
    let name = match second {
        Some(name) => {
            schema = first;
            name
        }
        None => first,
    };
    // The schema behind a table counts, even if there is another one in front.
    if let Some(behind) = behind {
        schema = text::name(request.sql, tree.span(behind));
        span.end = tree.span(behind).end;
    }
    request.layout.table(&schema, &name).map(|table| (table, span))
}

fn about(request: &Request<'_>, what: About, table: &Table, node: &Node, name: Span) -> Seen {
    let is_same = node.schema == table.schema && node.table == table.name;
    let text = if is_same { Ok(None) } else { spliced(request, node, name).map(Some) };
    let plan = match text {
        Ok(text) => Plan::One(Branch { hostgroup: node.hostgroup, text, ..Branch::default() }),
        Err(cause) => return Seen::plain(Plan::Refused(cause.at(name))),
    };
    let cells = match what {
        About::Index if !is_same => Cells::Table { name: table.name.clone() },
        About::Columns | About::Index => Cells::Plain,
        About::Create => Cells::Create {
            node: node.table.clone(),
            name: table.name.clone(),
            names: Names::at(request.layout, node.hostgroup),
            drops_counter: matches!(table.kind, TableKind::Sharded { .. }),
        },
    };
    Seen { plan, cells }
}

/// The statement with the node's name.
fn spliced(request: &Request<'_>, node: &Node, at: Span) -> Result<Vec<u8>, Cause> {
    let name = format!("{}.{}", text::quoted(&node.schema), text::quoted(&node.table));
    let (mut splices, mut out) = (Splices::default(), Vec::new());
    let done = splices.add(at, name).and_then(|()| splices.apply(request.sql, &mut out));
    if request.tree.is_conditional() && splices.is_in_conditional(request.sql, request.modes) {
        return Err(Cause::Conditional);
    }
    done.map(|()| out).map_err(|_| Cause::Statement)
}
