//! Assignments to key columns: a row stays in its shard.

use std::cell::OnceCell;

use shard::{Key, Table};
use sql::parse::{Kind, NodeId, Step};

use super::facts::{self, Facts, Test};
use super::refusal::Cause;
use super::uses::Uses;
use super::{Refusal, Request, columns, text};

/// Refuses an assignment to a key column of a row that is there already.
pub(super) fn check(request: &Request<'_>, uses: &Uses<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    let facts = OnceCell::new();
    for step in tree.walk(root) {
        if let Step::Enter(id) = step
            && tree.kind(id) == Kind::Assignment
            && !is_of_new_row(request, id)
        {
            check_key(request, uses, &facts, id)?;
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
fn check_key<'a>(
    request: &Request<'a>,
    uses: &Uses<'a>,
    facts: &OnceCell<Facts<'a>>,
    assignment: NodeId,
) -> Result<(), Refusal> {
    let tree = request.tree;
    uses.budget.take(uses.all().len());
    uses.budget.check(request)?;
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
    let facts = || facts.get_or_init(|| facts::of(request, uses));
    if is_key && !is_unchanged(request, uses, facts, assignment) && !is_inserted(request, uses, assignment) {
        return Err(Cause::Key.at(tree.span(column)));
    }
    Ok(())
}

/// Whether an assignment leaves the column as it is: it gets its own value, or a constant that it
/// has in each row that the statement changes.
fn is_unchanged<'f, 'a: 'f>(
    request: &Request<'a>,
    uses: &Uses<'a>,
    facts: impl FnOnce() -> &'f Facts<'a>,
    assignment: NodeId,
) -> bool {
    let mut children = request.tree.children(assignment);
    let Some((column, value)) = children.next().zip(children.next()) else { return false };
    let Some(column) = columns::of(request, uses, column) else { return false };
    if columns::of(request, uses, value).as_ref() == Some(&column) {
        return true;
    }
    let Some(new) = text::constant(request, value) else { return false };
    let kind = columns::compares(request, uses, &column);
    let tests = &facts().tests;
    uses.budget.take(tests.len());
    let mut own = tests.iter().filter(|(of, _)| *of == column);
    own.any(|(_, test)| match test {
        Test::Equal(old) => Key::stored(kind, new).is_ok_and(|new| Key::compared(kind, *old) == Ok(new)),
        _ => false,
    })
}

/// Whether `ON DUPLICATE KEY UPDATE` gives the only key column the value of the row that is
/// inserted: its shard is the one that executes the statement, so the row stays there.
fn is_inserted(request: &Request<'_>, uses: &Uses<'_>, assignment: NodeId) -> bool {
    let tree = request.tree;
    let Some(duplicate) = tree.parent(assignment).filter(|id| tree.kind(*id) == Kind::OnDuplicate) else {
        return false;
    };
    let mut children = tree.children(assignment);
    let Some((column, value)) = children.next().zip(children.next()) else { return false };
    let table = columns::of(request, uses, column).and_then(|column| uses.get(column.table)?.table);
    let name = tree.children(column).last().map(|id| text::name(request.sql, tree.span(id)));
    let is_same = new_column(request, duplicate, value)
        .zip(name)
        .is_some_and(|(new, name)| new.eq_ignore_ascii_case(&name));
    is_same && table.is_some_and(|table| table.key_columns().len() == 1)
}

/// The column of the row that is inserted: `VALUES(a)`, or `new.a` of `AS new`.
fn new_column(request: &Request<'_>, duplicate: NodeId, value: NodeId) -> Option<String> {
    let tree = request.tree;
    let name = |id: NodeId| text::name(request.sql, tree.span(id));
    if tree.kind(value) == Kind::Inserted {
        return tree.children(tree.children(value).next()?).last().map(name);
    }
    let names: Vec<_> = tree.children(value).map(name).collect();
    let alias: Vec<_> =
        tree.children(tree.child(tree.parent(duplicate)?, Kind::RowAlias)?).map(name).collect();
    match (tree.kind(value), names.as_slice(), alias.as_slice()) {
        // Behind `AS new (b)` columns have other names.
        (Kind::Column, [qualifier, column], [alias]) if qualifier == alias => Some(column.clone()),
        _ => None,
    }
}
