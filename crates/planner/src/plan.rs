//! Where a statement over sharded tables goes, and why.
//!
//! Ways are tried in this order; the first whose proof succeeds is taken:
//!
//! 1. *route*: all rows that the statement concerns are on one server;
//! 2. *merge*: each shard executes the whole statement, and its rows are put together.
//!
//! What neither can do is [refused](Refusal). A proof uses conditions of the text only where a
//! [comparison is exact](shard::Key::compared).
//!
//! - `budget`: how many steps a plan may take;
//! - `uses`: the tables that a statement names, each with what the layout says of it;
//! - `columns`: which table a column is of;
//! - `origin`: columns of derived tables, and what is behind them;
//! - `facts`: conditions and equalities that hold for all rows that matter;
//! - `targets`, `keys`: the tables that a statement changes; that rows stay in their shards;
//! - `insert`: INSERT and REPLACE;
//! - `change`, `everywhere`: UPDATE and DELETE; changes of reference tables;
//! - `limited`: UPDATE and DELETE with LIMIT; `row_key`: rows that are named by their keys;
//! - `gap`: texts that lack what is known when they run;
//! - `define`: statements that define tables; `load`: files of the client;
//! - `hinted`: statements whose server a hint names;
//! - `steady`: whether a change has the same values on several servers;
//! - `bind`: the shards of each table, by these facts;
//! - `apart`: whether shards can execute a statement each for itself;
//! - `merging`: the order and the limit of their rows;
//! - `rewrite`: the text for one shard;
//! - `labels`: names of columns whose expressions change in it;
//! - `outcome`: the plan; `template`: one that holds for many statements;
//! - `explain`: a plan as rows of `EXPLAIN ROUTE`.

mod apart;
mod bind;
mod budget;
mod change;
mod columns;
mod define;
mod everywhere;
mod explain;
mod facts;
mod gap;
mod hinted;
mod insert;
mod keys;
mod labels;
mod limited;
mod load;
mod merging;
mod origin;
mod outcome;
mod refusal;
mod rewrite;
mod row_key;
mod steady;
mod targets;
mod template;
pub(crate) mod text;
mod uses;

use shard::{ColumnType, Layout, Table, Value};
use sql::Modes;
use sql::digest::Span;
use sql::parse::{Kind, NodeId, Tree};

pub use explain::{Row, explain};
pub use gap::Gap;
pub use limited::{KeysFirst, Limited};
pub use load::{Load, Receiver};
pub use outcome::{Branch, Counts, Ids, Plan, Scatter, Wanted, Write};
pub use refusal::{Cause, Refusal};
pub use row_key::{KeyColumn, Written};
pub use template::{Goes, Template};

use bind::Bound;
use rewrite::Rewriter;
use uses::Uses;

/// Conditions of a statement that are looked at. What is not looked at prunes nothing.
const FACTS_MAX: usize = 256;

/// Nodes of a statement that is planned; each condition may look at all of them.
const NODES_MAX: usize = 50_000;

/// What is known of the columns of logical tables.
pub trait Definitions {
    /// The columns of a table in their order; none if its definition is not known.
    fn columns(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]>;

    /// The `AUTO_INCREMENT` column of a table; none if it has none, or its definition is not known.
    fn auto_increment(&self, _schema: &str, _table: &str) -> Option<&str> {
        None
    }

    /// What a column holds in a row of an INSERT that says nothing of it; none if that is not
    /// known, or no constant.
    fn default_value(&self, _schema: &str, _table: &str, _column: &str) -> Option<Value<'_>> {
        None
    }

    /// The columns of a table that the fields of a file go to without a list; none if the
    /// definition is not known, or some columns may be left out.
    fn fields(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        self.columns(schema, table)
    }

    /// The columns of a unique key whose values are never NULL, and how each is written as a
    /// constant; none if the table has no such key, or its definition is not known.
    fn row_key(&self, _schema: &str, _table: &str) -> Option<Vec<KeyColumn>> {
        None
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// How its values compare with those of a statement.
    pub compares: ColumnType,
    /// How rows are merged by it.
    pub sorts: Sorting,
}

/// How rows of several shards can be merged in the order of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sorting {
    /// By the values themselves.
    Value,
    /// By `column + 0`: ENUM, SET, FLOAT.
    Number,
    /// By `UNIX_TIMESTAMP(column)`: TIMESTAMP, whose text an hour of the year has twice.
    Instant,
    /// By `WEIGHT_STRING(column)`, padded with this weight of a space, if any.
    Weight(Option<Box<[u8]>>),
    /// By the first bytes of `WEIGHT_STRING(column)`, padded with this weight of a space: texts
    /// that differ behind them are equal to their server.
    WeightPrefix(Box<[u8]>, u32),
    /// Not at all: JSON, geometry, collations whose weights do not sort.
    None,
}

/// A statement to be planned. Names compare as with `lower_case_table_names = 0`.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The text.
    pub sql: &'a [u8],
    /// The text's tree.
    pub tree: &'a Tree,
    /// The modes that the text was read in.
    pub modes: Modes,
    /// The session's default schema.
    pub schema: &'a str,
    /// Where tables are.
    pub layout: &'a Layout,
    /// What their columns are.
    pub definitions: &'a dyn Definitions,
    /// The values of an execution, by the numbers of placeholders; nothing for those that are not
    /// known.
    pub parameters: &'a [Option<Value<'a>>],
    /// What matters besides.
    pub asked: Asked<'a>,
}

