//! The rows of one shard, and their new ids, as edits of the client's text.

use sql::digest::Span;
use sql::parse::{Kind, Step};

use crate::plan::rewrite::Edit;
use crate::plan::text;

use super::Insertion;
use super::ids::Assigned;
use super::values::{List, Row, Values};

/// The edits that leave these rows of the statement, with their ids.
pub(super) fn of(
    insertion: &Insertion<'_, '_>,
    values: &Values,
    assigned: Option<&Assigned>,
    rows: &[usize],
) -> Vec<Edit> {
    let assigned = assigned.filter(|assigned| assigned.rows.iter().any(Option::is_some));
    let mut edits = Vec::new();
    let added =
        assigned.filter(|assigned| assigned.at.is_none()).map(|assigned| text::quoted(&assigned.column));
    let id_of = |row: usize| assigned.and_then(|assigned| assigned.rows.get(row).copied().flatten());
    match (values.list, added) {
        (List::Set { .. }, _) => return of_set(insertion, values, assigned),
        (List::Named { end }, Some(name)) => {
            let comma = if values.columns.is_empty() { "" } else { ", " };
            edits.push(Edit::insertion(end, format!("{comma}{name}")));
        }
        (List::Missing { at }, Some(name)) => edits.push(Edit::insertion(at, format!(" ({name})"))),
        _ => {}
    }
    if assigned.is_none() && rows.len() == values.rows.len() {
        return edits;
    }
    let ends = values.rows.first().zip(values.rows.last());
    let Some((start, end)) = ends.map(|(first, last)| (first.span.start, last.span.end)) else {
        return edits;
    };
    let mut all = Edit::new(Span { start, end }, Vec::new());
    for number in rows {
        let Some(row) = values.rows.get(*number) else { continue };
        if !all.text.is_empty() {
            all.text.extend_from_slice(b", ");
        }
        let at = assigned.and_then(|assigned| assigned.at);
        add_row(insertion, row, id_of(*number).map(|id| (at, id)), &mut all);
    }
    edits.push(all);
    edits
}

/// Adds the text of a row, in which an id takes the place of the value at a position, or is added.
fn add_row(insertion: &Insertion<'_, '_>, row: &Row, id: Option<(Option<usize>, u64)>, to: &mut Edit) {
    let (tree, sql) = (insertion.request.tree, insertion.request.sql);
    let end = row.span.end.saturating_sub(1);
    let replaced = id.map(|(at, id)| match at.and_then(|at| row.values.get(at)) {
        Some(value) => (tree.span(*value), id.to_string()),
        None if row.values.is_empty() => (Span { start: end, end }, id.to_string()),
        None => (Span { start: end, end }, format!(", {id}")),
    });
    let mut copied = row.span.start;
    if let Some((span, id)) = &replaced {
        to.text.extend_from_slice(sql.get(copied..span.start).unwrap_or_default());
        to.text.extend_from_slice(id.as_bytes());
        copied = span.end;
    }
    to.text.extend_from_slice(sql.get(copied..row.span.end).unwrap_or_default());
    if tree.placeholders() == 0 {
        return;
    }
    for value in &row.values {
        for step in tree.walk(*value) {
            let Step::Enter(inner) = step else { continue };
            let is_replaced = replaced.as_ref().is_some_and(|(span, _)| *span == tree.span(*value));
            if let Kind::Placeholder(number) = tree.kind(inner)
                && !is_replaced
            {
                to.placeholders.push(number);
            }
        }
    }
}

/// The edit of `INSERT ... SET`.
fn of_set(insertion: &Insertion<'_, '_>, values: &Values, assigned: Option<&Assigned>) -> Vec<Edit> {
    let Some(assigned) = assigned else { return Vec::new() };
    let Some((id, row)) = assigned.rows.first().copied().flatten().zip(values.rows.first()) else {
        return Vec::new();
    };
    let edit = match (assigned.at.and_then(|at| row.values.get(at)), values.list) {
        (Some(value), _) => Edit::new(insertion.request.tree.span(*value), id.to_string()),
        (None, List::Set { end }) => {
            Edit::insertion(end, format!(", {} = {id}", text::quoted(&assigned.column)))
        }
        (None, _) => return Vec::new(),
    };
    vec![edit]
}
