//! The shard of each row of an `INSERT ... VALUES` or `INSERT ... SET`.

use std::collections::BTreeMap;

use shard::{ColumnType, Reason, Shard, Value};
use sql::lexer::Charset;
use sql::parse::{Kind, NodeId};

use crate::plan::bind::Bound;
use crate::plan::columns::{self, ColumnOf};
use crate::plan::facts::{self, Facts};
use crate::plan::outcome::{Counts, Plan, Write};
use crate::plan::refusal::Cause;
use crate::plan::rewrite::Rewriter;
use crate::plan::steady::{self, Rows};
use crate::plan::{Refusal, change, everywhere, text};

use super::Insertion;
use super::edits;
use super::ids::{self, Assigned, Outcome};
use super::values::{Given, Row, Values};

/// Plans the statement.
pub(super) fn plan(insertion: &Insertion<'_, '_>) -> Result<Plan, Refusal> {
    let Insertion { request, uses, statement, target, table, .. } = *insertion;
    let values = Values::of(insertion)?;
    let assigned = match ids::assign(insertion, &values)? {
        Outcome::None => None,
        Outcome::Assigned(assigned) => Some(assigned),
        Outcome::Wanted(wanted) => return Ok(Plan::NeedsIds(wanted)),
    };
    if table.placement().is_none() {
        let all: Vec<_> = (0..values.rows.len()).collect();
        let rewriter = Rewriter::new(request, uses);
        let edits = edits::of(insertion, &values, assigned.as_ref(), &all, rewriter.last_ids());
        let ids = assigned.map(|assigned| assigned.ids);
        return everywhere::with_edits(request, uses, (statement, target), &edits, ids);
    }
    let shards = by_shard(insertion, &values, assigned.as_ref())?;
    // A statement of one table has no facts: its rows are all there is to look at.
    let facts = if uses.all().len() > 1 { facts::of(request, uses) } else { Facts::default() };
    let mut bound = Bound::of(request, uses, &facts);
    if shards.len() > 1 {
        steady::check(request, Rows::Apart)?;
    }
    if shards.len() > 1 || assigned.is_some() {
        change::check_clauses(request, statement)?;
    }
    let rewriter = Rewriter::new(request, uses);
    let mut branches = Vec::with_capacity(shards.len());
    for (shard, rows) in &shards {
        bound.place(target, *shard);
        let others = || uses.all().iter().enumerate().find(|(number, _)| *number != target);
        let name = others().map_or(insertion.used.reference.name, |(_, table)| table.reference.name);
        let places = bound.one_server(request, uses).ok_or(Cause::Gather.at(name))?;
        let edits = edits::of(insertion, &values, assigned.as_ref(), rows, rewriter.last_ids());
        branches.push(rewriter.one(&places, &edits)?);
    }
    if assigned.is_none() && branches.len() == 1 {
        return Ok(branches.pop().map_or(Plan::Home, Plan::One));
    }
    let number = |row: &usize| u32::try_from(*row).unwrap_or(u32::MAX).saturating_add(1);
    let numbers = |rows: &Vec<usize>| rows.iter().map(number).collect();
    let (rows, counts) = if shards.len() > 1 {
        (shards.values().map(numbers).collect(), Counts::Rows { ignores: ignores(insertion) })
    } else {
        (Vec::new(), Counts::Sum)
    };
    let ids = assigned.map(|assigned| assigned.ids);
    Ok(Plan::Write(Write { branches, rows, counts, ids, why: Reason::Rows }))
}

/// Whether the statement leaves out rows that are there already.
fn ignores(insertion: &Insertion<'_, '_>) -> bool {
    let Insertion { request, statement, .. } = *insertion;
    let tree = request.tree;
    let mut options = tree.children(statement).filter(|id| tree.kind(*id) == Kind::Option);
    options.any(|id| tree.span(id).of(request.sql).eq_ignore_ascii_case(b"IGNORE"))
}