/// What a session has set, and what it asks for beside the text of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Ids of the table's sequence, if the last plan was [`Plan::NeedsIds`].
    pub ids: &'a [u64],
    /// `sql_select_limit`, if it is not the largest number.
    pub select_limit: Option<u64>,
    /// The mode `NO_AUTO_VALUE_ON_ZERO`: 0 is stored, and gets no id.
    pub keeps_zero: bool,
    /// What `LAST_INSERT_ID()` is, if that is known: it takes the function's place in the text.
    pub last_insert_id: Option<u64>,
    /// All names of tables are written with their schemas: the server's session may be in another
    /// schema than [`Request::schema`].
    pub names_all: bool,
    /// Any number, another one for each statement: chooses among servers that are all right.
    pub choice: usize,
    /// The hint `shard`: a hostgroup, or a node as `schema.table`, `table` or
    /// `hostgroup/schema.table`.
    pub shard: Option<&'a str>,
}

/// Schema and name of each table that a statement names, in whose session this is the schema. What
/// is no UTF-8 is left out.
pub fn tables(tree: &Tree, sql: &[u8], schema: &str) -> Vec<(String, String)> {
    let is_utf8 = |span: Span| std::str::from_utf8(span.of(sql)).is_ok();
    let named = tree.tables().filter(|one| is_utf8(one.name) && one.schema.is_none_or(is_utf8));
    let pair = |one: sql::parse::TableReference| {
        let schema = one.schema.map_or_else(|| schema.to_owned(), |span| text::name(sql, span));
        (schema, text::name(sql, one.name))
    };
    named.map(pair).collect()
}

/// The statement for the first node of each of its tables, whatever its conditions say; none if it
/// names no table of the layout. What that server says of its columns holds for all nodes.
///
/// # Errors
/// If these nodes are not on one server.
pub fn sample(request: &Request<'_>) -> Result<Option<Branch>, Refusal> {
    let uses = Uses::of(request)?;
    let first = uses.sharded().next().and_then(|number| uses.get(number)?.table);
    let first = first.or_else(|| uses.all().iter().find_map(|one| one.table));
    let Some(hostgroup) = first.and_then(|table| table.nodes().first()).map(|node| node.hostgroup) else {
        return Ok(None);
    };
    let mut nodes = Vec::new();
    for one in uses.all() {
        let all = one.table.map_or(&[][..], Table::nodes);
        let node = all.iter().find(|node| node.hostgroup == hostgroup);
        nodes.push(Some(node.ok_or_else(|| Cause::ServersDiffer.at(one.reference.name))?));
    }
    let branch = Rewriter::new(request, &uses).one(&bind::Places { hostgroup, nodes }, &[])?;
    uses.budget.check(request)?;
    Ok(Some(branch))
}

/// Plans a statement.
pub fn plan(request: &Request<'_>) -> Plan {
    match attempt(request) {
        Ok(plan) => plan,
        Err(refusal) => Plan::Refused(refusal),
    }
}

fn attempt(request: &Request<'_>) -> Result<Plan, Refusal> {
    let uses = Uses::of(request)?;
    let plan = match request.asked.shard {
        Some(hint) => hinted::plan(request, &uses, hint),
        None => unhinted(request, &uses),
    };
    // Without steps nothing that was found out holds.
    uses.budget.check(request)?;
    plan
}

/// Plans a statement whatever its hint is.
fn unhinted(request: &Request<'_>, uses: &Uses<'_>) -> Result<Plan, Refusal> {
    if uses.all().iter().all(|table| table.table.is_none()) {
        return targets::check_nodes(request, uses).map(|()| Plan::Home);
    }
    let tree = request.tree;
    let whole = Span { start: 0, end: request.sql.len() };
    let root = tree.root().ok_or(Cause::Statement.at(whole))?;
    let statement = tree.children(root).find(|id| !matches!(tree.kind(*id), Kind::With { .. }));
    let statement = statement.map(|id| (id, tree.kind(id)));
    // Rows are looked at once each, however many there are.
    let has_rows = matches!(statement, Some((_, Kind::Insert | Kind::Replace))) && uses.all().len() == 1;
    if tree.len() > NODES_MAX && !has_rows {
        return Err(Cause::Size.at(whole));
    }
    match statement {
        Some((id, Kind::Insert | Kind::Replace)) => insert::plan(request, uses, id),
        Some((id, Kind::Update | Kind::Delete)) => change::plan(request, uses, id),
        // What it sets would be set at a server, and not for the session.
        Some((id, Kind::Command)) if !has_statement(request, id) => Err(Cause::Statement.at(whole)),
        Some((id, Kind::Utility)) => match load::plan(request, uses, id)? {
            Some(plan) => Ok(plan),
            None => define::plan(request, uses, id)?.map_or_else(|| other(request, uses), Ok),
        },
        Some((_, Kind::Query)) => read(request, uses),
        _ => other(request, uses),
    }
}

/// Whether a command is MariaDB's `SET STATEMENT ... FOR` another statement.
fn has_statement(request: &Request<'_>, command: NodeId) -> bool {
    let tree = request.tree;
    let is_statement = |id: NodeId| {
        matches!(tree.kind(id), Kind::Query | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete)
    };
    tree.children(command).any(is_statement)
}

/// Plans a statement of another kind, which may have one that changes rows within it.
fn other(request: &Request<'_>, uses: &Uses<'_>) -> Result<Plan, Refusal> {
    targets::check_reference(request, uses)?;
    keys::check(request, uses)?;
    read(request, uses)
}

/// Plans a query, or what goes where a query would go.
fn read(request: &Request<'_>, uses: &Uses<'_>) -> Result<Plan, Refusal> {
    let facts = facts::of(request, uses);
    let bound = Bound::of(request, uses, &facts);
    if let Some(places) = bound.one_server(request, uses) {
        return Rewriter::new(request, uses).one(&places, &[]).map(Plan::One);
    }
    merging::scatter(request, uses, &bound).map(Plan::Many)
}

#[cfg(test)]
mod tests;
