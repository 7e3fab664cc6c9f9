//! Queries of `information_schema`.
//!
//! Each of its tables that has rows about tables becomes a derived table without rows of further
//! nodes, and columns with physical names become expressions with logical ones. So conditions,
//! joins, groups and the order are the server's own.

mod named;
mod rewrite;
mod view;

use shard::Reason;
use sql::digest::Span;
use sql::parse::{Kind, NodeId, Step};

use crate::merge::{Direction, Order, Part, Window};
use crate::plan::{Branch, Cause, Plan, Refusal, Request, Scatter};

use super::Asker;
use super::source::{Source, sources};

use named::Named;
use rewrite::Additions;
use view::Views;

/// Columns whose values are numbers, or have an order of their own.
const NUMBERS: [&str; 4] = ["ORDINAL_POSITION", "SEQ_IN_INDEX", "NON_UNIQUE", "TABLE_ROWS"];

/// Columns with names.
const NAMES: [&str; 8] = [
    "TABLE_SCHEMA",
    "TABLE_NAME",
    "COLUMN_NAME",
    "INDEX_NAME",
    "CONSTRAINT_NAME",
    "EVENT_OBJECT_TABLE",
    "TRIGGER_NAME",
    "REFERENCED_TABLE_NAME",
];

/// Where a query goes that reads nothing but `information_schema`; none if it is no such one, or
/// says nothing about tables of the layout.
pub(super) fn queried(request: &Request<'_>, asker: Asker) -> Option<Plan> {
    let views = Views::of(request)?;
    let named = Named::of(request, &views);
    if !named.may_be_of(request.layout) {
        return None;
    }
    let schema = named.schema(request.layout);
    let all = sources(request, asker, schema);
    let chosen: Vec<_> = all.iter().filter(|source| named.concerns(request.layout, source)).collect();
    let is_plain = |source: &Source<'_>| source.is_plain() || named.is_answered_by(source);
    match chosen.as_slice() {
        [] => None,
        [only] if is_plain(only) && only.shown.is_empty() => None,
        [only] if is_plain(only) => {
            Some(Plan::One(Branch { hostgroup: only.hostgroup, ..Branch::default() }))
        }
        [only] => Some(match branch(request, &views, asker, only, &Additions::default()) {
            Ok(branch) => Plan::One(branch),
            Err(refusal) => Plan::Refused(refusal),
        }),
        several => Some(many(request, &views, asker, several).map_or_else(Plan::Refused, Plan::Many)),
    }
}

fn branch(
    request: &Request<'_>,
    views: &Views,
    asker: Asker,
    source: &Source<'_>,
    additions: &Additions,
) -> Result<Branch, Refusal> {
    let text = rewrite::rewritten(request, views, asker, source, additions)?;
    Ok(Branch { hostgroup: source.hostgroup, text, ..Branch::default() })
}

/// The rows of several servers, one after the other or in the order of names and numbers.
fn many(
    request: &Request<'_>,
    views: &Views,
    asker: Asker,
    sources: &[&Source<'_>],
) -> Result<Scatter, Refusal> {
    let tree = request.tree;
    let whole = tree.root().and_then(|root| tree.child(root, Kind::Query));
    let whole = whole.ok_or(Cause::Statement.at(Span { start: 0, end: request.sql.len() }))?;
    let block = tree.child(whole, Kind::Select).ok_or(Cause::SetOperation.at(tree.span(whole)))?;
    for id in tree.children(whole).chain(tree.children(block)) {
        let is_right = match tree.kind(id) {
            Kind::Select | Kind::Items | Kind::From | Kind::Where | Kind::OrderBy => true,
            Kind::Option => tree.span(id).of(request.sql).eq_ignore_ascii_case(b"SQL_NO_CACHE"),
            _ => false,
        };
        if !is_right {
            return Err(Cause::Clause.at(tree.span(id)));
        }
    }
    for step in tree.walk(whole) {
        let Step::Enter(id) = step else { continue };
        match tree.kind(id) {
            Kind::Aggregate | Kind::WindowCall => return Err(Cause::Aggregate.at(tree.span(id))),
            Kind::Subquery => return Err(Cause::Clause.at(tree.span(id))),
            _ => {}
        }
    }
    let (order, keys) = order(request, whole)?;
    let end = tree.child(block, Kind::Items).map_or(0, |items| tree.span(items).end);
    let additions = Additions { keys, end };
    let branches: Result<_, _> =
        sources.iter().map(|source| branch(request, views, asker, source, &additions)).collect();
    Ok(Scatter { branches: branches?, order, window: Window::ALL, why: Reason::Covers })
}

/// The order of rows, and the columns that are hidden keys: whether each is a name.
fn order(request: &Request<'_>, whole: NodeId) -> Result<(Order, Vec<(NodeId, bool)>), Refusal> {
    let tree = request.tree;
    let Some(clause) = tree.child(whole, Kind::OrderBy) else { return Ok(Default::default()) };
    let (mut parts, mut keys) = (Vec::new(), Vec::new());
    for ordering in tree.children(clause) {
        let refused = Cause::Order.at(tree.span(ordering));
        let Kind::Ordering { descending } = tree.kind(ordering) else { return Err(refused) };
        let column = tree.children(ordering).next().filter(|id| tree.kind(*id) == Kind::Column);
        let column = column.ok_or(refused)?;
        let name = view::last_name(request, column);
        let is_name = NAMES.contains(&name.as_str());
        if !is_name && !NUMBERS.contains(&name.as_str()) || is_alias(request, whole, &name) {
            return Err(refused);
        }
        let direction = if descending { Direction::Descending } else { Direction::Ascending };
        parts.push(Part { direction, pad: None });
        keys.push((column, is_name));
    }
    Ok((Order::new(parts), keys))
}

/// Whether an item of the select list has this name as its alias.
fn is_alias(request: &Request<'_>, whole: NodeId, name: &str) -> bool {
    let tree = request.tree;
    tree.walk(whole).any(|step| match step {
        Step::Enter(id) if tree.kind(id) == Kind::Alias => {
            crate::plan::text::name(request.sql, tree.span(id)).eq_ignore_ascii_case(name)
        }
        _ => false,
    })
}