/// The rows of each shard, by their positions.
fn by_shard(
    insertion: &Insertion<'_, '_>,
    values: &Values,
    assigned: Option<&Assigned>,
) -> Result<BTreeMap<Shard, Vec<usize>>, Refusal> {
    let keys = keys(insertion, values, assigned);
    let mut found: BTreeMap<Shard, Vec<usize>> = BTreeMap::new();
    for (number, row) in values.rows.iter().enumerate() {
        let id = assigned.and_then(|assigned| assigned.rows.get(number).copied().flatten());
        found.entry(shard_of(insertion, &keys, row, id)?).or_default().push(number);
    }
    Ok(found)
}

/// A key column of the table.
struct KeyColumn<'a> {
    name: &'a str,
    column: ColumnType,
    /// Its position, if the statement names it.
    at: Option<usize>,
    /// It is the one that gets ids.
    has_ids: bool,
}

fn keys<'a>(
    insertion: &Insertion<'_, 'a>,
    values: &Values,
    assigned: Option<&Assigned>,
) -> Vec<KeyColumn<'a>> {
    let key = |name: &'a String| {
        let column = ColumnOf { table: insertion.target, name: name.to_lowercase() };
        KeyColumn {
            name,
            column: columns::compares(insertion.request, insertion.uses, &column),
            at: values.position(name),
            has_ids: assigned.is_some_and(|assigned| assigned.column.eq_ignore_ascii_case(name)),
        }
    };
    insertion.table.key_columns().iter().map(key).collect()
}

/// The shard of a row: of what the server stores in its key columns.
fn shard_of(
    insertion: &Insertion<'_, '_>,
    keys: &[KeyColumn<'_>],
    row: &Row,
    id: Option<u64>,
) -> Result<Shard, Refusal> {
    let Some(placement) = insertion.table.placement() else { return Ok(0) };
    if placement.nodes() == 1 {
        return Ok(0);
    }
    let tree = insertion.request.tree;
    let mut stored = Vec::with_capacity(keys.len());
    let mut span = row.span;
    for key in keys {
        let value = match (Values::given(insertion, row, key.at), id) {
            (_, Some(id)) if key.has_ids => Stored::Value(ids::value(id)),
            (Given::Value(at, value), _) => {
                span = tree.span(at);
                Stored::Value(value)
            }
            (Given::Default(_), _) => {
                let (schema, table) = (&insertion.used.schema, &insertion.used.name);
                let known = insertion.request.definitions.default_value(schema, table, key.name);
                // Definitions come in UTF-8, whatever the column stores.
                let is_certain = |value: &Value<'_>| match value {
                    Value::Text(text) => text.is_ascii() || key.column == ColumnType::Text,
                    _ => true,
                };
                let known = known.filter(is_certain);
                Stored::Value(known.ok_or(Cause::Row(Reason::NoCondition).at(row.span))?)
            }
            (Given::Expression(at), _) => {
                span = tree.span(at);
                let text = text_of(insertion, key.column, at);
                Stored::Text(text.ok_or(Cause::Row(Reason::NoCondition).at(span))?)
            }
        };
        stored.push((key.column, value));
    }
    let values: Vec<_> = stored.iter().map(|(column, value)| (*column, value.as_value())).collect();
    placement.place(&values).map_err(|reason| Cause::Row(reason).at(span))
}

/// A value of a key column.
enum Stored<'a> {
    Value(Value<'a>),
    Text(Vec<u8>),
}

impl Stored<'_> {
    fn as_value(&self) -> Value<'_> {
        match self {
            Self::Value(value) => *value,
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// The text that a string with escapes is, if the column stores these bytes. Where texts are
/// compared other than by bytes any shard is right, as long as equal strings share it.
fn text_of(insertion: &Insertion<'_, '_>, column: ColumnType, id: NodeId) -> Option<Vec<u8>> {
    let request = insertion.request;
    let bytes = text::unescaped(request, id)?;
    let is_certain = bytes.is_ascii() || column == ColumnType::Text;
    (is_certain && request.modes.charset == Charset::Plain).then_some(bytes)
}
