//! Statements whose server a hint names: `/* shard=2 */`, `/* shard=shop.orders_3 */`.
//!
//! A hint takes the place of the proof that one server has all rows. Rows are not inserted where
//! their keys are not looked for, and tables that each server has are not changed on one.

use shard::{Node, Reason, Table};
use sql::digest::Span;
use sql::parse::{Kind, NodeId};
use sql::{Shape, StatementKind};

use super::outcome::{Branch, Plan};
use super::refusal::Cause;
use super::rewrite::Rewriter;
use super::uses::{Use, Uses};
use super::{Refusal, Request, keys, targets, unhinted};

/// The place that a hint names.
#[derive(Clone, Copy)]
struct Place {
    hostgroup: u32,
    /// The shard, if the hint names a node.
    shard: Option<usize>,
}

/// Plans a statement with a hint.
pub(super) fn plan(request: &Request<'_>, uses: &Uses<'_>, hint: &str) -> Result<Plan, Refusal> {
    let tree = request.tree;
    let whole = Span { start: 0, end: request.sql.len() };
    let refused = Cause::Hint.at(whole);
    let root = tree.root().ok_or(refused)?;
    let statement = tree.children(root).find(|id| !matches!(tree.kind(*id), Kind::With { .. }));
    let statement = statement.map(|id| (id, tree.kind(id)));
    let is_plain = uses.all().iter().all(|table| table.table.is_none());
    match statement {
        // What a statement sets or begins is of the session, not of a server.
        Some((_, Kind::Command)) => return unhinted(request, uses),
        Some((_, Kind::Utility))
            if is_plain && !is_show(request) && targets::check_nodes(request, uses).is_ok() =>
        {
            return unhinted(request, uses);
        }
        _ => {}
    }
    let place = place(request, uses, hint).ok_or(refused)?;
    if is_plain {
        return Ok(Plan::One(Branch { hostgroup: place.hostgroup, ..Branch::default() }));
    }
    match statement {
        Some((_, Kind::Insert | Kind::Replace)) => inserted(request, uses, place),
        Some((id, Kind::Update | Kind::Delete)) => {
            check_targets(request, uses, id)?;
            one(request, uses, place)
        }
        _ => {
            targets::check_reference(request, uses)?;
            one(request, uses, place)
        }
    }
}

fn is_show(request: &Request<'_>) -> bool {
    matches!(Shape::of(request.sql, request.modes).kind, StatementKind::Show | StatementKind::ShowTableStatus)
}

/// The place by its hostgroup, or by the name of a node of a table of the statement.
fn place(request: &Request<'_>, uses: &Uses<'_>, hint: &str) -> Option<Place> {
    if let Ok(hostgroup) = hint.parse::<u32>() {
        let mut nodes = request.layout.tables().iter().flat_map(Table::nodes);
        return nodes.any(|node| node.hostgroup == hostgroup).then_some(Place { hostgroup, shard: None });
    }
    let (hostgroup, name) = match hint.split_once('/') {
        Some((hostgroup, name)) => (Some(hostgroup.parse::<u32>().ok()?), name),
        None => (None, hint),
    };
    let (schema, name) = name.split_once('.').map_or((None, name), |(schema, name)| (Some(schema), name));
    let is_meant = |node: &Node| {
        node.table == name
            && schema.is_none_or(|schema| node.schema == schema)
            && hostgroup.is_none_or(|hostgroup| node.hostgroup == hostgroup)
    };
    let tables = uses.all().iter().filter_map(|table| table.table);
    let nodes = tables.flat_map(|table| table.nodes().iter().enumerate());
    let mut found: Vec<_> = nodes.filter(|(_, node)| is_meant(node)).collect();
    found.dedup();
    match *found.as_slice() {
        [(shard, node)] => Some(Place { hostgroup: node.hostgroup, shard: Some(shard) }),
        _ => None,
    }
}

/// The statement at the place that a hint names, with the nodes that are there.
fn one(request: &Request<'_>, uses: &Uses<'_>, place: Place) -> Result<Plan, Refusal> {
    let nodes = uses.all().iter().map(|table| node_of(table, place)).collect::<Result<Vec<_>, _>>()?;
    Rewriter::new(request, uses).branch(place.hostgroup, &nodes, &[]).map(Plan::One)
}

/// The node of a table at a place. Of a sharded table there must be just one.
fn node_of<'a>(table: &Use<'a>, place: Place) -> Result<Option<&'a Node>, Refusal> {
    let refused = Cause::Hint.at(table.reference.name);
    let is_meant = |(shard, node): &(usize, &Node)| {
        let is_shard = place.shard.is_none_or(|meant| meant == *shard) || !table.is_sharded();
        node.hostgroup == place.hostgroup && is_shard
    };
    let mut found = table.table.ok_or(refused)?.nodes().iter().enumerate().filter(is_meant);
    match (found.next(), found.next()) {
        (Some((_, node)), None) => Ok(Some(node)),
        (Some((_, node)), Some(_)) if !table.is_sharded() => Ok(Some(node)),
        _ => Err(refused),
    }
}

/// Refuses changes of keys, and of tables that each server has.
fn check_targets(request: &Request<'_>, uses: &Uses<'_>, statement: NodeId) -> Result<(), Refusal> {
    keys::check(request, uses)?;
    let targets = targets::of(request, uses, statement)?;
    let mut targets = targets.iter().filter_map(|number| uses.get(*number));
    match targets.find(|table| table.is_reference()) {
        Some(table) => Err(Cause::Reference.at(table.reference.name)),
        None => Ok(()),
    }
}

/// Rows go where they belong; a hint decides where nothing else does.
fn inserted(request: &Request<'_>, uses: &Uses<'_>, place: Place) -> Result<Plan, Refusal> {
    let is_there = |branch: &Branch| branch.hostgroup == place.hostgroup;
    match unhinted(request, uses) {
        Err(Refusal { cause: Cause::Row(Reason::Hint), .. }) if is_hinted_only(request, uses) => {
            one(request, uses, place)
        }
        Err(Refusal { cause: Cause::Row(Reason::Hint), .. }) => Err(elsewhere(request)),
        Ok(Plan::One(branch)) if !is_there(&branch) => Err(elsewhere(request)),
        Ok(Plan::Write(write)) if !write.branches.iter().all(is_there) => Err(elsewhere(request)),
        planned => planned,
    }
}

/// Whether nothing but hints says where rows of the first table go, and nothing makes ids for them.
fn is_hinted_only(request: &Request<'_>, uses: &Uses<'_>) -> bool {
    uses.get(0).is_some_and(|first| {
        let has_key = first.table.is_some_and(|table| !table.key_columns().is_empty());
        !has_key && request.layout.sequence(&first.schema, &first.name).is_none()
    })
}

fn elsewhere(request: &Request<'_>) -> Refusal {
    Cause::Hint.at(Span { start: 0, end: request.sql.len() })
}
