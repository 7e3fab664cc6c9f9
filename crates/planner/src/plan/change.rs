//! `UPDATE` and `DELETE`: on one server, or on each of several for itself.

use sql::parse::{Kind, NodeId};

use super::bind::Bound;
use super::outcome::{Counts, Plan, Write};
use super::refusal::Cause;
use super::rewrite::Rewriter;
use super::steady::{self, Rows};
use super::uses::{Use, Uses};
use super::{Refusal, Request, everywhere, facts, keys, limited, targets};

/// Plans the change.
pub(super) fn plan(request: &Request<'_>, uses: &Uses<'_>, statement: NodeId) -> Result<Plan, Refusal> {
    keys::check(request, uses)?;
    let targets = targets::of(request, uses, statement)?;
    let is_reference = |number: &&usize| uses.get(**number).is_some_and(Use::is_reference);
    if let Some(reference) = targets.iter().find(is_reference) {
        if !targets.iter().all(|number| is_reference(&number)) {
            let name =
                uses.get(*reference).map_or(request.tree.span(statement), |table| table.reference.name);
            return Err(Cause::Reference.at(name));
        }
        return everywhere::plan(request, uses, statement, *reference);
    }
    let bound = Bound::of(request, uses, &facts::of(request, uses));
    if let Some(places) = bound.one_server(request, uses) {
        return Rewriter::new(request, uses).one(&places, &[]).map(Plan::One);
    }
    if let Some(other) =
        targets.iter().filter_map(|number| uses.get(*number)).find(|table| !table.is_sharded())
    {
        return Err(Cause::Gather.at(other.reference.name));
    }
    check_tables(uses)?;
    let (shards, why) = bound.shards(request, uses)?;
    if let Some(limit) = request.tree.child(statement, Kind::Limit { ties: false }) {
        return limited::plan(request, uses, (statement, limit), (&shards, why));
    }
    check_clauses(request, statement)?;
    steady::check(request, Rows::Apart)?;
    let branches = Rewriter::new(request, uses).many(&shards, &[])?;
    Ok(Plan::Write(Write { branches, rows: Vec::new(), counts: Counts::Sum, ids: None, why }))
}

/// Refuses tables that only one server has.
pub(super) fn check_tables(uses: &Uses<'_>) -> Result<(), Refusal> {
    match uses.all().iter().find(|table| table.table.is_none()) {
        Some(table) => Err(Cause::ServersDiffer.at(table.reference.name)),
        None => Ok(()),
    }
}

/// Refuses clauses that concern the rows of all servers together.
///
/// Without a `LIMIT` an order is one of the rows of each server.
pub(super) fn check_clauses(request: &Request<'_>, statement: NodeId) -> Result<(), Refusal> {
    let tree = request.tree;
    for id in tree.children(statement) {
        let cause = match tree.kind(id) {
            Kind::Limit { .. } => Cause::SomeRows,
            Kind::Returning | Kind::Portion | Kind::Opaque => Cause::Clause,
            _ => continue,
        };
        return Err(cause.at(tree.span(id)));
    }
    Ok(())
}
