//! Which tables a statement changes.

use shard::{Table, TableKind};
use sql::parse::{Kind, NodeId, Step};

use super::refusal::Cause;
use super::uses::Uses;
use super::{Refusal, Request, columns, text};

/// The numbers of the tables whose rows a statement changes, each once.
pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>, statement: NodeId) -> Result<Vec<usize>, Refusal> {
    let tree = request.tree;
    let mut found = match tree.kind(statement) {
        Kind::Update => assigned(request, uses, statement),
        Kind::Delete => match tree.child(statement, Kind::Targets) {
            Some(targets) => {
                let of = |target| named(request, uses, statement, target);
                tree.children(targets).map(of).collect::<Result<_, _>>()?
            }
            None => first(uses, statement),
        },
        _ => first(uses, statement),
    };
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err(Cause::Statement.at(tree.span(statement))) } else { Ok(found) }
}

/// The table of an INSERT, or of a change of one table.
fn first(uses: &Uses<'_>, statement: NodeId) -> Vec<usize> {
    uses.of_block(statement).next().map(|(number, _)| number).into_iter().collect()
}

/// The tables whose columns an UPDATE assigns; all if one of the columns may be of any.
fn assigned(request: &Request<'_>, uses: &Uses<'_>, statement: NodeId) -> Vec<usize> {
    let tree = request.tree;
    let assignments = tree.child(statement, Kind::Assignments);
    let of = |assignment| {
        let column = tree.children(assignment).next().unwrap_or(assignment);
        columns::of(request, uses, column).map(|column| column.table)
    };
    let certain = assignments.into_iter().flat_map(|id| tree.children(id)).map(of).collect();
    let any = || uses.of_block(statement).map(|(number, _)| number).collect();
    Option::unwrap_or_else(certain, any)
}

/// The table that a target of a DELETE of several tables names.
fn named(
    request: &Request<'_>,
    uses: &Uses<'_>,
    statement: NodeId,
    target: NodeId,
) -> Result<usize, Refusal> {
    let tree = request.tree;
    let name = tree.children(target).last().map(|id| text::name(request.sql, tree.span(id)));
    let is_meant = |shown: &str| name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(shown));
    let mut meant = uses.of_block(statement).filter(|(_, table)| is_meant(&table.shown));
    match (meant.next(), meant.next()) {
        (Some((number, table)), None) if name.as_deref() == Some(&table.shown) => Ok(number),
        _ => Err(Cause::AmbiguousName.at(tree.span(target))),
    }
}

/// Refuses a change that names a node of a sharded table by its own name: where its rows belong is
/// not looked for.
pub(super) fn check_nodes(request: &Request<'_>, uses: &Uses<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let changes = |id| match tree.kind(id) {
        Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete => true,
        Kind::Utility => changes_table(tree.span(id).of(request.sql)),
        _ => false,
    };
    if !tree.root().is_some_and(|root| tree.children(root).any(changes)) {
        return Ok(());
    }
    let node = uses.all().iter().find(|table| request.layout.is_node(&table.schema, &table.name));
    node.map_or(Ok(()), |table| Err(Cause::Node.at(table.reference.name)))
}

/// Whether a statement loads rows, or takes away or changes a table.
fn changes_table(text: &[u8]) -> bool {
    let word = text.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    [&b"load"[..], b"truncate", b"drop", b"alter", b"rename"].iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Refuses a change of a table that each server has, within another statement.
pub(super) fn check_reference(request: &Request<'_>, uses: &Uses<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    for step in tree.walk(root) {
        let Step::Enter(id) = step else { continue };
        if let Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Utility = tree.kind(id)
            && let Some((_, table)) =
                uses.of_block(id).find(|(_, table)| table.table.is_some_and(is_reference))
        {
            return Err(Cause::Statement.at(table.reference.name));
        }
    }
    Ok(())
}

const fn is_reference(table: &Table) -> bool {
    matches!(table.kind, TableKind::Reference { .. })
}
