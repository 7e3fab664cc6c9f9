//! Plans that hold for all statements that differ in plain values only, or for all executions of
//! one: a query of one table with `key = value` among its conditions goes to the server of that
//! value.

use shard::{ColumnType, Condition, Layout, Prune, Test, Value};
use sql::Outline;
use sql::digest::{Options, Span};
use sql::parse::{Kind, Literal, NodeId, Operator, Step};

use super::columns::{self, ColumnOf};
use super::uses::Uses;
use super::{Branch, Plan, Request, text};

/// The plan of queries with one outline, or of executions of one query.
#[derive(Clone, Debug)]
pub struct Template {
    schema: String,
    table: String,
    /// Type of the key column, by the definition of which the template was made.
    column: ColumnType,
    source: Source,
}

/// Where the value of the key is.
#[derive(Clone, Debug)]
enum Source {
    /// The plain value with this number, among those of the outline.
    Plain { outline: Outline, number: usize, literal: Literal },
    /// The parameter with this number, in executions of this text.
    Parameter { text: Box<[u8]>, number: usize },
}

impl Template {
    /// The template of a statement that has this plan; none if its plan may depend on more than the
    /// value that its key has.
    pub fn of(request: &Request<'_>, plan: &Plan) -> Option<Self> {
        let (tree, root) = (request.tree, request.tree.root()?);
        let is_query = tree.children(root).next().is_some_and(|first| tree.kind(first) == Kind::Query);
        let Plan::One(Branch { text: None, placeholders: None, .. }) = plan else { return None };
        if !is_query || tree.is_conditional() || request.asked.shard.is_some() {
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
        let source = Source::of(request, value)?;
        let column = columns::compares(request, &uses, &key);
        let (schema, table) = (only.schema.clone(), only.name.clone());
        Some(Self { schema, table, column, source })
    }

    /// Where a statement goes that is executed with these parameters; none if the template says
    /// nothing of it.
    pub fn branch(&self, layout: &Layout, sql: &[u8], parameters: &[Option<Value<'_>>]) -> Option<Branch> {
        let value = self.source.value(sql, parameters)?;
        let table = layout.table(&self.schema, &self.table)?;
        let condition = Condition { column: self.column, test: Test::Equal(value) };
        let Prune::One(shard) = table.placement()?.prune(&[condition]) else { return None };
        let node = table.nodes().get(usize::try_from(shard).ok()?)?;
        let is_same = node.schema == self.schema && node.table == self.table;
        is_same.then(|| Branch { hostgroup: node.hostgroup, ..Branch::default() })
    }
}

impl Source {
    /// Where statements have what this one has in the place `value`.
    fn of(request: &Request<'_>, value: NodeId) -> Option<Self> {
        match request.tree.kind(value) {
            Kind::Literal(literal @ (Literal::Integer | Literal::Text)) => {
                let mut digest = sql::Digest::default();
                digest.read(request.sql, &Options::default());
                let outline = Outline::of(request.sql, &digest)?;
                let number = outline.number_of(request.tree.span(value))?;
                Some(Self::Plain { outline, number, literal })
            }
            Kind::Placeholder(number) => {
                Some(Self::Parameter { text: request.sql.into(), number: usize::try_from(number).ok()? })
            }
            _ => None,
        }
    }

    /// The value that a statement has there.
    fn value<'a>(&self, sql: &'a [u8], parameters: &[Option<Value<'a>>]) -> Option<Value<'a>> {
        match self {
            Self::Plain { outline, number, literal } => {
                let value: Span = outline.value_of(sql, *number)?;
                text::literal_value(*literal, value.of(sql))
            }
            Self::Parameter { text, number } if **text == *sql => *parameters.get(*number)?,
            Self::Parameter { .. } => None,
        }
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
