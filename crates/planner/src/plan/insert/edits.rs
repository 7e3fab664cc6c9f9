//! The rows of one shard, and their new ids, as edits of the client's text.

use sql::digest::Span;
use sql::parse::{Kind, NodeId, Step};

use crate::plan::rewrite::Edit;
use crate::plan::text;

use super::Insertion;
use super::ids::Assigned;
use super::values::{List, Row, Values};

/// The edits that leave these rows of the statement, with their ids. In the rows, `last_ids` take
/// the places of their calls.
pub(super) fn of(
    insertion: &Insertion<'_, '_>,
    values: &Values,
    assigned: Option<&Assigned>,
    rows: &[usize],
    last_ids: &[Edit],
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
        add_row(insertion, row, id_of(*number).map(|id| (at, id)), last_ids, &mut all);
    }
    edits.push(all);
    edits
}

/// Adds the text of a row, in which an id takes the place of the value at a position, or is added.
fn add_row(
    insertion: &Insertion<'_, '_>,
    row: &Row,
    id: Option<(Option<usize>, u64)>,
    last_ids: &[Edit],
    to: &mut Edit,
) {
    let (tree, sql) = (insertion.request.tree, insertion.request.sql);
    let end = row.span.end.saturating_sub(1);
    let own = id.map(|(at, id)| match at.and_then(|at| row.values.get(at)) {
        Some(value) => Edit::new(tree.span(*value), id.to_string()),
        None if row.values.is_empty() => Edit::insertion(end, id.to_string()),
        None => Edit::insertion(end, format!(", {id}")),
    });
    let first = last_ids.partition_point(|call| call.start < row.span.start);
    let calls = last_ids.get(first..).unwrap_or_default().iter().take_while(|call| call.start < row.span.end);
    let mut edits: Vec<_> = calls.chain(&own).collect();
    edits.sort_by_key(|edit| edit.start);
    let mut copied = row.span.start;
    for edit in edits.iter().filter(|edit| edit.end <= row.span.end) {
        to.text.extend_from_slice(sql.get(copied..edit.start).unwrap_or_default());
        to.text.extend_from_slice(&edit.text);
        copied = edit.end.max(copied);
    }
    to.text.extend_from_slice(sql.get(copied..row.span.end).unwrap_or_default());
    if tree.placeholders() > 0 {
        to.placeholders.extend(placeholders(insertion, row, own.as_ref()));
    }
}

/// The placeholders of a row, without the value that gave way to an id.
fn placeholders(insertion: &Insertion<'_, '_>, row: &Row, own: Option<&Edit>) -> Vec<u32> {
    let tree = insertion.request.tree;
    let is_replaced = |value: &NodeId| own.is_some_and(|own| own.span() == tree.span(*value));
    let kept = row.values.iter().filter(|value| !is_replaced(value));
    let number = |step| match step {
        Step::Enter(id) => match tree.kind(id) {
            Kind::Placeholder(number) => Some(number),
            _ => None,
        },
        Step::Leave(_) => None,
    };
    kept.flat_map(|value| tree.walk(*value)).filter_map(number).collect()
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
