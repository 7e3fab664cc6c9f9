//! Statements that define tables of several nodes, once for each node, and those that look after
//! them.
//!
//! - `tokens`: the words of such a statement, which the parser does not read;
//! - `items`: what it says of columns and keys;
//! - `keys`: which of these do not hold over several shards.

mod items;
mod keys;
mod tokens;

use shard::{Node, Reason, TableKind};
use sql::digest::Span;
use sql::parse::{Kind, NodeId};

use crate::merge::{Order, Window};

use super::outcome::{Branch, Plan, Scatter};
use super::refusal::Cause;
use super::rewrite::Rewriter;
use super::uses::{Use, Uses};
use super::{Refusal, Request};

pub(super) use tokens::Tokens;

/// What a statement does with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// `CREATE TABLE`.
    Create,
    /// `ALTER TABLE`.
    Alter,
    /// `CREATE UNIQUE INDEX`.
    UniqueIndex,
    /// `DROP TABLE`, `TRUNCATE`, other indexes: nothing that could break over several shards.
    Plain,
    /// `ANALYZE`, `CHECK`, `OPTIMIZE`, `REPAIR`, which answer with rows.
    Maintain,
    /// `RENAME TABLE`.
    Rename,
}

/// Plans the statement, if it is of that sort and the first table has several nodes.
pub(super) fn plan(
    request: &Request<'_>,
    uses: &Uses<'_>,
    statement: NodeId,
) -> Result<Option<Plan>, Refusal> {
    let tokens = Tokens::of(request);
    let Some(what) = what(&tokens) else { return Ok(None) };
    if let Some(named) = uses.all().iter().find(|table| table.table.is_some())
        && what == What::Rename
    {
        return Err(Cause::Rename.at(named.reference.name));
    }
    let Some(first) = uses.get(0) else { return Ok(None) };
    if what == What::Alter {
        items::check_rename(&tokens, first)?;
    }
    if matches!(first.table.map(|table| &table.kind), Some(TableKind::Single { .. })) {
        return Ok(None);
    }
    if let Some(query) = request.tree.child(statement, Kind::Query) {
        return Err(Cause::Gather.at(request.tree.span(query)));
    }
    let further = keys::check(request, uses, &tokens, what)?;
    let branches = branches(request, uses, further)?;
    Ok(Some(match what {
        What::Maintain => {
            let why = if first.is_reference() { Reason::Reference } else { Reason::NoCondition };
            Plan::Many(Scatter { branches, order: Order::default(), window: Window::ALL, why })
        }
        _ => Plan::Each(branches),
    }))
}

/// What a statement does, by its first words; none if it does not define tables.
fn what(tokens: &Tokens<'_>) -> Option<What> {
    let verb = tokens.word(0);
    let mut at = 1;
    let mut is_unique = false;
    while let "OR" | "REPLACE" | "ONLINE" | "OFFLINE" | "IGNORE" | "UNIQUE" | "FULLTEXT" | "SPATIAL"
    | "LOCAL" | "NO_WRITE_TO_BINLOG" = tokens.word(at).as_str()
    {
        is_unique |= tokens.word(at) == "UNIQUE";
        at += 1;
    }
    Some(match (verb.as_str(), tokens.word(at).as_str()) {
        ("CREATE", "TABLE") => What::Create,
        ("ALTER", "TABLE") => What::Alter,
        ("CREATE", "INDEX") if is_unique => What::UniqueIndex,
        ("DROP", "TABLE" | "TABLES" | "INDEX") | ("CREATE", "INDEX") | ("TRUNCATE", _) => What::Plain,
        ("ANALYZE" | "CHECK" | "OPTIMIZE" | "REPAIR", "TABLE" | "TABLES") => What::Maintain,
        ("RENAME", "TABLE" | "TABLES") => What::Rename,
        _ => return None,
    })
}

/// How a table is named besides the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Further {
    /// As one that the statement defines as well: it has to have the same nodes.
    Changed,
    /// As one that rows refer to: it has to be there on each server.
    Referenced,
}

/// The statement for each node of the first table.
fn branches(
    request: &Request<'_>,
    uses: &Uses<'_>,
    further: impl Fn(&Use<'_>) -> Further,
) -> Result<Vec<Branch>, Refusal> {
    let apart = |table: &Use<'_>| Cause::ServersDiffer.at(table.reference.name);
    let nodes_of = |table: &Use<'_>| table.table.map_or(0, |table| table.nodes().len());
    let whole = Cause::Statement.at(Span { start: 0, end: request.sql.len() });
    let first = uses.get(0).ok_or(whole)?;
    let is_like = |table: &&Use<'_>| {
        table.is_sharded() == first.is_sharded() && nodes_of(table) == nodes_of(first)
            || further(table) == Further::Referenced && table.is_reference()
    };
    if let Some(other) = uses.all().iter().find(|table| table.table.is_none() || !is_like(table)) {
        return Err(apart(other));
    }
    let nodes = first.table.map_or(&[][..], |table| table.nodes());
    let rewriter = Rewriter::new(request, uses);
    let branch = |(shard, node): (usize, &Node)| {
        rewriter.branch(node.hostgroup, &uses.nodes_beside(shard, node)?, &[])
    };
    nodes.iter().enumerate().map(branch).collect()
}
