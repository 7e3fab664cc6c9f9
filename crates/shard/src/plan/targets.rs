//! What a statement changes: no key of a row, and no table whose rows each server has.

use sql::parse::{Kind, NodeId, Step};

use crate::layout::TableKind;

use super::refusal::Cause;
use super::uses::Uses;
use super::{Refusal, Request, text};

/// Refuses statements whose changes would leave the servers apart.
pub(super) fn check(request: &Request<'_>, uses: &Uses<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    for step in tree.walk(root) {
        let Step::Enter(id) = step else { continue };
        match tree.kind(id) {
            Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Utility => {
                check_reference(uses, id)?;
            }
            Kind::Assignment => check_key(request, uses, id)?,
            _ => {}
        }
    }
    Ok(())
}

/// Any table that the statement names outside subqueries may be one that it changes.
fn check_reference(uses: &Uses<'_>, statement: NodeId) -> Result<(), Refusal> {
    let is_reference = |table: &super::uses::Use<'_>| {
        table.table.is_some_and(|table| matches!(table.kind, TableKind::Reference { .. }))
    };
    match uses.of_block(statement).find(|(_, table)| is_reference(table)) {
        Some((_, table)) => Err(Cause::Reference.at(table.reference.name)),
        None => Ok(()),
    }
}

/// Refuses an assignment to a column that is called as a key of any table of the statement.
fn check_key(request: &Request<'_>, uses: &Uses<'_>, assignment: NodeId) -> Result<(), Refusal> {
    let tree = request.tree;
    let target = tree.children(assignment).next().filter(|id| tree.kind(*id) == Kind::Column);
    let Some(column) = target else { return Ok(()) };
    let name = tree.children(column).last().map(|id| text::name(request.sql, tree.span(id)));
    let is_key = |name: &str| {
        let mut tables = uses.all().iter().filter_map(|table| table.table);
        tables.any(|table| table.key_columns().iter().any(|key| key.eq_ignore_ascii_case(name)))
    };
    match name {
        Some(name) if is_key(&name) => Err(Cause::Key.at(tree.span(column))),
        _ => Ok(()),
    }
}
