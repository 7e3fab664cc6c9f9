//! What a statement changes: no key of a row.

use sql::parse::{Kind, NodeId, Step};

use crate::key::Key;
use crate::layout::{Table, TableKind};

use super::facts::{self, Test};
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

/// Refuses an assignment to a key column of a row that is there already.
pub(super) fn check_keys(request: &Request<'_>, uses: &Uses<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    for step in tree.walk(root) {
        if let Step::Enter(id) = step
            && tree.kind(id) == Kind::Assignment
            && !is_of_new_row(request, id)
        {
            check_key(request, uses, id)?;
        }
    }
    Ok(())
}

/// Whether an assignment is one of `INSERT ... SET`.
fn is_of_new_row(request: &Request<'_>, assignment: NodeId) -> bool {
    let tree = request.tree;
    let mut around = tree.ancestors(assignment).map(|id| tree.kind(id));
    around.next() == Some(Kind::Assignments) && matches!(around.next(), Some(Kind::Insert | Kind::Replace))
}

/// If the table of the column is not certain, it may be any of the statement.
fn check_key(request: &Request<'_>, uses: &Uses<'_>, assignment: NodeId) -> Result<(), Refusal> {
    let tree = request.tree;
    let target = tree.children(assignment).next().filter(|id| tree.kind(*id) == Kind::Column);
    let Some(column) = target else { return Ok(()) };
    let Some(last) = tree.children(column).last() else { return Ok(()) };
    let name = text::name(request.sql, tree.span(last));
    let certain = columns::of(request, uses, column).map(|column| column.table);
    let mut tables = uses.all().iter().enumerate();
    let is_key = tables.any(|(number, table)| {
        let keys = table.table.map_or(&[][..], Table::key_columns);
        certain.is_none_or(|certain| certain == number)
            && keys.iter().any(|key| key.eq_ignore_ascii_case(&name))
    });
    if is_key && !is_unchanged(request, uses, assignment) {
        return Err(Cause::Key.at(tree.span(column)));
    }
    Ok(())
}

/// Whether an assignment leaves the column as it is: it gets its own value, or a constant that it
/// has in each row that the statement changes.
fn is_unchanged(request: &Request<'_>, uses: &Uses<'_>, assignment: NodeId) -> bool {
    let mut children = request.tree.children(assignment);
    let Some((column, value)) = children.next().zip(children.next()) else { return false };
    let Some(column) = columns::of(request, uses, column) else { return false };
    if columns::of(request, uses, value).as_ref() == Some(&column) {
        return true;
    }
    let Some(new) = text::constant(request, value) else { return false };
    let kind = columns::compares(request, uses, &column);
    let tests = facts::of(request, uses).tests;
    let mut own = tests.iter().filter(|(of, _)| *of == column);
    own.any(|(_, test)| match test {
        Test::Equal(old) => Key::stored(kind, new).is_ok_and(|new| Key::compared(kind, *old) == Ok(new)),
        _ => false,
    })
}
