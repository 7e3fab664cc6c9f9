//! Names of columns in a rewritten statement. A server names a column without alias by the first
//! bytes of its expression: where these change, they become the alias.

use sql::parse::{Kind, NodeId, Splices, Step};

use super::refusal::Cause;
use super::{Refusal, Request, text};

/// Bytes of a name that a server makes of an expression, as far as they are whole characters.
const LABEL_BYTES_MAX: usize = 255;

/// Puts an alias behind each expression of a select list whose bytes change.
pub(super) fn keep(request: &Request<'_>, splices: &mut Splices) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    let is_changed = |id: NodeId| {
        tree.kind(id) == Kind::Item && tree.child(id, Kind::Alias).is_none() && splices.changes(tree.span(id))
    };
    let entered = tree.walk(root).filter_map(|step| match step {
        Step::Enter(id) => Some(id),
        Step::Leave(_) => None,
    });
    let changed: Vec<_> = entered.filter(|id| is_changed(*id) && !is_column(request, *id)).collect();
    let mut labelled = Vec::with_capacity(changed.len());
    for item in changed {
        let span = tree.span(item);
        let refusal = || Cause::Statement.at(span);
        let label = std::str::from_utf8(span.of(request.sql)).map_err(|_| refusal())?;
        let label = label.get(..label.floor_char_boundary(LABEL_BYTES_MAX)).unwrap_or(label);
        // Servers refuse or cut an alias with a space at its end.
        if label.ends_with(|last: char| last.is_ascii_whitespace()) {
            return Err(refusal());
        }
        let behind = sql::digest::Span { start: span.end, end: span.end };
        labelled.push((behind, format!(" AS {}", text::quoted(label)).into()));
    }
    splices.add_all(labelled).map_err(|overlap| Cause::Statement.at(overlap.span))
}

/// Whether an item is a plain column, whose name says no table.
fn is_column(request: &Request<'_>, item: NodeId) -> bool {
    let tree = request.tree;
    let inner = tree.children(item).next().map(|id| text::without_parens(tree, id));
    inner.is_some_and(|id| tree.kind(id) == Kind::Column)
}
