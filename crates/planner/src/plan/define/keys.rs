//! Keys that would hold within a shard only.

use shard::{Table, Unique};

use crate::plan::refusal::Cause;
use crate::plan::uses::{Use, Uses};
use crate::plan::{Refusal, Request};

use super::items::{self, Item, ItemKind};
use super::tokens::Tokens;
use super::{Further, What};

/// Checks a definition. Returns how it names further tables.
pub(super) fn check<'t>(
    request: &Request<'_>,
    uses: &Uses<'_>,
    tokens: &'t Tokens<'_>,
    what: What,
) -> Result<impl Fn(&Use<'_>) -> Further + use<'t>, Refusal> {
    let further = |table: &Use<'_>| match word_before(tokens, table).as_str() {
        "REFERENCES" => Further::Referenced,
        _ => Further::Changed,
    };
    let Some((first, table)) = uses.get(0).and_then(|first| Some((first, first.table?))) else {
        return Ok(further);
    };
    let body = tokens.behind(first.reference.name.end);
    if what == What::Create {
        check_template(uses, tokens, table)?;
    }
    for item in items::items(tokens, what, body) {
        if tokens.is_conditional(&item.range) {
            return Err(Cause::Conditional.at(tokens.span(&item.range)));
        }
        if let Some(cause) = cause(request, uses, tokens, (first, table), &item) {
            return Err(cause.at(tokens.span(&item.range)));
        }
    }
    Ok(further)
}

/// The word in front of a table's name.
fn word_before(tokens: &Tokens<'_>, table: &Use<'_>) -> String {
    let start = table.reference.schema.unwrap_or(table.reference.name).start;
    tokens.behind(start).checked_sub(1).map(|at| tokens.word(at)).unwrap_or_default()
}

/// `CREATE TABLE ... LIKE` takes the keys of the other table.
fn check_template(uses: &Uses<'_>, tokens: &Tokens<'_>, table: &Table) -> Result<(), Refusal> {
    let template = uses.all().iter().find(|other| word_before(tokens, other) == "LIKE");
    let Some((other, keys)) = template.and_then(|other| Some((other, other.table?.key_columns()))) else {
        return Ok(());
    };
    let is_same = keys == table.key_columns() || table.unique() == Unique::Unchecked;
    if is_same { Ok(()) } else { Err(Cause::Unique.at(other.reference.name)) }
}

/// Why an item is refused.
fn cause(
    request: &Request<'_>,
    uses: &Uses<'_>,
    tokens: &Tokens<'_>,
    (first, table): (&Use<'_>, &Table),
    item: &Item,
) -> Option<Cause> {
    let is_spread = table.placement().is_some_and(|placement| placement.nodes() > 1);
    let is_checked = table.unique() == Unique::Checked;
    let is_key = |name: &String| table.key_columns().iter().any(|key| key.to_lowercase() == *name);
    match &item.kind {
        ItemKind::Change(name) => is_key(name).then_some(Cause::Key),
        ItemKind::Unique(columns) => {
            let mut keys = table.key_columns().iter();
            let has_keys = keys.all(|key| columns.contains(&key.to_lowercase()));
            (is_spread && is_checked && !has_keys).then_some(Cause::Unique)
        }
        ItemKind::Foreign { columns, references } => {
            let holds =
                !is_checked || refers_to_own_shard(request, uses, tokens, first, columns, *references);
            (!holds).then_some(Cause::Foreign)
        }
        ItemKind::Named => has_neighbours(table).then_some(Cause::Constraint),
    }
}

/// Whether several nodes are in one schema of a server.
fn has_neighbours(table: &Table) -> bool {
    let mut places: Vec<_> = table.nodes().iter().map(|node| (node.hostgroup, &node.schema)).collect();
    places.sort_unstable();
    let all = places.len();
    places.dedup();
    places.len() < all
}

/// Whether the rows that others refer to are on the same server: each server has all rows of the
/// table, or both tables are colocated and the keys refer to the keys.
fn refers_to_own_shard(
    request: &Request<'_>,
    uses: &Uses<'_>,
    tokens: &Tokens<'_>,
    first: &Use<'_>,
    columns: &[String],
    references: usize,
) -> bool {
    let is_meant = |table: &&Use<'_>| {
        let start = table.reference.schema.unwrap_or(table.reference.name).start;
        tokens.behind(start) == references + 1
    };
    let Some(parent) = uses.all().iter().find(is_meant) else { return false };
    let Some((child, other)) = first.table.zip(parent.table) else { return false };
    if parent.is_reference() {
        return true;
    }
    let is_colocated = first.schema == parent.schema
        && (first.name == parent.name
            || request.layout.is_colocated(&first.schema, [&first.name, &parent.name]));
    let open = tokens.behind(parent.reference.name.end);
    let referenced = if tokens.is_sign(open, b'(') { items::parts(tokens, open) } else { Vec::new() };
    let mut keys = child.key_columns().iter().zip(other.key_columns());
    is_colocated
        && !child.key_columns().is_empty()
        && keys.all(|(own, others)| {
            let mut pairs = columns.iter().zip(&referenced);
            pairs.any(|(column, refers)| *column == own.to_lowercase() && *refers == others.to_lowercase())
        })
}
