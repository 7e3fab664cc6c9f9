//! Plans that hold for all statements that differ in plain values only: a query of one table with
//! `key = value` among its conditions goes to the server of that value.

use sql::Outline;
use sql::digest::{Options, Span};
use sql::parse::{Kind, Literal, NodeId, Operator, Step};

use crate::ColumnType;
use crate::condition::{Condition, Test};
use crate::layout::Layout;
use crate::prune::Prune;

use super::columns::{self, ColumnOf};
use super::uses::Uses;
use super::{Branch, Plan, Request, text};

/// The plan of queries with one outline.
#[derive(Clone, Debug)]
pub struct Template {
    outline: Outline,
    schema: String,
    table: String,
    /// Type of the key column, by the definition of which the template was made.
    column: ColumnType,
    /// Number of the value among the plain ones of the outline.
    value: usize,
    /// What the value is.
    literal: Literal,
}

impl Template {
    /// The template of a statement that has this plan; none if its plan may depend on more than the
    /// value that its key has.
    pub fn of(request: &Request<'_>, plan: &Plan) -> Option<Self> {
        let (tree, root) = (request.tree, request.tree.root()?);
        let is_query = tree.children(root).next().is_some_and(|first| tree.kind(first) == Kind::Query);
        let Plan::One(Branch { text: None, placeholders: None, .. }) = plan else { return None };
        if !is_query || tree.placeholders() > 0 || tree.is_conditional() || request.asked.shard.is_some() {
            return None;
        }
        if text::has_last_id(request.sql) {
            // It has another value in each session.
            return None;
        }
        let uses = Uses::of(request).ok()?;
        let [only] = uses.all() else { return None };
        let [key] = only.table?.key_columns() else { return None };
        let key = ColumnOf { table: 0, name: key.to_lowercase() };
        let value = value_of(request, &uses, &key, only.reference.block)?;
        let Kind::Literal(literal @ (Literal::Integer | Literal::Text)) = tree.kind(value) else {
            return None;
        };
        let mut digest = sql::Digest::default();
        digest.read(request.sql, &Options::default());
        let outline = Outline::of(request.sql, &digest)?;
        let value = outline.number_of(tree.span(value))?;
        let column = columns::compares(request, &uses, &key);
        let (schema, table) = (only.schema.clone(), only.name.clone());
        Some(Self { outline, schema, table, column, value, literal })
    }

    /// Where a statement goes; none if the template says nothing of it.
    pub fn branch(&self, layout: &Layout, sql: &[u8]) -> Option<Branch> {
        let value: Span = self.outline.value_of(sql, self.value)?;
        let value = text::literal_value(self.literal, value.of(sql))?;
        let table = layout.table(&self.schema, &self.table)?;
        let condition = Condition { column: self.column, test: Test::Equal(value) };
        let Prune::One(shard) = table.placement()?.prune(&[condition]) else { return None };
        let node = table.nodes().get(usize::try_from(shard).ok()?)?;
        let is_same = node.schema == self.schema && node.table == self.table;
        is_same.then(|| Branch { hostgroup: node.hostgroup, ..Branch::default() })
    }
}

/// The value that all rows of a block have in a column, by `column = value` in its `WHERE`.
fn value_of(request: &Request<'_>, uses: &Uses<'_>, column: &ColumnOf, block: NodeId) -> Option<NodeId> {
    let tree = request.tree;
    let is_of_block = |id: &NodeId| tree.kind(*id) == Kind::Where && tree.block(*id) == Some(block);
    let condition = tree.walk(tree.root()?).find_map(|step| match step {
        Step::Enter(id) if is_of_block(&id) => tree.children(id).next(),
        _ => None,
    });
    let mut open = vec![condition?];
    while let Some(id) = open.pop() {
        let id = text::without_parens(tree, id);
        match tree.kind(id) {
            Kind::Binary(Operator::And) => open.extend(tree.children(id)),
            Kind::Binary(Operator::Equal) => {
                let mut operands = tree.children(id);
                let (left, right) = (operands.next()?, operands.next()?);
                if columns::of(request, uses, left).as_ref() == Some(column) {
                    return Some(right);
                }
                if columns::of(request, uses, right).as_ref() == Some(column) {
                    return Some(left);
                }
            }
            _ => {}
        }
    }
    None
}
