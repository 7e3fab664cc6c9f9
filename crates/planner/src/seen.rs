//! What clients see of tables: logical names in the place of physical ones.
//!
//! Statements that ask for tables (`SHOW`, `DESCRIBE`, `information_schema`) are answered by the
//! server that has a node of the table, or by the home and such servers together. Their texts are
//! rewritten so that the rows have logical names and no further nodes:
//!
//! - [`Names`]: the physical names at the servers of one hostgroup, and what clients call them;
//! - [`seen`](fn@seen): where a statement about tables goes;
//! - [`Cells`]: what is left to be replaced in the rows of the answer;
//! - [`node`]: the node that stands for a table.

mod cells;
mod list;
mod names;
mod schema;
mod single;
mod source;
mod words;

use shard::{Layout, Node, Table};
use sql::Dialect;
use sql::parse::Kind;

use crate::plan::{Branch, Plan, Refusal, Request};

pub use cells::Cells;
pub use names::Names;

use source::Hosts;

/// The session that asks.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    /// Hostgroup of tables that the layout does not name, where the layout has no home for them.
    pub home: u32,
    /// The servers.
    pub dialect: Dialect,
}

/// How a statement about tables is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Where it goes.
    pub plan: Plan,
    /// What is replaced in the rows of the answer.
    pub cells: Cells,
}

impl Seen {
    /// What is not about tables alone: rows of `CHECK TABLE` and the like have their names, and
    /// other statements answer with the rows that are asked for.
    pub fn of_plan(request: &Request<'_>, plan: Plan) -> Self {
        let tree = request.tree;
        let statement = tree.root().and_then(|root| tree.children(root).next());
        let is_utility = statement.is_some_and(|id| tree.kind(id) == Kind::Utility);
        let has_paths = is_utility && matches!(plan, Plan::Many(_));
        Self { plan, cells: if has_paths { Cells::Path } else { Cells::Plain } }
    }

    const fn plain(plan: Plan) -> Self {
        Self { plan, cells: Cells::Plain }
    }
}

/// How a statement about tables is answered; none if it is about something else, so that
/// [`plan`](fn@crate::plan::plan) decides.
pub fn seen(request: &Request<'_>, asker: Asker) -> Option<Seen> {
    let tree = request.tree;
    let statement = tree.children(tree.root()?).next()?;
    match tree.kind(statement) {
        Kind::Explain => single::described(request, statement),
        Kind::Utility => single::shown(request, statement).or_else(|| list::shown(request, statement, asker)),
        Kind::Query => schema::queried(request, asker).map(Seen::plain),
        _ => None,
    }
}

/// A statement that tells what one with this text is: whatever its parameters are, it has the same
/// columns. None if the home of other tables has it.
///
/// # Errors
/// If its tables are not beside each other on any server.
pub fn sample(request: &Request<'_>, asker: Asker) -> Result<Option<Branch>, Refusal> {
    let Some(seen) = seen(request, asker) else { return crate::plan::sample(request) };
    let at_home = || Branch { hostgroup: asker.home, ..Branch::default() };
    Ok(match seen.plan {
        Plan::Home => None,
        Plan::One(branch) => Some(branch),
        Plan::Many(scatter) => scatter.branches.into_iter().next(),
        // It may be answered with the values of its parameters.
        _ => Some(at_home()),
    })
}

/// The node that stands for a table where one of them has to: for `DESCRIBE`, `SHOW CREATE TABLE`
/// and `COM_FIELD_LIST`. All nodes have the same definition.
pub fn node<'a>(layout: &Layout, table: &'a Table) -> Option<&'a Node> {
    Hosts::of(layout, None).node_of(table)
}

#[cfg(test)]
mod tests;
