//! `INSERT` and `REPLACE`: each row goes to the shard of its key, as the server stores it.
//!
//! - `values`: the columns, and the values of each row;
//! - `ids`: rows that get an id of a sequence;
//! - `rows`: the shard of each row;
//! - `edits`: the rows of one shard as a text;
//! - `select`: rows that a query yields.

mod edits;
mod ids;
mod rows;
mod select;
mod values;

use shard::Table;
use sql::parse::{Kind, NodeId};

use super::bind::Bound;
use super::outcome::Plan;
use super::refusal::Cause;
use super::rewrite::Rewriter;
use super::uses::{Use, Uses};
use super::{Refusal, Request, facts, keys, targets};

/// A statement that inserts into a table of several nodes, or into one with a sequence.
pub(super) struct Insertion<'r, 'a> {
    request: &'r Request<'a>,
    uses: &'r Uses<'a>,
    /// The `Insert` or `Replace`.
    statement: NodeId,
    /// The number of the table among the uses.
    target: usize,
    used: &'r Use<'a>,
    table: &'a Table,
}

/// Plans the statement.
pub(super) fn plan(request: &Request<'_>, uses: &Uses<'_>, statement: NodeId) -> Result<Plan, Refusal> {
    keys::check(request, uses)?;
    let unknown = || Cause::Statement.at(request.tree.span(statement));
    let target = targets::of(request, uses, statement)?.first().copied().ok_or_else(unknown)?;
    let used = uses.get(target).ok_or_else(unknown)?;
    let is_spread = |table: &&Table| {
        table.nodes().len() > 1 || request.layout.sequence(&table.schema, &table.name).is_some()
    };
    let Some(table) = used.table.filter(is_spread) else { return on_one_server(request, uses, used) };
    let insertion = Insertion { request, uses, statement, target, used, table };
    let tree = request.tree;
    match tree.child(statement, Kind::Query) {
        Some(query) => select::plan(&insertion, query),
        None => rows::plan(&insertion),
    }
}

/// Plans an insertion into a table that one server has: its rows have to be there.
fn on_one_server(request: &Request<'_>, uses: &Uses<'_>, used: &Use<'_>) -> Result<Plan, Refusal> {
    let bound = Bound::of(request, uses, &facts::of(request, uses));
    match bound.one_server(request, uses) {
        Some(places) => Rewriter::new(request, uses).one(&places, &[]).map(Plan::One),
        None => Err(Cause::Gather.at(used.reference.name)),
    }
}
