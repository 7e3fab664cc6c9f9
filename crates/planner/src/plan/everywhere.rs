//! Changes of reference tables: each server makes the same change of the same rows.

use shard::{Node, Reason};
use sql::parse::{Kind, NodeId, Step};

use super::change;
use super::outcome::{Counts, Ids, Plan, Write};
use super::refusal::Cause;
use super::rewrite::{Edit, Rewriter};
use super::steady::{self, Rows};
use super::uses::Uses;
use super::{Refusal, Request};

/// Aggregates whose value depends on the order of rows.
const OF_AN_ORDER: [&[u8]; 3] = [b"GROUP_CONCAT", b"JSON_ARRAYAGG", b"JSON_OBJECTAGG"];

/// Plans a change of the rows of the table with the number `target`.
pub(super) fn plan(
    request: &Request<'_>,
    uses: &Uses<'_>,
    statement: NodeId,
    target: usize,
) -> Result<Plan, Refusal> {
    with_edits(request, uses, (statement, target), &[], None)
}

/// Plans a change whose text has the same edits for all servers.
pub(super) fn with_edits(
    request: &Request<'_>,
    uses: &Uses<'_>,
    (statement, target): (NodeId, usize),
    edits: &[Edit],
    ids: Option<Ids>,
) -> Result<Plan, Refusal> {
    change::check_tables(uses)?;
    if let Some(sharded) = uses.all().iter().find(|table| table.is_sharded()) {
        return Err(Cause::Gather.at(sharded.reference.name));
    }
    change::check_clauses(request, statement)?;
    check_order(request, statement)?;
    if request.tree.kind(statement) == Kind::Update
        && let Some(joined) = uses.get(1)
    {
        // Which of several rows gives the value depends on the server.
        return Err(Cause::SomeRows.at(joined.reference.name));
    }
    steady::check(request, Rows::Everywhere)?;
    let nodes = uses.get(target).and_then(|table| table.table).map_or(&[][..], |table| table.nodes());
    let rewriter = Rewriter::new(request, uses);
    let branch = |node: &Node| rewriter.branch(node.hostgroup, &uses.nodes_beside(0, node)?, edits);
    let mut branches = nodes.iter().map(branch).collect::<Result<Vec<_>, _>>()?;
    if ids.is_none() && branches.len() == 1 {
        return Ok(branches.pop().map_or(Plan::Home, Plan::One));
    }
    Ok(Plan::Write(Write { branches, rows: Vec::new(), counts: Counts::Same, ids, why: Reason::Reference }))
}

/// Refuses changes whose result depends on the order in which a server comes to rows: rows left out
/// or replaced because others have their keys, and limits.
fn check_order(request: &Request<'_>, statement: NodeId) -> Result<(), Refusal> {
    let tree = request.tree;
    let query = tree.child(statement, Kind::Query);
    let depends = |id: &NodeId| match tree.kind(*id) {
        Kind::Limit { .. } | Kind::WindowCall => true,
        Kind::Aggregate => tree.children(*id).next().is_some_and(|name| {
            let name = tree.span(name).of(request.sql);
            OF_AN_ORDER.iter().any(|other| name.eq_ignore_ascii_case(other))
        }),
        _ => false,
    };
    let entered = tree.root().into_iter().flat_map(|root| tree.walk(root)).filter_map(|step| match step {
        Step::Enter(id) => Some(id),
        Step::Leave(_) => None,
    });
    if let Some(id) = entered.into_iter().find(depends) {
        return Err(Cause::SomeRows.at(tree.span(id)));
    }
    let is_change = tree.kind(statement) == Kind::Update;
    for id in tree.children(statement) {
        let is_ignored = tree.span(id).of(request.sql).eq_ignore_ascii_case(b"IGNORE");
        let depends = match tree.kind(id) {
            Kind::Option => is_ignored && (is_change || query.is_some()),
            Kind::OnDuplicate => query.is_some(),
            _ => false,
        };
        if depends {
            return Err(Cause::SomeRows.at(tree.span(id)));
        }
    }
    match query {
        Some(query) if tree.kind(statement) == Kind::Replace => Err(Cause::SomeRows.at(tree.span(query))),
        _ => Ok(()),
    }
}
