//! A plan as rows of `EXPLAIN ROUTE`: the way, the shards of each table, the text of each shard.

use shard::{Prune, Reason, Shards, TableKind};

use crate::limits::{EXPLAINED_BYTES_MAX, EXPLAINED_SHARDS_MAX};
use crate::merge::{Direction, Order, Window};

use super::bind::Bound;
use super::uses::{Use, Uses};
use super::{Branch, Counts, Limited, Plan, Request, Scatter, Wanted, Write, facts};

/// A row: the step, its result, details.
pub type Row = [String; 3];

/// Writes down the plan of a statement. The first row names the way and why no cheaper one was
/// taken; then come the tables of the layout, the texts of the shards, and how rows are merged.
pub fn explain(request: &Request<'_>, plan: &Plan) -> Vec<Row> {
    let mut rows = vec![way(request, plan)];
    if *plan != Plan::Home {
        rows.extend(tables(request));
    }
    match plan {
        Plan::Home | Plan::Refused(_) => {}
        Plan::One(branch) => rows.push(shard(request, branch)),
        Plan::Many(scatter) => {
            rows.extend(shards(request, &scatter.branches));
            rows.extend(merged(scatter));
        }
        Plan::Write(write) => {
            rows.extend(shards(request, &write.branches));
            rows.extend(changed(write));
        }
        Plan::Limited(limited) => rows.extend(of_limited(request, limited)),
        Plan::Load(load) => rows.extend(shards(request, &load.branches)),
        Plan::Each(branches) => rows.extend(shards(request, branches)),
        Plan::NeedsIds(wanted) => rows.push(needed(wanted)),
    }
    rows
}

fn row(step: impl Into<String>, result: impl Into<String>, detail: impl Into<String>) -> Row {
    [step.into(), result.into(), detail.into()]
}

fn way(request: &Request<'_>, plan: &Plan) -> Row {
    match plan {
        Plan::Home => row("shards", "home", "the statement names no table of the layout"),
        Plan::One(_) => row("shards", "route", "one server has all rows that the statement concerns"),
        Plan::Many(scatter) => row("shards", "merge", format!("no route: {}", why(scatter.why))),
        Plan::Write(write) if write.branches.len() < 2 => {
            row("shards", "route", "one server has all rows that the statement changes")
        }
        Plan::Write(write) if write.counts == Counts::Same => {
            row("shards", "write", "each server has all rows")
        }
        Plan::Write(write) => row("shards", "write", format!("no route: {}", why(write.why))),
        Plan::Limited(limited) if limited.keys.is_some() => {
            row("shards", "keys first", format!("no route: {}", why(limited.why)))
        }
        Plan::Limited(limited) => row("shards", "write in turn", format!("no route: {}", why(limited.why))),
        Plan::Load(load) if load.counts == Counts::Same => {
            row("shards", "load", "each server gets all lines of the file")
        }
        Plan::Load(_) => row("shards", "load", "each line of the file goes to the shard of its key"),
        Plan::Each(_) => row("shards", "each node", "the statement defines a table"),
        Plan::NeedsIds(_) => row("shards", "ids first", "the shards depend on ids of the sequence"),
        Plan::Refused(refusal) => {
            let part = shown(refusal.span.of(request.sql));
            row("shards", "refused", format!("{}: {part}", refusal.cause.text()))
        }
    }
}

/// Why a statement is not routed to one server.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Covers => "the conditions need several shards",
        other => other.text(),
    }
}

/// A row for each table of the layout that the statement names.
fn tables(request: &Request<'_>) -> Vec<Row> {
    // Names that are not certain are the reason of the refusal.
    let Ok(uses) = Uses::of(request) else { return Vec::new() };
    let bound = Bound::of(request, &uses, &facts::of(request, &uses));
    let of_layout = uses.all().iter().enumerate().filter(|(_, table)| table.table.is_some());
    of_layout.map(|(number, table)| of_table(table, bound.prune(number))).collect()
}

fn of_table(named: &Use<'_>, prune: Option<&Prune>) -> Row {
    let Some(table) = named.table else { return Row::default() };
    let step = format!("table {}.{}", table.schema, table.name);
    let count = table.nodes().len();
    let keys = table.key_columns().join(", ");
    match (&table.kind, prune) {
        (TableKind::Sharded { .. }, Some(Prune::One(number))) => {
            row(step, format!("shard {number} of {count}"), format!("by {keys}"))
        }
        (TableKind::Sharded { .. }, Some(Prune::Some(some))) => {
            row(step, format!("shards {} of {count}", numbers(some)), format!("by {keys}"))
        }
        (TableKind::Sharded { .. }, Some(Prune::All(reason))) => {
            row(step, format!("all {count} shards"), format!("by {keys}: {reason}"))
        }
        (TableKind::Sharded { .. }, None) => row(step, format!("all {count} shards"), format!("by {keys}")),
        (TableKind::Reference { .. }, _) => row(step, "reference", format!("all rows on {count} servers")),
        (TableKind::Single { node }, _) => row(step, "single", format!("hostgroup {}", node.hostgroup)),
    }
}

fn numbers(shards: &Shards) -> String {
    let mut numbers: Vec<String> =
        shards.as_slice().iter().take(EXPLAINED_SHARDS_MAX).map(u32::to_string).collect();
    if shards.as_slice().len() > numbers.len() {
        numbers.push("...".to_owned());
    }
    numbers.join(", ")
}

fn shards(request: &Request<'_>, branches: &[Branch]) -> Vec<Row> {
    let mut rows: Vec<Row> =
        branches.iter().take(EXPLAINED_SHARDS_MAX).map(|branch| shard(request, branch)).collect();
    let left_out = branches.len() - rows.len();
    if left_out > 0 {
        rows.push(row("shard", "", format!("{left_out} more shards")));
    }
    rows
}

/// What one shard is sent.
fn shard(request: &Request<'_>, branch: &Branch) -> Row {
    let text = branch.text.as_deref().unwrap_or(request.sql);
    let how = if branch.text.is_some() { "rewritten" } else { "unchanged" };
    row(format!("shard in hostgroup {}", branch.hostgroup), how, shown(text))
}

/// How the rows of several shards become one result.
fn merged(scatter: &Scatter) -> Vec<Row> {
    let mut rows = vec![order(&scatter.order)];
    if scatter.window != Window::ALL {
        rows.push(row("limit", "over all shards", scatter.window.text()));
    }
    rows
}

/// The queries for the keys, and a change by them; or the change of each shard in its turn.
fn of_limited(request: &Request<'_>, limited: &Limited) -> Vec<Row> {
    let limit = Window::new(0, limited.limit).text();
    let Some(keys) = &limited.keys else {
        let turns: Vec<_> = (0..).map_while(|shard| limited.turn(shard, limited.limit)).collect();
        let mut rows = shards(request, &turns);
        rows.push(row("limit", "in turn", format!("{limit}: each shard changes as many rows as are left")));
        return rows;
    };
    let mut rows = shards(request, &keys.reads.branches);
    rows.push(order(&keys.reads.order));
    rows.push(row("limit", "over all shards", limit));
    let change = limited.changes.first().map(|change| change.filled(b"... "));
    rows.extend(
        change.map(|branch| row("change", "by keys", shown(branch.text.as_deref().unwrap_or_default()))),
    );
    rows
}

/// The rows of a split statement, and its ids.
fn changed(write: &Write) -> Vec<Row> {
    let mut rows = Vec::new();
    if !write.rows.is_empty() {
        let counts: Vec<_> = write.rows.iter().map(|rows| rows.len().to_string()).collect();
        rows.push(row("rows", "split", counts.join(", ")));
    }
    if let Some(ids) = &write.ids {
        let first = ids.first.map_or_else(|| "none".to_owned(), |first| format!("from {first}"));
        rows.push(row("ids", first, format!("of {}.{}", ids.schema, ids.table)));
    }
    rows
}

/// Ids that are missing. `EXPLAIN ROUTE` takes none.
fn needed(wanted: &Wanted) -> Row {
    row("ids", format!("{} wanted", wanted.count), format!("of {}.{}", wanted.schema, wanted.table))
}

fn order(order: &Order) -> Row {
    if order.is_empty() {
        return row("order", "none", "rows as they come");
    }
    let direction = |direction: Direction| match direction {
        Direction::Ascending => "ascending",
        Direction::Descending => "descending",
    };
    let parts: Vec<_> = order.parts().iter().map(|part| direction(part.direction)).collect();
    let columns = if parts.len() == 1 { "column" } else { "columns" };
    row("order", format!("by {} hidden {columns}", parts.len()), parts.join(", "))
}

/// A text for a row: not longer than the limit, and cut between characters.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().map(|(at, _)| at).find(|at| *at >= EXPLAINED_BYTES_MAX) {
        Some(at) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.into_owned(),
    }
}
